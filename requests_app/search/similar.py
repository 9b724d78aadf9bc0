"""Has this been asked already? Requests that say the same, word for word or nearly, among those that are open."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib.postgres.search import TrigramSimilarity

from portal.accounts.models import User
from requests_app.search.models import SearchDocument
from requests_app.tickets.models import Ticket
from requests_app.tickets.states import OPEN

LOOKED_AT = 200
ALIKE = 0.4


@dataclass(frozen=True, kw_only=True)
class Similar:
    """A request that may be the same one; `share` of its title is alike, 1.0 where the whole content is."""

    ticket: Ticket
    why: str
    share: float


def similar_to(ticket: Ticket, user: User, *, limit: int = 4) -> list[Similar]:
    """The likeliest first: the same answers of the same team, then titles alike among the newest open ones of the offering."""
    near, twins = _alike(ticket, user), _same(ticket, user)
    rows = Ticket.objects.select_related("team").only("title", "team__name").in_bulk([*near, *twins])
    told = [_told(rows[pk], near.get(pk, 0.0), twin=pk in twins) for pk in {*near, *twins} if pk in rows]
    return sorted(told, key=lambda each: (-each.share, each.ticket.pk))[:limit]


def _told(ticket: Ticket, share: float, *, twin: bool) -> Similar:
    if twin:
        return Similar(ticket=ticket, why="the same words", share=1.0)
    return Similar(ticket=ticket, why=f"{share:.0%} alike", share=share * 0.99)


def _same(ticket: Ticket, user: User) -> frozenset[int]:
    mine = SearchDocument.objects.filter(pk=ticket.pk).values("content_hash")
    twins = SearchDocument.objects.filter(content_hash__in=mine).exclude(pk=ticket.pk).values("pk")
    rows = Ticket.objects.visible_to(user).filter(pk__in=twins, status__in=OPEN)
    return frozenset(rows.order_by("id").values_list("pk", flat=True)[:10])


def _alike(ticket: Ticket, user: User) -> dict[int, float]:
    """The share of its title by ticket, of the ten nearest."""
    versions = list(
        type(ticket.offering_version)
        ._default_manager.filter(offering_id=ticket.offering_version.offering_id)
        .order_by()
        .values_list("pk", flat=True)
    )
    newest = Ticket.objects.visible_to(user).filter(status__in=OPEN, offering_version__in=versions)
    looked_at = newest.exclude(pk=ticket.pk).annotate(share=TrigramSimilarity("title", ticket.title))
    shares = looked_at.order_by("-id").values_list("pk", "share")[
        :LOOKED_AT
    ]  # of these titles and of no others
    near = sorted(((pk, float(share)) for pk, share in shares if share >= ALIKE), key=lambda each: -each[1])
    return dict(near[:10])
