"""When did a clock run, when did it stand still, and why? A list of intervals, made anew from what happened."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum, auto

from requests_app.clocks.calendars import NOTHING, WorkCalendar, after, elapsed
from requests_app.clocks.goals import ClockName, Goal

AT_RISK_SHARE = 0.8


class Turn(Enum):
    """What an event means to the clocks of a ticket."""

    FILED = auto()
    ANSWERED = auto()  # a person of infra said something to the team
    WITH_TEAM = auto()  # the team has it: a question or an offer
    WITH_DESK = auto()  # the desk has it again
    DECIDED = auto()
    OVER = auto()  # nobody will decide any more


@dataclass(frozen=True, kw_only=True)
class Happening:
    """One event, as clocks see it. `why` is the reason of a pause, in words."""

    at: datetime
    turn: Turn
    why: str = ""


@dataclass(frozen=True, kw_only=True)
class Interval:
    """From `start` to `end` (None: until now) the clock ran, or stood still because of `why`."""

    start: datetime
    end: datetime | None
    runs: bool
    why: str = ""


@dataclass(frozen=True, kw_only=True)
class Clock:
    """One clock. `stopped_at` is when what it times was there, None while it isn't; `due_on` is a date that was promised.

    `about` tells several clocks of one name apart, such as promises of several lines.
    """

    name: ClockName
    intervals: tuple[Interval, ...]
    stopped_at: datetime | None = None
    fixed_due: datetime | None = None
    fixed_risk: datetime | None = None
    about: str = ""
    over: bool = False


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What a clock shows at a moment. `due_at` is None without a goal, or while nobody knows how long a pause lasts."""

    clock: Clock
    goal: Goal | None
    elapsed: timedelta
    due_at: datetime | None
    at_risk_at: datetime | None
    paused: str
    missed: bool
    at_risk: bool

    @property
    def is_running(self) -> bool:
        """True while what it times isn't there and nobody holds it up."""
        return self.clock.stopped_at is None and not self.paused and not self.clock.over


def answer_clock(story: Sequence[Happening]) -> Clock:
    """From filing to the first word of a person; a decision or a question is one."""
    start = story[0].at
    words = (Turn.ANSWERED, Turn.WITH_TEAM, Turn.DECIDED)
    stop = next((each.at for each in story if each.turn in words), None)
    over = None if stop else next((each.at for each in story if each.turn is Turn.OVER), None)
    ran = Interval(start=start, end=stop or over, runs=True)
    return Clock(name=ClockName.ANSWER, intervals=(ran,), stopped_at=stop, over=over is not None)


def decision_clock(story: Sequence[Happening]) -> Clock:
    """From filing until all is decided; it stands still while the team has it, and goes on when it is decided anew."""
    intervals: list[Interval] = []
    current: Interval | None = Interval(start=story[0].at, end=None, runs=True)
    stopped, over = None, False
    for each in story[1:]:
        if _changes_nothing(each.turn, current):
            continue
        if current is not None:
            intervals.append(replace(current, end=each.at))
        current = _following(each)
        stopped = each.at if each.turn is Turn.DECIDED else None
        over = each.turn is Turn.OVER
    if current is not None:
        intervals.append(current)
    return Clock(name=ClockName.DECISION, intervals=tuple(intervals), stopped_at=stopped, over=over)


def _changes_nothing(turn: Turn, current: Interval | None) -> bool:
    """A word of the desk moves nothing; neither does being decided twice, nor going on where it runs."""
    if turn is Turn.DECIDED:
        return current is None
    return turn is Turn.ANSWERED or (turn is Turn.WITH_DESK and current is not None and current.runs)


def _following(happening: Happening) -> Interval | None:
    if happening.turn in (Turn.DECIDED, Turn.OVER):
        return None
    runs = happening.turn is Turn.WITH_DESK
    return Interval(start=happening.at, end=None, runs=runs, why="" if runs else happening.why)


def unblock_clock(blocks: Iterable[tuple[datetime, datetime | None]]) -> Clock | None:
    """All intervals in which the team was blocked; nothing but relief stops it. None when it never was."""
    rows = sorted(blocks)
    if not rows:
        return None
    ran = tuple(Interval(start=start, end=end, runs=True) for start, end in rows)
    ends = [end for _, end in rows if end is not None]
    stop = max(ends) if len(ends) == len(rows) else None
    return Clock(name=ClockName.UNBLOCK, intervals=ran, stopped_at=stop)


def promise_clock(
    *, made: datetime, risk: datetime, due: datetime, kept: datetime | None, over: datetime | None, about: str
) -> Clock:
    """A date that was agreed: nothing shifts it, whoever has the ticket."""
    return Clock(
        name=ClockName.PROMISE,
        intervals=(Interval(start=made, end=kept or over, runs=True),),
        stopped_at=kept,
        fixed_due=due,
        fixed_risk=risk,
        about=about,
        over=over is not None,
    )


def read(clock: Clock, *, goal: Goal | None, calendar: WorkCalendar, at: datetime) -> Reading:
    """What the clock shows at `at`: the same whenever it is asked, since only intervals, goal and calendar decide."""
    counted = calendar if goal is not None and goal.business else None
    spent = sum((_spent(counted, each, at) for each in clock.intervals), NOTHING)
    due, risk = _moments(clock, goal, counted)
    last = clock.intervals[-1]
    paused = last.why if clock.stopped_at is None and not last.runs and not clock.over else ""
    end = clock.stopped_at or (last.end if clock.over and last.end else at)
    return Reading(
        clock=clock,
        goal=goal,
        elapsed=spent,
        due_at=due,
        at_risk_at=risk,
        paused=paused,
        missed=due is not None and due < end,
        at_risk=clock.stopped_at is None and risk is not None and risk <= end and (due is None or end <= due),
    )


def _spent(calendar: WorkCalendar | None, interval: Interval, at: datetime) -> timedelta:
    if not interval.runs:
        return NOTHING
    return elapsed(calendar, interval.start, min(at, interval.end or at))


def _moments(
    clock: Clock, goal: Goal | None, calendar: WorkCalendar | None
) -> tuple[datetime | None, datetime | None]:
    """When the goal is over, and when four fifths of it are."""
    if clock.fixed_due is not None:
        return clock.fixed_due, clock.fixed_risk
    if goal is None:
        return None, None
    return (
        moment_after(clock.intervals, goal.span, calendar),
        moment_after(clock.intervals, goal.span * AT_RISK_SHARE, calendar),
    )


def moment_after(
    intervals: Iterable[Interval], span: timedelta, calendar: WorkCalendar | None
) -> datetime | None:
    """When so much has run; None when it isn't known yet, because it stands still or stopped before."""
    left = span
    for each in intervals:
        if not each.runs:
            continue
        found = after(calendar, each.start, left)
        if found is not None and (each.end is None or found <= each.end):
            return found
        if each.end is None:
            return None
        left -= elapsed(calendar, each.start, each.end)
    return None
