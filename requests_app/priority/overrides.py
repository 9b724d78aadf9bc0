"""How does a person overrule the rule? With a pin that has a reason and an end, with the effort, or with the expedite lane."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import F

from portal.accounts.models import User
from portal.kernel.clock import now
from portal.kernel.errors import Conflict, IllegalMove, Invalid, Refused
from portal.ledger.services import record
from requests_app import events
from requests_app.priority.models import Expedite, Pin
from requests_app.priority.scoring import LEAST_EFFORT, MOST_EFFORT
from requests_app.priority.services import rank_ticket
from requests_app.tickets.deciders import only_triagers
from requests_app.tickets.models import Ticket
from requests_app.tickets.settling import stale
from requests_app.tickets.states import OPEN
from requests_app.tickets.wording import text_of

DESK = "overrule a rank"

PIN_LASTS = timedelta(days=7)
MOST_PINNED_HOURS = 24 * 30
SLOTS = (1, 2)


@transaction.atomic
def pin_ticket(*, ticket: Ticket, version: int, hours: float, reason: str, by: User) -> Pin:
    """Move a ticket by `hours` of head start (back when negative) for seven days. A pin that was there ends."""
    only_triagers(by, DESK)
    reason = _reason(reason)
    if not hours or not abs(hours) <= MOST_PINNED_HOURS:
        raise Invalid({"hours": [f"From −{MOST_PINNED_HOURS} to {MOST_PINNED_HOURS} hours, and not 0."]})
    _touch(ticket, version)
    Pin.objects.filter(ticket=ticket, ended_at=None).update(ended_at=now())
    at = now()
    pin = Pin.objects.create(
        ticket=ticket,
        seconds=round(hours * 3600),
        reason=reason,
        made_by=by,
        made_at=at,
        expires_at=at + PIN_LASTS,
    )
    payload = {
        "team": ticket.team.slug,
        "hours": hours,
        "reason": reason,
        "until": pin.expires_at.isoformat(),
    }
    record(events.RANK_PINNED, subject=ticket.ref, payload=payload, by=by)
    rank_ticket(ticket=ticket, by=by)
    return pin


@transaction.atomic
def unpin_ticket(*, ticket: Ticket, version: int, by: User) -> None:
    """Take a pin away before its end; without one nothing happens."""
    only_triagers(by, DESK)
    pin = Pin.objects.select_for_update().filter(ticket=ticket, ended_at=None).first()
    if pin is None:
        return
    _touch(ticket, version)
    _end(pin, "taken away", by)


def end_due_pins() -> int:
    """End pins whose seven days are over; returns how many."""
    due = Pin.objects.filter(ended_at=None, expires_at__lte=now()).values_list("pk", flat=True)
    return sum(_end_due(pk) for pk in list(due))


@transaction.atomic
def _end_due(pk: int) -> bool:
    rows = Pin.objects.select_for_update(skip_locked=True, of=("self",))
    pin = rows.filter(pk=pk, ended_at=None).first()
    if pin is None:
        return False
    Ticket.objects.filter(pk=pin.ticket_id).update(version=F("version") + 1)
    _end(pin, "its seven days are over", None)
    return True


def _end(pin: Pin, why: str, by: User | None) -> None:
    Pin.objects.filter(pk=pin.pk).update(ended_at=now())
    ticket = Ticket.objects.select_related("team").get(pk=pin.ticket_id)
    payload = {"team": ticket.team.slug, "hours": pin.seconds / 3600, "reason": why}
    record(events.RANK_UNPINNED, subject=ticket.ref, payload=payload, by=by)
    rank_ticket(ticket=ticket, by=by)


@transaction.atomic
def set_effort(*, ticket: Ticket, version: int, hours: Decimal | None, by: User) -> Ticket:
    """Say how many infra-hours first relief takes; None goes back to the offering's own figure."""
    only_triagers(by, DESK)
    if hours is not None and not LEAST_EFFORT <= hours <= MOST_EFFORT:
        raise Invalid({"hours": [f"From {LEAST_EFFORT} to {MOST_EFFORT:g} infra-hours."]})
    was = ticket.effort_hours
    _touch(ticket, version, effort_hours=hours)
    payload = {"team": ticket.team.slug, "hours": _plain(hours), "was": _plain(was)}
    record(events.EFFORT_SET, subject=ticket.ref, payload=payload, by=by)
    rank_ticket(ticket=ticket, by=by)
    return ticket


@transaction.atomic
def expedite_ticket(*, ticket: Ticket, version: int, reason: str, by: User) -> Expedite:
    """Put a ticket into the expedite lane, a list of its own. Refused when both slots are taken: end one first."""
    only_triagers(by, DESK)
    reason = _reason(reason)
    if ticket.status not in OPEN:
        raise IllegalMove(f"{ticket.ref} is {ticket.status}; there is nothing to speed up.")
    at = now()
    _touch(ticket, version, expedited_at=at)
    entry = _take_slot(ticket, reason, by)
    payload = {"team": ticket.team.slug, "slot": entry.slot, "reason": reason}
    record(events.TICKET_EXPEDITED, subject=ticket.ref, payload=payload, by=by)
    return entry


def _take_slot(ticket: Ticket, reason: str, by: User) -> Expedite:
    """Try each slot; the database lets one ticket into each."""
    if Expedite.objects.filter(ticket=ticket, ended_at=None).exists():
        raise Conflict(f"{ticket.ref} is in the expedite lane already.", code="already-expedited")
    for slot in SLOTS:
        try:
            with transaction.atomic():
                return Expedite.objects.create(ticket=ticket, slot=slot, reason=reason, made_by=by)
        except IntegrityError:
            continue
    there = Expedite.objects.filter(ended_at=None).select_related("ticket")
    refs = [entry.ticket.ref for entry in there]
    raise Refused(
        f"The expedite lane has two places, and both are taken: {', '.join(refs)}. Finish one or take it out first.",
        code="expedite-lane-full",
        data={"limit": len(SLOTS), "tickets": refs},
    )


@transaction.atomic
def unexpedite_ticket(*, ticket: Ticket, by: User | None) -> None:
    """Take a ticket out of the lane; one that isn't there changes nothing. `by` is None when it was finished."""
    if by is not None:
        only_triagers(by, DESK)
    entry = Expedite.objects.select_for_update().filter(ticket=ticket, ended_at=None).first()
    if entry is None:
        return
    Expedite.objects.filter(pk=entry.pk).update(ended_at=now(), ended_by=by)
    Ticket.objects.filter(pk=ticket.pk).update(expedited_at=None, version=F("version") + 1)
    payload = {"team": ticket.team.slug, "slot": entry.slot}
    record(events.TICKET_UNEXPEDITED, subject=ticket.ref, payload=payload, by=by)


def _touch(ticket: Ticket, version: int, **changes: Any) -> None:
    """Write on the version that was seen, or lose."""
    rows = Ticket.objects.filter(pk=ticket.pk, version=version)
    if not rows.update(version=version + 1, **changes):
        raise stale(ticket)
    ticket.refresh_from_db(fields=["version", *changes])


def _reason(text: str) -> str:
    return text_of("reason", text, missing="Say why: the team and whoever is overtaken can read this.")


def _plain(hours: Decimal | None) -> float | None:
    return None if hours is None else float(hours)
