"""How do requests come to belong together, and how does one take another over? One transaction, one event on each side."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db import transaction

from portal.accounts.models import User
from portal.kernel.clock import now
from portal.kernel.errors import IllegalMove, Invalid
from portal.kernel.moves import move
from portal.ledger.services import record
from requests_app import events
from requests_app.relations.models import Relation
from requests_app.relations.rules import BACKWARDS, BY_HAND, FORWARDS, Kind, closes_circle
from requests_app.tickets.deciders import only_triagers
from requests_app.tickets.families import where_it_goes_on
from requests_app.tickets.models import Ticket
from requests_app.tickets.settling import stale
from requests_app.tickets.states import MACHINE, TicketAction, TicketState

DESK = "say how requests belong together"


@transaction.atomic
def relate(*, ticket: Ticket, kind: str, other: Ticket, by: User) -> Relation:
    """Say how `ticket` stands to `other`. Saying it twice changes nothing; a circle is refused."""
    only_triagers(by, DESK)
    if kind not in BY_HAND:
        raise Invalid({"kind": [f"Choose one of: {', '.join(BY_HAND)}."]})
    _lock(ticket, other)
    if closes_circle(kind, ticket.pk, other.pk, lambda front: _targets(kind, front)):
        words = FORWARDS[kind]
        raise Invalid({"other": [f"{other.ref} is already {words} {ticket.ref}, or is the same request."]})
    if kind == Kind.RELATES_TO:
        backwards = Relation.objects.filter(source=other, target=ticket, kind=kind).first()
        if backwards is not None:
            return backwards
    made, new = Relation.objects.get_or_create(
        source=ticket, target=other, kind=kind, defaults={"made_by": by}
    )
    if new:
        _tell(events.TICKET_RELATED, ticket, other, kind, by)
    return made


@transaction.atomic
def unrelate(*, relation: Relation, by: User) -> None:
    """Take a relation away. A duplicate is taken apart by undoing the merge."""
    only_triagers(by, DESK)
    if relation.kind == Kind.DUPLICATE_OF:
        raise Invalid({"relation": ["This one came with a merge; take the merge back instead."]})
    gone, _ = Relation.objects.filter(pk=relation.pk).delete()
    if gone:
        _tell(events.TICKET_UNRELATED, relation.source, relation.target, relation.kind, by)


@transaction.atomic
def merge_ticket(*, ticket: Ticket, version: int, into: Ticket, by: User) -> Ticket:
    """Let `into` take `ticket` over. What was said, who watches and who is blocked stays with `ticket` and shows on `into`.

    `into` may itself have been taken over: then the one at the end of the chain takes both. Raises Invalid for a
    request that would take itself over, IllegalMove for one that nobody works on any more, LostRace when stale.
    """
    only_triagers(by, DESK)
    target = where_it_goes_on(into)
    if target.pk == ticket.pk:
        raise Invalid({"into": [f"{into.ref} is part of {ticket.ref} already."]})
    fresh, target = _lock(ticket, target)
    if fresh.version != version:
        raise stale(fresh)
    if target.status in (TicketState.MERGED, TicketState.WITHDRAWN, TicketState.DECLINED):
        raise IllegalMove(f"{target.ref} is {target.status}; it can't take another request over.")
    extra = {"state_since": now(), "merged_into": target, "waiting_since": None, "snoozed_until": None}
    move(fresh, TicketAction.MERGE, machine=MACHINE, extra=extra)
    Relation.objects.get_or_create(
        source=fresh, target=target, kind=Kind.DUPLICATE_OF, defaults={"made_by": by}
    )
    team = {"team": fresh.team.slug}
    record(events.TICKET_MERGED, subject=fresh.ref, payload={**team, "into": target.ref}, by=by)
    record(events.TICKET_ABSORBED, subject=target.ref, payload={**team, "merged": fresh.ref}, by=by)
    return fresh


def forget_merge(*, ticket: Ticket) -> None:
    """The relation of a merge that was taken back; in the caller's transaction."""
    Relation.objects.filter(source=ticket, kind=Kind.DUPLICATE_OF).delete()


def _targets(kind: str, front: Iterable[int]) -> list[int]:
    return list(
        Relation.objects.filter(kind=kind, source_id__in=list(front)).values_list("target_id", flat=True)
    )


def _lock(*tickets: Ticket) -> list[Ticket]:
    """Fresh copies, locked in the order of their numbers, so that two who relate the same pair wait instead of dying."""
    rows = Ticket.objects.select_for_update().select_related("team").order_by("pk")
    found: dict[int, Ticket] = {
        row.pk: row for row in rows.select_for_update(of=("self",)).filter(pk__in=[t.pk for t in tickets])
    }
    return [found[ticket.pk] for ticket in tickets]


def _tell(name: str, source: Ticket, target: Ticket, kind: str, by: User) -> None:
    for ticket, other, words in ((source, target, FORWARDS[kind]), (target, source, BACKWARDS[kind])):
        payload: dict[str, Any] = {
            "team": ticket.team.slug,
            "kind": kind,
            "other": other.ref,
            "says": words,
        }
        record(name, subject=ticket.ref, payload=payload, by=by)
