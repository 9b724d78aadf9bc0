"""What is in the catalogue, by pillar and by what people look for?"""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib.auth.models import AnonymousUser
from django.contrib.postgres.search import SearchQuery, SearchVector
from django.db.models import Q

from portal.accounts.models import User
from portal.kernel.errors import NotFound
from requests_app.catalogue import texts
from requests_app.catalogue.models import Offering, OfferingQuerySet
from requests_app.catalogue.offering_shape import PILLARS

LONGEST_SEARCH = 100
PILLAR_TITLES = {
    "developer-productivity": "Developer productivity",
    "compute": "Compute",
    "networking-storage": "Networking and storage",
    "observability": "Observability",
    "data": "Data",
}
_COLUMNS = ("title", "promise", "description")


@dataclass(frozen=True)
class Shelf:
    """The offerings of one pillar."""

    pillar: str
    title: str
    offerings: tuple[Offering, ...]


def find(user: User | AnonymousUser, *, text: str = "", pillar: str = "") -> OfferingQuerySet:
    """What can be asked for and fits: by words in any form, by a part of a word, and by pillar."""
    found = Offering.objects.visible_to(user).on_the_shelf()
    if pillar:
        found = found.filter(current__pillar=pillar) if pillar in PILLARS else found.none()
    wanted = searchable(text)
    if wanted:
        words = SearchQuery(wanted, search_type="websearch", config="english")
        vector = SearchVector(*(f"current__{column}" for column in _COLUMNS), config="english")
        parts = Q()
        for column in _COLUMNS:
            parts |= Q(**{f"current__{column}__icontains": wanted})
        found = found.annotate(words=vector).filter(Q(words=words) | parts)
    return found.order_by("current__title")


def searchable(text: str) -> str:
    """What was typed into a search field, without what no text may hold."""
    tidy = " ".join(texts.tidy(text[:LONGEST_SEARCH], limit=LONGEST_SEARCH).split())
    return "" if texts.complaint(tidy, limit=LONGEST_SEARCH, lines=False) else tidy


def shelves(user: User | AnonymousUser, *, text: str = "", pillar: str = "") -> tuple[Shelf, ...]:
    """What fits, pillar by pillar in the order of the house; empty pillars are left out."""
    found = list(find(user, text=text, pillar=pillar))
    every = (
        Shelf(
            name,
            PILLAR_TITLES[name],
            tuple(each for each in found if each.current and each.current.pillar == name),
        )
        for name in PILLARS
    )
    return tuple(shelf for shelf in every if shelf.offerings)


def offering_by_slug(user: User | AnonymousUser, slug: str) -> Offering:
    """An offering that can be asked for; NotFound for retired ones too."""
    offering = Offering.objects.visible_to(user).on_the_shelf().filter(slug=slug).first()
    if offering is None:
        raise NotFound("This is not in the catalogue.")
    return offering
