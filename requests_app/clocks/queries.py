"""What do the clocks of a ticket say? Read from the ledger and the blocks, with the team's calendar and the goals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from portal.kernel.clock import now
from portal.ledger.models import Event
from requests_app.clocks import happenings
from requests_app.clocks import intervals as rules
from requests_app.clocks.calendars import WorkCalendar, close_of, morning_before
from requests_app.clocks.goals import ClockName, Goal, Scope, goal_for
from requests_app.clocks.happenings import LISTENED
from requests_app.clocks.models import Calendar, ClockGoal, TeamCalendar
from requests_app.tickets.models import Ticket
from requests_app.tickets.states import FINAL, TicketState


@dataclass(frozen=True, kw_only=True)
class Clocks:
    """The readings of one ticket, and the calendar they were read by."""

    readings: tuple[rules.Reading, ...]
    calendar: WorkCalendar
    delivered_at: datetime | None

    def of(self, name: ClockName) -> rules.Reading | None:
        """The reading of the first clock of that name."""
        return next((each for each in self.readings if each.clock.name == name), None)


def calendar_of(team_id: int, zone: str) -> WorkCalendar:
    """What the team chose, else Monday to Friday from nine to five in its own zone."""
    return calendars_of({team_id: zone})[team_id]


def calendars_of(zones: Mapping[int, str]) -> dict[int, WorkCalendar]:
    """The calendars of several teams, given their zones, in one query."""
    chosen = TeamCalendar.objects.filter(team__in=zones).select_related("calendar")
    found = {each.team_id: work_calendar(each.calendar) for each in chosen}
    return {team: found.get(team) or WorkCalendar(zone=zone or "UTC") for team, zone in zones.items()}


def work_calendar(row: Calendar) -> WorkCalendar:
    """A stored calendar as the rules take it."""
    return WorkCalendar(
        zone=row.zone,
        days=frozenset(row.days),
        opens=row.opens,
        closes=row.closes,
        holidays=frozenset(row.holidays),
    )


def goals_said() -> dict[tuple[Scope, ClockName], Goal]:
    """What admins have said, by scope and clock."""
    rows = ClockGoal.objects.select_related("offering")
    return {
        (_scope(row), ClockName(row.clock)): Goal(hours=float(row.hours), business=row.business)
        for row in rows
    }


def _scope(row: ClockGoal) -> Scope:
    if row.offering is not None:
        return "offering", row.offering.slug
    return ("kind", row.kind) if row.kind else ("", "")


def clocks_of(ticket: Ticket, at: datetime | None = None) -> Clocks:
    """Every clock of the ticket at `at` (now when silent). Whoever calls has checked that the reader may see it."""
    told = list(
        Event.objects.filter(subject=ticket.ref, name__in=LISTENED).select_related("actor").order_by("id")
    )
    return read_all(
        ticket,
        told=told,
        blocks=[(block.started_at, block.ended_at) for block in ticket.blocks.all()],
        positions=frozenset(line.position for line in ticket.lines.all()),
        calendar=calendar_of(ticket.team_id, ticket.team.time_zone),
        goals=goals_said(),
        at=at or now(),
    )


def read_all(
    ticket: Ticket,
    *,
    told: Iterable[Event],
    blocks: Iterable[tuple[datetime, datetime | None]],
    positions: frozenset[int],
    calendar: WorkCalendar,
    goals: Mapping[tuple[Scope, ClockName], Goal],
    at: datetime,
) -> Clocks:
    """The clocks from rows that are at hand: nothing is asked of the database."""
    rows = [_told(ticket, event) for event in told]
    story = happenings.story(rows, filed_at=ticket.submitted_at, positions=positions)
    over = ticket.state_since if ticket.status in FINAL and ticket.status != TicketState.CLOSED else None
    made = [
        rules.answer_clock(story),
        rules.decision_clock(story),
        *(_promise(each, calendar, over) for each in happenings.promises(rows)),
    ]
    unblock = rules.unblock_clock(blocks)
    if unblock is not None:
        made.append(unblock)
    version = ticket.offering_version
    readings = tuple(
        rules.read(
            clock,
            goal=goal_for(clock.name, offering=version.offering.slug, kind=version.kind, said=goals),
            calendar=calendar,
            at=at,
        )
        for clock in made
    )
    return Clocks(readings=readings, calendar=calendar, delivered_at=happenings.delivered_at(rows))


def _told(ticket: Ticket, event: Event) -> happenings.Told:
    return happenings.Told(
        number=event.pk,
        name=event.name,
        at=event.at,
        payload=event.payload,
        by_infra=event.actor is not None and event.actor.staff_role != "",
        by_requester=event.actor_id == ticket.requester_id,
    )


def _promise(promised: happenings.Promised, calendar: WorkCalendar, over: datetime | None) -> rules.Clock:
    due = close_of(calendar, promised.due_on)
    return rules.promise_clock(
        made=promised.made_at,
        risk=morning_before(calendar, due),
        due=due,
        kept=promised.kept_at,
        over=promised.cancelled_at or over,
        about=f"line {promised.position}",
    )
