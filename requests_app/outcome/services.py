"""Say how it went, and open a request again that isn't good after all."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from portal.accounts.models import User
from portal.kernel.clock import now
from portal.kernel.errors import Conflict, Invalid, NotAllowed
from portal.kernel.moves import move
from portal.ledger.services import record
from requests_app import events
from requests_app.outcome import rules
from requests_app.outcome.models import Outcome
from requests_app.tickets.models import Ticket
from requests_app.tickets.queries import standing_of
from requests_app.tickets.services import text_of
from requests_app.tickets.settling import stale
from requests_app.tickets.states import MACHINE, TicketAction


@transaction.atomic
def say_outcome(
    *,
    ticket: Ticket,
    satisfaction: int | None = None,
    effort: int | None = None,
    words: str | None = None,
    by: User,
) -> Outcome:
    """One answer per person and ticket; what is None stays as it was. Changeable for 14 days from the first click.

    Raises NotAllowed for who isn't in the team, Conflict while the request is under way or when the time is over.
    """
    _may_say(ticket, by)
    given: dict[str, Any] = {"satisfaction": satisfaction, "effort": effort}
    Ticket.objects.select_for_update(of=("self",)).get(
        pk=ticket.pk
    )  # two clicks of one person come one after the other
    row = Outcome.objects.filter(ticket=ticket, person=by).first()
    at = now()
    if row is not None and not rules.may_still_change(row.at, at):
        raise Conflict("Two weeks are over; what you said stays.", code="too-late")
    row = row or Outcome(ticket=ticket, person=by, at=at)
    for name, value in given.items():
        if value is not None:
            setattr(row, name, value)
    wrong = rules.complaints({"satisfaction": row.satisfaction, "effort": row.effort})
    if wrong:
        raise Invalid(wrong)
    row.words = row.words if words is None else text_of("words", words, needed=False)
    row.changed_at = at
    row.save()
    payload = {"team": ticket.team.slug, "satisfaction": row.satisfaction, "effort": row.effort}
    record(events.OUTCOME_GIVEN, subject=ticket.ref, payload=payload, by=by)
    return row


def _may_say(ticket: Ticket, by: User) -> None:
    standing = standing_of(ticket, by)
    if not (standing.member or standing.lead):
        raise NotAllowed("The team says how it went.")
    if ticket.status not in rules.ASKED_IN:
        raise Conflict(f"{ticket.ref} is {ticket.status}; tell us when it is done.", code="not-done-yet")


@transaction.atomic
def reopen_ticket(*, ticket: Ticket, version: int, reason: str, by: User) -> Ticket:
    """Back to the desk, with a reason. It was filed when it was filed: its place in the queue counts from then.

    Raises LostRace (409) for an older version, IllegalMove where it isn't delivered or closed, Conflict after 14 days.
    """
    if not standing_of(ticket, by).speaks_for_team:
        raise NotAllowed("Who filed it or leads the team opens it again.")
    reason = text_of("reason", reason)
    if ticket.version != version:
        raise stale(ticket)
    MACHINE.after(ticket.status, TicketAction.REOPEN)
    at = now()
    if not rules.may_reopen(ticket.status, ticket.state_since, at):
        raise Conflict("Two weeks are over; file a new request and name this one.", code="too-late")
    move(ticket, TicketAction.REOPEN, machine=MACHINE, extra={"state_since": at, "reason": reason})
    record(
        events.TICKET_REOPENED,
        subject=ticket.ref,
        payload={"team": ticket.team.slug, "title": ticket.title, "reason": reason},
        by=by,
    )
    return ticket
