"""A wall time happens once a day, whatever the clock does: in Europe, on Lord Howe by half an hour, and where it never changes."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provisioning.schedules.wall_time import moment_of, next_after

BERLIN, LORD_HOWE, KOLKATA = (
    ZoneInfo(name) for name in ("Europe/Berlin", "Australia/Lord_Howe", "Asia/Kolkata")
)


@pytest.mark.parametrize(
    ("zone", "day", "at", "moment"),
    [
        # Europe: on 29 March 2026 the clock goes from 02:00 to 03:00, on 25 October from 03:00 back to 02:00.
        (BERLIN, date(2026, 3, 28), time(2, 30), "2026-03-28T01:30+00:00"),
        (BERLIN, date(2026, 3, 29), time(2, 30), "2026-03-29T01:00+00:00"),
        (BERLIN, date(2026, 3, 29), time(2, 0), "2026-03-29T01:00+00:00"),
        (BERLIN, date(2026, 3, 29), time(3, 0), "2026-03-29T01:00+00:00"),
        (BERLIN, date(2026, 3, 30), time(2, 30), "2026-03-30T00:30+00:00"),
        (BERLIN, date(2026, 10, 25), time(2, 30), "2026-10-25T00:30+00:00"),
        (BERLIN, date(2026, 10, 25), time(3, 0), "2026-10-25T02:00+00:00"),
        # Lord Howe: half an hour; on 5 April 2026 from 02:00 back to 01:30, on 4 October from 02:00 to 02:30.
        (LORD_HOWE, date(2026, 4, 5), time(1, 45), "2026-04-04T14:45+00:00"),
        (LORD_HOWE, date(2026, 10, 4), time(2, 15), "2026-10-03T15:30+00:00"),
        (LORD_HOWE, date(2026, 10, 4), time(2, 30), "2026-10-03T15:30+00:00"),
        (KOLKATA, date(2026, 3, 29), time(2, 30), "2026-03-28T21:00+00:00"),
    ],
)
def test_moment_of_a_wall_time(zone: ZoneInfo, day: date, at: time, moment: str) -> None:
    assert moment_of(day, at, zone) == datetime.fromisoformat(moment)


def test_restart_inside_the_doubled_hour_runs_nothing_twice() -> None:
    first = datetime(2026, 10, 25, 0, 30, tzinfo=UTC)  # 02:30 for the first time
    for minutes in range(0, 120, 5):
        later = next_after(first + timedelta(minutes=minutes), at=time(2, 30), zone=BERLIN)
        assert later == datetime(2026, 10, 26, 1, 30, tzinfo=UTC)


def test_weekdays_are_those_of_the_zone() -> None:
    monday = next_after(
        datetime(2026, 11, 28, tzinfo=UTC), at=time(1, 0), zone=ZoneInfo("Pacific/Auckland"), days=[0]
    )
    assert monday == datetime(2026, 11, 29, 12, 0, tzinfo=UTC)


ZONES = st.sampled_from(
    [
        "Europe/Berlin",
        "Australia/Lord_Howe",
        "Asia/Kolkata",
        "America/New_York",
        "Africa/Casablanca",
        "Pacific/Apia",
    ]
)


@given(
    zone=ZONES,
    at=st.times(),
    after=st.datetimes(min_value=datetime(2020, 1, 1), max_value=datetime(2029, 1, 1)),  # noqa: DTZ001 - made aware below
)
def test_times_follow_each_other_about_a_day_apart(zone: str, at: time, after: datetime) -> None:
    at = at.replace(microsecond=0)
    first = next_after(after.replace(tzinfo=UTC), at=at, zone=ZoneInfo(zone))
    second = next_after(first, at=at, zone=ZoneInfo(zone))
    assert first > after.replace(tzinfo=UTC)
    assert timedelta(hours=22) < second - first < timedelta(hours=26)
    assert first.astimezone(ZoneInfo(zone)).date() != second.astimezone(ZoneInfo(zone)).date()
