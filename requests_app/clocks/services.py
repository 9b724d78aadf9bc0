"""Keep summaries of clocks, say once when one is at risk or missed, and let admins change calendars and goals."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet

from portal.kernel.clock import now
from portal.ledger.models import Event
from portal.ledger.services import record
from requests_app import events
from requests_app.blocks.models import BlockInterval
from requests_app.clocks import queries
from requests_app.clocks.goals import ClockName
from requests_app.clocks.happenings import LISTENED
from requests_app.clocks.intervals import Reading
from requests_app.clocks.models import ClockMark, ClockSummary
from requests_app.tickets.models import Line, Ticket
from requests_app.tickets.states import OPEN

BATCH = 200
SAID = {"at_risk": events.CLOCK_AT_RISK, "missed": events.CLOCK_MISSED}


def follow(ticket: Ticket) -> None:
    """Something happened to a ticket: its summary is made anew. Twice does no harm."""
    _refresh([ticket])


def sweep(limit: int = 1000) -> int:
    """Say what is due, and make summaries that are missing or were asked for anew; returns how many were looked at."""
    looked = _make_missing(limit)
    while looked < limit:
        batch = _look_at_due()
        looked += batch
        if batch < BATCH:
            break
    return looked


def look_again(tickets: QuerySet[Ticket]) -> int:
    """A calendar or a goal changed: the sweep reads these tickets' clocks anew."""
    return ClockSummary.objects.filter(ticket__in=tickets).update(look_at=now())


def _make_missing(limit: int) -> int:
    made = ClockSummary.objects.filter(ticket=OuterRef("pk"))
    missing = Ticket.objects.filter(~Exists(made), status__in=OPEN).select_related(
        "team", "offering_version__offering"
    )
    tickets = list(missing.order_by("pk")[:limit])
    for start in range(0, len(tickets), BATCH):
        _refresh(tickets[start : start + BATCH])
    return len(tickets)


@transaction.atomic
def _look_at_due() -> int:
    due = ClockSummary.objects.select_for_update(skip_locked=True, of=("self",)).filter(look_at__lte=now())
    rows = list(due.order_by("look_at", "pk")[:BATCH].values_list("ticket_id", flat=True))
    tickets = Ticket.objects.filter(pk__in=rows).select_related("team", "offering_version__offering")
    _refresh(list(tickets))
    return len(rows)


def _refresh(tickets: list[Ticket]) -> None:
    """Read the clocks of these tickets in a constant number of queries, say what is due, keep the summaries."""
    at = now()
    refs = {ticket.ref: ticket.pk for ticket in tickets}
    told: dict[int, list[Event]] = {}
    for event in (
        Event.objects.filter(subject__in=refs, name__in=LISTENED).select_related("actor").order_by("id")
    ):
        told.setdefault(refs[event.subject], []).append(event)
    blocks: dict[int, list[tuple[datetime, datetime | None]]] = {}
    for block in BlockInterval.objects.filter(ticket__in=refs.values()):
        blocks.setdefault(block.ticket_id, []).append((block.started_at, block.ended_at))
    positions: dict[int, set[int]] = {}
    for ticket_id, position in Line.objects.filter(ticket__in=refs.values()).values_list(
        "ticket", "position"
    ):
        positions.setdefault(ticket_id, set()).add(position)
    calendars = queries.calendars_of({ticket.team_id: ticket.team.time_zone for ticket in tickets})
    goals = queries.goals_said()
    with transaction.atomic():
        for ticket in tickets:
            clocks = queries.read_all(
                ticket,
                told=told.get(ticket.pk, []),
                blocks=blocks.get(ticket.pk, []),
                positions=frozenset(positions.get(ticket.pk, ())),
                calendar=calendars[ticket.team_id],
                goals=goals,
                at=at,
            )
            _say_due(ticket, clocks.readings, at)
            _keep(ticket, clocks, at)


def _say_due(ticket: Ticket, readings: Iterable[Reading], at: datetime) -> None:
    """What became due and wasn't said yet; what stopped before it was looked at is history and not news."""
    for reading in readings:
        if reading.clock.stopped_at is not None or reading.clock.over:
            continue
        for what, moment in (("at_risk", reading.at_risk_at), ("missed", reading.due_at)):
            if moment is not None and moment <= at and not (what == "at_risk" and reading.missed):
                _say(ticket, reading, what, moment, at)


def _say(ticket: Ticket, reading: Reading, what: str, moment: datetime, at: datetime) -> None:
    clock = reading.clock
    _, made = ClockMark.objects.get_or_create(
        ticket=ticket, clock=clock.name, about=clock.about, what=what, defaults={"moment": moment, "at": at}
    )
    if not made:
        return
    payload = {
        "team": ticket.team.slug,
        "title": ticket.title,
        "clock": clock.name.value,
        "about": clock.about,
        "moment": moment.isoformat(),
        "seconds": int(reading.elapsed.total_seconds()),
        "goal_hours": None if reading.goal is None else reading.goal.hours,
    }
    record(SAID[what], subject=ticket.ref, payload=payload, by=None)


def _keep(ticket: Ticket, clocks: queries.Clocks, at: datetime) -> None:
    took = None
    if clocks.delivered_at is not None:
        took = max(0, int((clocks.delivered_at - ticket.submitted_at).total_seconds()))
    ClockSummary.objects.update_or_create(
        ticket=ticket,
        defaults={
            "offering_id": ticket.offering_version.offering_id,
            "look_at": next_look(clocks.readings, at),
            "answer_seconds": _final(clocks.of(ClockName.ANSWER)),
            "decision_seconds": _final(clocks.of(ClockName.DECISION)),
            "unblock_seconds": _final(clocks.of(ClockName.UNBLOCK)),
            "delivered_at": clocks.delivered_at,
            "delivery_seconds": took,
            "derived_at": at,
        },
    )


def next_look(readings: Iterable[Reading], at: datetime) -> datetime | None:
    """When the next thing of these clocks is due; None when nothing will be."""
    moments = [
        moment
        for reading in readings
        if reading.clock.stopped_at is None and not reading.clock.over
        for moment in (reading.at_risk_at, reading.due_at)
        if moment is not None and moment > at
    ]
    return min(moments, default=None)


def _final(reading: Reading | None) -> int | None:
    if reading is None or reading.clock.stopped_at is None:
        return None
    return int(reading.elapsed.total_seconds())
