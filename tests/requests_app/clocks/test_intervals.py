"""A clock is a list of intervals: it stands still while the team has the ticket, and nothing that changes later bends it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from hypothesis import given, settings
from hypothesis import strategies as st

from requests_app.clocks.calendars import WorkCalendar, elapsed
from requests_app.clocks.goals import ClockName, Goal, goal_for
from requests_app.clocks.intervals import (
    Clock,
    Happening,
    Turn,
    answer_clock,
    decision_clock,
    promise_clock,
    read,
    unblock_clock,
)

START = datetime(2026, 11, 30, 9, tzinfo=UTC)  # a Monday
HOUR = timedelta(hours=1)
ALL_DAY = WorkCalendar()
WALL = Goal(hours=10, business=False)


def at(hours: float) -> datetime:
    return START + hours * HOUR


def story(*turns: tuple[float, Turn]) -> list[Happening]:
    told = [Happening(at=START, turn=Turn.FILED)]
    return told + [Happening(at=at(hours), turn=turn, why="asked") for hours, turn in turns]


def spent(clock: Clock, hours: float, goal: Goal = WALL) -> float:
    return read(clock, goal=goal, calendar=ALL_DAY, at=at(hours)).elapsed / HOUR


def test_it_stands_still_while_the_team_has_it_and_says_why() -> None:
    clock = decision_clock(story((1, Turn.WITH_TEAM)))
    reading = read(clock, goal=WALL, calendar=ALL_DAY, at=at(30))
    assert (reading.elapsed, reading.paused, reading.due_at) == (HOUR, "asked", None)
    assert not reading.missed
    assert not reading.is_running


def test_it_goes_on_from_where_it_stood() -> None:
    clock = decision_clock(story((1, Turn.WITH_TEAM), (20, Turn.WITH_DESK)))
    assert spent(clock, 22) == 3
    reading = read(clock, goal=WALL, calendar=ALL_DAY, at=at(22))
    assert (reading.due_at, reading.paused) == (at(29), "")


def test_a_decision_stops_it_and_a_return_lets_it_go_on() -> None:
    assert spent(decision_clock(story((2, Turn.DECIDED))), 50) == 2
    again = decision_clock(story((2, Turn.DECIDED), (10, Turn.WITH_DESK)))
    assert again.stopped_at is None
    assert spent(again, 11) == 3
    assert decision_clock(story((2, Turn.DECIDED), (3, Turn.DECIDED))).stopped_at == at(2)


def test_who_takes_it_back_is_owed_nothing() -> None:
    clock = decision_clock(story((2, Turn.OVER)))
    reading = read(clock, goal=Goal(hours=1, business=False), calendar=ALL_DAY, at=at(50))
    assert (reading.is_running, reading.at_risk, clock.stopped_at) == (False, False, None)
    assert answer_clock(story((2, Turn.OVER))).over


def test_the_first_word_of_a_person_answers() -> None:
    for turn in (Turn.ANSWERED, Turn.WITH_TEAM, Turn.DECIDED):
        assert answer_clock(story((3, turn), (4, Turn.ANSWERED))).stopped_at == at(3)
    assert answer_clock(story()).stopped_at is None


def test_a_word_of_the_desk_is_no_decision() -> None:
    assert decision_clock(story((1, Turn.ANSWERED))).stopped_at is None


def test_a_promise_never_shifts() -> None:
    clock = promise_clock(made=START, risk=at(20), due=at(24), kept=None, over=None, about="line 1")
    reading = read(clock, goal=None, calendar=ALL_DAY, at=at(25))
    assert (reading.due_at, reading.missed) == (at(24), True)
    assert read(clock, goal=None, calendar=ALL_DAY, at=at(21)).at_risk


def test_only_relief_ends_a_block() -> None:
    assert unblock_clock([]) is None
    clock = unblock_clock([(START, at(2)), (at(5), None)])
    assert clock is not None
    assert clock.stopped_at is None
    assert spent(clock, 6) == 3
    over = unblock_clock([(START, at(2)), (at(5), at(9))])
    assert over is not None
    assert (over.stopped_at, spent(over, 100)) == (at(9), 6)


def test_pause_policy_change_and_resume_across_a_weekend_and_the_jump_of_the_clock() -> None:
    """The row of the bug list: elapsed equals the hand sum, whatever the goal was meanwhile."""
    berlin = WorkCalendar(zone="Europe/Berlin")

    def there(day: int, hour: int) -> datetime:
        return datetime(2026, 3, day, hour, tzinfo=ZoneInfo("Europe/Berlin")).astimezone(UTC)

    told = [
        Happening(at=there(27, 15), turn=Turn.FILED),  # Friday
        Happening(at=there(27, 16), turn=Turn.WITH_TEAM, why="asked"),
        Happening(at=there(30, 11), turn=Turn.WITH_DESK),  # Monday, after the jump
    ]
    clock, now = decision_clock(told), there(31, 10)
    by_hand = HOUR + 6 * HOUR + HOUR  # Friday, Monday from 11, Tuesday until 10
    for hours in (4, 8, 40):
        assert read(clock, goal=Goal(hours=hours), calendar=berlin, at=now).elapsed == by_hand
    due = read(clock, goal=Goal(hours=8), calendar=berlin, at=there(27, 18)).due_at
    assert due == now
    assert read(clock, goal=Goal(hours=8), calendar=berlin, at=now + HOUR).missed


turns = st.lists(
    st.tuples(st.integers(1, 60), st.sampled_from([t for t in Turn if t is not Turn.FILED])), max_size=8
)


@settings(deadline=None)
@given(turns=turns, look=st.integers(0, 600))
def test_intervals_touch_and_never_overlap(turns: list[tuple[int, Turn]], look: int) -> None:
    hours, told = 0, []
    for more, turn in turns:
        hours += more
        told.append((float(hours), turn))
    clock = decision_clock(story(*told))
    for one, two in zip(clock.intervals, clock.intervals[1:], strict=False):
        assert one.end is not None
        assert one.end <= two.start
    now = at(hours + look)
    reading = read(clock, goal=Goal(hours=8), calendar=ALL_DAY, at=now)
    by_hand = sum(
        (elapsed(ALL_DAY, each.start, each.end or now) for each in clock.intervals if each.runs), timedelta(0)
    )
    assert reading.elapsed == by_hand


@settings(deadline=None)
@given(turns=turns, look=st.integers(0, 600))
def test_missed_is_when_more_than_the_goal_has_run(turns: list[tuple[int, Turn]], look: int) -> None:
    hours, told = 0, []
    for more, turn in turns:
        hours += more
        told.append((float(hours), turn))
    goal = Goal(hours=8)
    reading = read(decision_clock(story(*told)), goal=goal, calendar=ALL_DAY, at=at(hours + look))
    assert reading.missed <= (reading.elapsed >= goal.span)
    if reading.elapsed > goal.span:
        assert reading.due_at is not None


def test_the_nearest_goal_counts() -> None:
    said = {(("kind", "quota"), ClockName.ANSWER): Goal(hours=2), (("", ""), ClockName.ANSWER): Goal(hours=3)}

    def hours(offering: str, kind: str) -> float:
        goal = goal_for(ClockName.ANSWER, offering=offering, kind=kind, said=said)
        assert goal is not None
        return goal.hours

    assert hours("quota-raise", "quota") == 2
    assert hours("gpu-cluster", "cluster") == 3
    assert (
        hours("unblock", "unblock") == 1
    )  # the house's figure for the kind comes before what is said for everything
    assert goal_for(ClockName.PROMISE, offering="x", kind="y", said={}) is None
