"""What belongs to a request, as far as the reader may know? Relations, duplicates it took over, and what they carry."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from django.db.models import Q

from portal.accounts.models import User
from portal.kernel.errors import NotFound
from requests_app.relations.models import Relation
from requests_app.relations.rules import BACKWARDS, FORWARDS, Kind
from requests_app.tickets.families import absorbed_by, where_it_goes_on
from requests_app.tickets.models import Comment, Ticket

MOST = 200


@dataclass(frozen=True, kw_only=True)
class Related:
    """One relation from where the reader stands: `T-2 blocks this one`."""

    pk: int
    says: str
    ticket: Ticket
    can_end: bool


@dataclass(frozen=True, kw_only=True)
class Merged:
    """A duplicate that this request took over, with what was said there as far as the reader may read it."""

    ticket: Ticket
    comments: list[Comment] = field(default_factory=list)

    @property
    def is_blocking(self) -> bool:
        """True while the team of the duplicate can't work: its block goes on until the team says otherwise."""
        return self.ticket.is_blocking


@dataclass(frozen=True, kw_only=True)
class Relations:
    """All of it. `canonical` is the request that took this one over when the reader may see it; `elsewhere` is its state
    when they may not."""

    related: list[Related]
    merged: list[Merged]
    canonical: Ticket | None
    elsewhere: str

    @property
    def any(self) -> bool:
        """True when there is something to show."""
        return bool(self.related or self.merged or self.canonical or self.elsewhere)


def relations_of(ticket: Ticket, user: User) -> Relations:
    """What `user` may know; whoever calls got the ticket from `visible_to(user)`."""
    taker = where_it_goes_on(ticket) if ticket.merged_into_id else None
    seen = taker is not None and Ticket.objects.visible_to(user).filter(pk=taker.pk).exists()
    return Relations(
        related=_related(ticket, user),
        merged=_merged(ticket, user),
        canonical=taker if seen else None,
        elsewhere=taker.status if taker is not None and not seen else "",
    )


def relation_of(ticket: Ticket, number: int, person: User) -> Relation:
    """A relation of this very ticket, which the person may see; NotFound for a foreign one."""
    rows = Relation.objects.visible_to(person).select_related("source__team", "target__team")
    found = rows.filter(pk=number).first()
    if found is None or ticket.pk not in (found.source_id, found.target_id):
        raise NotFound("This request has no such relation.")
    return found


def merged_numbers(ticket: Ticket) -> list[int]:
    """Numbers of every request that this one took over, directly or through another."""
    return list(absorbed_by([ticket.pk]))[:MOST]


def _related(ticket: Ticket, user: User) -> list[Related]:
    if not Relation.objects.filter(Q(source=ticket) | Q(target=ticket)).exists():
        return []  # most have none, and the two questions below are long ones
    rows = Relation.objects.visible_to(user).exclude(kind=Kind.DUPLICATE_OF)
    forwards = rows.filter(source=ticket).select_related("target__team")[:MOST]
    backwards = rows.filter(target=ticket).select_related("source__team")[:MOST]
    return [
        *(_told(row, FORWARDS, row.target, user) for row in forwards),
        *(_told(row, BACKWARDS, row.source, user) for row in backwards),
    ]


def _told(row: Relation, words: dict[str, str], other: Ticket, user: User) -> Related:
    return Related(pk=row.pk, says=words[row.kind], ticket=other, can_end=user.is_triager)


def _merged(ticket: Ticket, user: User) -> list[Merged]:
    numbers = merged_numbers(ticket)
    if not numbers:
        return []
    visible = Ticket.objects.visible_to(user).filter(pk__in=numbers).select_related("team", "requester")
    said: dict[int, list[Comment]] = defaultdict(list)
    comments = Comment.objects.visible_to(user).filter(ticket__in=numbers).select_related("author")
    for comment in comments.order_by("id")[:MOST]:
        said[comment.ticket_id].append(comment)
    return [Merged(ticket=each, comments=said[each.pk]) for each in visible.order_by("pk")]
