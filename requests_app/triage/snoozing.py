"""When does a ticket leave the inbox, and when does it come back? At a time by itself, or when somebody else says something."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import transaction

from portal.accounts.models import User
from portal.kernel.clock import now
from portal.kernel.errors import Invalid
from portal.ledger.models import Event
from portal.ledger.services import record
from requests_app import events
from requests_app.catalogue import texts
from requests_app.tickets.deciders import only_triagers
from requests_app.tickets.models import Ticket
from requests_app.tickets.settling import locked
from requests_app.tickets.states import QUEUED
from requests_app.triage.models import Snooze, Wake

LONGEST = timedelta(days=90)
LONGEST_REASON = 200


@transaction.atomic
def snooze_ticket(
    *, ticket: Ticket, version: int, until: datetime | None = None, reason: str = "", by: User
) -> Ticket:
    """Take a ticket off the inbox until `until`; without one until somebody else says something, at most ninety days.

    It goes on ageing, and nobody has to bring it back: the inbox asks the clock.
    """
    only_triagers(by)
    wake = Wake.ACTIVITY if until is None else Wake.TIME
    until = until or now() + LONGEST
    complaints = _complaints(until, reason)
    if complaints:
        raise Invalid(complaints)
    fresh = locked(ticket, version)
    if fresh.status not in QUEUED:
        raise Invalid({"until": [f"{fresh.ref} is {fresh.status}; it is not in the inbox."]})
    Snooze.objects.filter(ticket=fresh, ended_at=None).update(ended_at=now())
    Snooze.objects.create(ticket=fresh, by=by, until=until, wake=wake, reason=reason.strip())
    _set(fresh, until)
    payload = {"until": until.isoformat(), "wake": str(wake), "reason": reason.strip()}
    record(events.TICKET_SNOOZED, subject=fresh.ref, payload=payload, by=by)
    return fresh


@transaction.atomic
def wake_ticket(*, ticket: Ticket, version: int, by: User) -> Ticket:
    """Bring a ticket back before its time."""
    only_triagers(by)
    fresh = locked(ticket, version)
    if fresh.snoozed_until is None:
        raise Invalid({"ticket": [f"{fresh.ref} is not snoozed."]})
    _end(fresh, why="", by=by)
    return fresh


@transaction.atomic
def wake_after(event: Event) -> None:
    """Something was said about a ticket that sleeps until somebody says something; what the sleeper's author says doesn't count."""
    rows = Snooze.objects.select_for_update(of=("self",)).filter(ended_at=None, wake=Wake.ACTIVITY)
    snooze = (
        rows.filter(ticket__pk=_number(event.subject), at__lte=event.at).exclude(by_id=event.actor_id).first()
    )
    if snooze is None:
        return
    ticket = Ticket.objects.select_for_update(of=("self",)).get(pk=snooze.ticket_id)
    _end(ticket, why=event.name.partition(".")[2].replace("_", " "), by=None)


def end_snooze(ticket: Ticket) -> None:
    """Close the open snooze of a ticket that was undone; in the caller's transaction."""
    Snooze.objects.filter(ticket=ticket, ended_at=None).update(ended_at=now())


def _end(ticket: Ticket, *, why: str, by: User | None) -> None:
    end_snooze(ticket)
    _set(ticket, None)
    record(events.TICKET_WOKEN, subject=ticket.ref, payload={"why": why}, by=by)


def _set(ticket: Ticket, until: datetime | None) -> None:
    ticket.snoozed_until = until
    ticket.version += 1
    ticket.save(update_fields=["snoozed_until", "version"])


def _complaints(until: datetime, reason: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    if until <= now():
        found["until"] = ["This has passed already."]
    elif until > now() + LONGEST:
        found["until"] = [f"At most {LONGEST.days} days; a decision is kinder than a longer sleep."]
    said = texts.complaint(reason, limit=LONGEST_REASON, lines=False)
    if said:
        found["reason"] = [said]
    return found


def _number(ref: str) -> int:
    kind, _, number = ref.partition("-")
    return int(number) if kind == "T" and number.isdecimal() else 0
