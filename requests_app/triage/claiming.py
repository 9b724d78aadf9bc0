"""Who works on a ticket? Claimed by who asks for the next one, given to somebody, or put back; never by two people at once."""

from __future__ import annotations

from django.db import transaction
from django.db.models import Q

from portal.accounts.models import User
from portal.kernel.clock import now
from portal.kernel.errors import Invalid
from portal.ledger.services import record
from requests_app import events
from requests_app.priority.queries import picking_order
from requests_app.tickets.deciders import only_triagers
from requests_app.tickets.models import Ticket
from requests_app.tickets.settling import locked
from requests_app.tickets.states import OPEN, QUEUED


@transaction.atomic
def claim_next(*, by: User) -> Ticket | None:
    """The next ticket that nobody has, on `by`'s desk now; None when there is none.

    The expedite lane first, then the queue with each further ticket of a team a step back. SELECT … FOR UPDATE SKIP
    LOCKED: two people who ask at the same time get two tickets, and neither waits.
    """
    only_triagers(by)
    awake = Q(snoozed_until=None) | Q(snoozed_until__lte=now())
    free = Ticket.objects.filter(awake, status__in=QUEUED, assignee=None, rank_key__isnull=False)
    rows = free.select_for_update(skip_locked=True, of=("self",))
    found = (rows.filter(pk=number).first() for number in picking_order())
    ticket = next((each for each in found if each is not None), None)
    if ticket is None:
        return None
    _give(ticket, by)
    record(
        events.TICKET_TAKEN,
        subject=ticket.ref,
        payload={"assignee": by.username, "claimed": True},
        by=by,
    )
    return ticket


@transaction.atomic
def assign_ticket(*, ticket: Ticket, version: int, to: User | None, by: User) -> Ticket:
    """Put an open ticket on somebody's desk, or on nobody's. Invalid for a person who has no desk."""
    only_triagers(by)
    if to is not None and not to.is_triager:
        raise Invalid({"assignee": [f"{to.username} has no desk; choose a triager."]})
    fresh = locked(ticket, version)
    if fresh.status not in OPEN:
        raise Invalid({"assignee": [f"{fresh.ref} is {fresh.status}; nobody works on it any more."]})
    was = fresh.assignee.username if fresh.assignee else ""
    _give(fresh, to)
    payload = {"assignee": to.username if to else "", "was": was}
    record(events.TICKET_ASSIGNED, subject=fresh.ref, payload=payload, by=by)
    return fresh


def _give(ticket: Ticket, to: User | None) -> None:
    """In the caller's transaction, which holds the row."""
    ticket.assignee = to
    ticket.version += 1
    ticket.save(update_fields=["assignee", "version"])
