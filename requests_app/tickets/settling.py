"""How does a ticket get where its lines say it is? One service locks it, and one moves it there."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from django.db.models import F, QuerySet

from portal.accounts.models import User
from portal.kernel.clock import now
from portal.kernel.errors import LostRace
from portal.kernel.moves import move
from portal.ledger.services import record
from requests_app import events
from requests_app.tickets.deriving import derive, way
from requests_app.tickets.models import Ticket
from requests_app.tickets.states import FINAL, MACHINE, WITH_TEAM, TicketAction, TicketState

_held: ContextVar[dict[int, Ticket] | None] = ContextVar("held", default=None)


@contextmanager
def holding(numbers: Collection[int]) -> Iterator[dict[int, Ticket]]:
    """Tickets by number, all locked at once in the caller's transaction and read with their lines.

    Inside, `locked` hands each of them out once without asking the database, so that what is done to many costs less than
    as often what is done to one.
    """
    rows = _rows().filter(pk__in=numbers).order_by("pk").prefetch_related("lines")
    found = {ticket.pk: ticket for ticket in rows}
    token = _held.set(dict(found))
    try:
        yield found
    finally:
        _held.reset(token)


def _rows() -> QuerySet[Ticket]:
    rows = Ticket.objects.select_for_update(of=("self",))
    return rows.select_related("team", "offering_version__offering", "assignee")


def locked(ticket: Ticket, version: int | None = None) -> Ticket:
    """The ticket as it is now, held against others until the transaction ends. LostRace when `version` is an old one."""
    fresh = (_held.get() or {}).pop(ticket.pk, None) or _rows().get(pk=ticket.pk)
    if version is not None and fresh.version != version:
        raise stale(fresh)
    return fresh


def stale(ticket: Ticket) -> LostRace:
    """What somebody is told who decided on an old page: where it is now, and by whom."""
    fresh = Ticket.objects.select_related("decided_by", "assignee").get(pk=ticket.pk)
    who = fresh.decided_by or fresh.assignee
    told = f" by {who.username}" if who else ""
    return LostRace(
        f"{fresh.ref} has changed since you opened it: it is {fresh.status} now{told}. Nothing of yours was done; "
        "look again.",
        data={"ticket": fresh.ref, "now": fresh.status, "version": fresh.version},
    )


def settle(
    ticket: Ticket,
    *,
    by: User | None,
    extra: dict[str, Any] | None = None,
    said: dict[str, Any] | None = None,
    touch: bool = True,
) -> Ticket:
    """Move a ticket that the caller has locked to the state its lines say, along the machine's edges.

    `extra` sets columns of the ticket in any case. Unless `touch` is false, its version grows in any case too, so that a page
    that was opened before is told. Arriving at `ready` records `ticket.delivered` and at `returned` `ticket.returned`, with what `said` adds. An
    ended ticket is left alone.
    """
    if ticket.status in FINAL:
        return ticket
    target = derive(
        [line.facts for line in ticket.lines.all()], asked_back=ticket.status == TicketState.WAITING
    )
    before = ticket.status
    steps = () if target is None else way(before, target)
    if not steps and not touch:
        return ticket
    if not steps:
        Ticket.objects.filter(pk=ticket.pk).update(version=F("version") + 1, **(extra or {}))
        ticket.version += 1
        for name, value in (extra or {}).items():
            setattr(ticket, name, value)
        return ticket
    for action in steps:
        move_ticket(ticket, action, **(extra or {}))
    payload = {"team": ticket.team.slug, **(said or {})}
    if ticket.status == TicketState.READY:
        record(events.TICKET_DELIVERED, subject=ticket.ref, payload=payload, by=by)
    if ticket.status == TicketState.RETURNED:
        record(events.TICKET_RETURNED, subject=ticket.ref, payload=payload, by=by)
    return ticket


def move_ticket(ticket: Ticket, action: TicketAction, **extra: Any) -> Ticket:
    """One action; the ticket's own clock stands still while its team has it, and the pause counts when it comes back."""
    after = MACHINE.after(ticket.status, action)
    clock = pause_of(ticket, after)
    gone = {"rank_key": None} if after == TicketState.WITHDRAWN else {}
    return move(ticket, action, machine=MACHINE, extra={"state_since": now(), **clock, **gone, **extra})


def pause_of(ticket: Ticket, after: str) -> dict[str, Any]:
    """The columns of the ticket's clock when it goes to the state `after`."""
    at = now()
    if after in WITH_TEAM:
        return {"waiting_since": ticket.waiting_since or at}
    if ticket.waiting_since is None:
        return {}
    waited = max(0, int((at - ticket.waiting_since).total_seconds()))
    return {"waiting_since": None, "paused_seconds": ticket.paused_seconds + waited}
