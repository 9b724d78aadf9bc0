"""Working time is what a hand would count, minute by minute, wherever the team sits and whatever its clocks do."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from requests_app.clocks.calendars import (
    WorkCalendar,
    after,
    close_of,
    elapsed,
    instant,
    local_day,
    morning_before,
)

AUCKLAND, SAO_PAULO, KATHMANDU = "Pacific/Auckland", "America/Sao_Paulo", "Asia/Kathmandu"
ZONES = [AUCKLAND, SAO_PAULO, KATHMANDU, "UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"]
MINUTE = timedelta(minutes=1)


def utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[arg-type,misc]


def shown(*parts: int) -> datetime:
    return datetime(*parts)  # type: ignore[arg-type]  # noqa: DTZ001 - what a wall shows


def wall(zone: str, *parts: int) -> datetime:
    return datetime(*parts, tzinfo=ZoneInfo(zone)).astimezone(UTC)  # type: ignore[arg-type,misc]


def by_hand(calendar: WorkCalendar, start: datetime, end: datetime) -> timedelta:
    """One look at the wall a minute."""
    zone, total, at = ZoneInfo(calendar.zone), timedelta(0), start
    while at < end:
        local = at.astimezone(zone)
        shown = local.time()
        open_now = calendar.opens <= shown and (shown < calendar.closes or calendar.closes == time(0))
        if calendar.works_on(local.date()) and open_now:
            total += MINUTE
        at += MINUTE
    return total


calendars = st.builds(
    WorkCalendar,
    zone=st.sampled_from(ZONES),
    days=st.frozensets(st.integers(0, 6), min_size=1),
    opens=st.sampled_from([time(8), time(9), time(9, 30)]),
    closes=st.sampled_from([time(16), time(17, 45), time(0)]),
    holidays=st.frozensets(st.dates(date(2018, 1, 1), date(2028, 12, 31)), max_size=5),
)
moments = st.datetimes(
    shown(2018, 1, 1), shown(2028, 12, 31), timezones=st.just(UTC), allow_imaginary=False
).map(lambda at: at.replace(second=0, microsecond=0))
spans = st.integers(0, 60 * 24 * 6).map(lambda minutes: minutes * MINUTE)


@settings(deadline=None, max_examples=40)
@given(calendar=calendars, start=moments, span=spans)
def test_is_what_a_hand_counts(calendar: WorkCalendar, start: datetime, span: timedelta) -> None:
    assert elapsed(calendar, start, start + span) == by_hand(calendar, start, start + span)


@settings(deadline=None)
@given(calendar=calendars | st.none(), start=moments, first=spans, second=spans)
def test_adds_up_and_is_never_negative(
    calendar: WorkCalendar | None, start: datetime, first: timedelta, second: timedelta
) -> None:
    middle, end = start + first, start + first + second
    whole = elapsed(calendar, start, end)
    assert whole == elapsed(calendar, start, middle) + elapsed(calendar, middle, end)
    assert timedelta(0) <= whole <= end - start
    assert elapsed(calendar, end, start) == timedelta(0) or end == start


@settings(deadline=None)
@given(calendar=calendars | st.none(), start=moments, span=spans)
def test_due_is_the_first_moment_at_which_so_much_has_passed(
    calendar: WorkCalendar | None, start: datetime, span: timedelta
) -> None:
    due = after(calendar, start, span)
    assert due is not None
    assert elapsed(calendar, start, due) == span
    if span:
        assert elapsed(calendar, start, due - MINUTE) < span


def test_a_weekend_is_no_work() -> None:
    friday, monday = utc(2026, 11, 27, 16), utc(2026, 11, 30, 10)
    assert elapsed(WorkCalendar(), friday, monday) == timedelta(hours=2)
    assert after(WorkCalendar(), friday, timedelta(hours=1.5)) == utc(2026, 11, 30, 9, 30)


def test_a_holiday_is_no_work() -> None:
    calendar = WorkCalendar(holidays=frozenset({date(2026, 12, 25)}))
    assert elapsed(calendar, utc(2026, 12, 24, 12), utc(2026, 12, 28, 10)) == timedelta(hours=6)


def test_auckland_works_while_utc_sleeps() -> None:
    calendar = WorkCalendar(zone=AUCKLAND)  # UTC+13 in November
    assert elapsed(calendar, utc(2026, 11, 29, 20), utc(2026, 11, 30, 4)) == timedelta(hours=8)


def test_kathmandu_is_three_quarters_off() -> None:
    calendar = WorkCalendar(zone=KATHMANDU)  # UTC+5:45
    assert calendar.window(date(2026, 11, 30)) == (utc(2026, 11, 30, 3, 15), utc(2026, 11, 30, 11, 15))


@pytest.mark.parametrize(
    ("zone", "day", "hours"),
    [
        ("Europe/Berlin", date(2026, 3, 29), 23),
        ("Europe/Berlin", date(2026, 10, 25), 25),
        (AUCKLAND, date(2026, 9, 27), 23),
        (AUCKLAND, date(2026, 4, 5), 25),
        (SAO_PAULO, date(2018, 11, 4), 23),  # midnight itself was jumped over
        (SAO_PAULO, date(2018, 2, 17), 25),  # midnight was reached twice
        ("Australia/Lord_Howe", date(2026, 10, 4), 23.5),
    ],
)
def test_a_day_of_the_jump_is_shorter_or_longer(zone: str, day: date, hours: float) -> None:
    always = WorkCalendar(zone=zone, days=frozenset(range(7)), opens=time(0), closes=time(0))
    start = instant(zone, datetime.combine(day, time(0)))
    end = instant(zone, datetime.combine(day + timedelta(days=1), time(0)))
    assert elapsed(always, start, end) == end - start == timedelta(hours=hours)


def test_a_working_day_has_its_hours_across_the_jump() -> None:
    calendar = WorkCalendar(zone="Europe/Berlin")
    friday, monday = wall("Europe/Berlin", 2026, 3, 27, 16), wall("Europe/Berlin", 2026, 3, 30, 10)
    assert elapsed(calendar, friday, monday) == timedelta(hours=2)
    assert after(calendar, friday, timedelta(hours=2)) == monday


def test_a_time_that_is_jumped_over_means_the_jump() -> None:
    assert instant("Europe/Berlin", shown(2026, 3, 29, 2, 30)) == utc(2026, 3, 29, 1)
    assert instant(SAO_PAULO, shown(2018, 11, 4, 0, 10)) == utc(2018, 11, 4, 3)


def test_a_time_that_comes_twice_means_the_first() -> None:
    assert instant("Europe/Berlin", shown(2026, 10, 25, 2, 30)) == utc(2026, 10, 25, 0, 30)


def test_a_leap_day_is_a_day() -> None:
    calendar = WorkCalendar(zone=AUCKLAND)
    start, end = wall(AUCKLAND, 2028, 2, 28, 9), wall(AUCKLAND, 2028, 3, 1, 9)
    assert elapsed(calendar, start, end) == timedelta(hours=16)  # Monday and Tuesday, the 29th


def test_a_promise_is_due_when_the_team_stops_work_that_day() -> None:
    assert close_of(WorkCalendar(zone=AUCKLAND), date(2026, 12, 1)) == utc(2026, 12, 1, 4)
    sunday = date(2026, 11, 29)
    assert close_of(WorkCalendar(zone=KATHMANDU), sunday) == utc(2026, 11, 29, 18, 15)


def test_a_warning_comes_in_the_morning_of_a_working_day() -> None:
    calendar = WorkCalendar(zone=AUCKLAND)
    assert morning_before(calendar, close_of(calendar, date(2026, 12, 1))) == utc(2026, 11, 30, 20)
    sunday = close_of(calendar, date(2026, 11, 29))
    assert morning_before(calendar, sunday) == wall(AUCKLAND, 2026, 11, 27, 9)
    assert local_day(AUCKLAND, utc(2026, 11, 29, 12)) == date(2026, 11, 30)


def test_nobody_works_for_ever_is_said() -> None:
    assert after(WorkCalendar(days=frozenset()), utc(2026, 1, 1), timedelta(hours=1)) is None
