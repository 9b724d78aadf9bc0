"""What does a reader see of a ticket's clocks? One row each: how long, of how much, due when, and why it stands still."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from requests_app.clocks.calendars import WorkCalendar
from requests_app.clocks.goals import ClockName
from requests_app.clocks.intervals import Interval, Reading

TITLES = {
    ClockName.ANSWER: "First answer",
    ClockName.DECISION: "Decision",
    ClockName.PROMISE: "Promise",
    ClockName.UNBLOCK: "Unblock",
}
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


@dataclass(frozen=True, kw_only=True)
class Row:
    """One clock for one reader. `tone` and `word` say how it stands; `pauses` are when it stood still, and why."""

    name: str
    title: str
    elapsed: timedelta
    goal: str
    due_at: datetime | None
    stopped_at: datetime | None
    word: str
    tone: str
    paused: str
    pauses: tuple[Interval, ...]
    share: float | None


def row_of(reading: Reading) -> Row:
    """The row of a clock."""
    clock, goal = reading.clock, reading.goal
    word, tone = _standing(reading)
    about = f" for {clock.about}" if clock.about else ""
    return Row(
        name=clock.name.value,
        title=f"{TITLES[clock.name]}{about}",
        elapsed=reading.elapsed,
        goal="" if goal is None else f"{goal.hours:g} {'working hours' if goal.business else 'hours'}",
        due_at=None if clock.stopped_at else reading.due_at,
        stopped_at=clock.stopped_at,
        word=word,
        tone=tone,
        paused=reading.paused,
        pauses=tuple(each for each in clock.intervals if not each.runs),
        share=None if goal is None else min(1.0, reading.elapsed / goal.span),
    )


def _standing(reading: Reading) -> tuple[str, str]:
    if reading.clock.stopped_at is not None:
        return ("late", "warn") if reading.missed else ("in time", "ok")
    if reading.clock.over:
        return "over", "quiet"
    if reading.missed:
        return "missed", "danger"
    if reading.paused:
        return "paused", "quiet"
    return ("at risk", "warn") if reading.at_risk else ("running", "active")


def hours_in_words(calendar: WorkCalendar) -> str:
    """`Mon to Fri, 09:00 to 17:00, Pacific/Auckland`."""
    days = sorted(calendar.days)
    runs = len(days) > 2 and days == list(range(days[0], days[-1] + 1))
    said = f"{_DAYS[days[0]]} to {_DAYS[days[-1]]}" if runs else ", ".join(_DAYS[day] for day in days)
    closes = "24:00" if calendar.closes.hour == calendar.closes.minute == 0 else f"{calendar.closes:%H:%M}"
    return f"{said or 'never'}, {calendar.opens:%H:%M} to {closes}, {calendar.zone}"
