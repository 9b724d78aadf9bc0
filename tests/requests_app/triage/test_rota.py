"""Who is on duty is a matter of wall clocks: of several zones, over midnight, and through both changes of the clocks."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from requests_app.triage.rota import Shift, complaints, covers, next_duty, on_duty

FIRST = datetime(2026, 1, 8, tzinfo=UTC)
WEEK = frozenset(range(5))


def a_shift(person: str = "robin", **more: object) -> Shift:
    facts: dict[str, object] = {
        "person": person,
        "zone": "UTC",
        "since": date(2026, 1, 1),
        "until": None,
        "weekdays": WEEK,
        "begins": time(9),
        "ends": time(17),
        "order": 1,
        **more,
    }
    return Shift(**facts)  # type: ignore[arg-type]


def at(text: str, zone: str = "UTC") -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone))


@pytest.mark.parametrize(
    ("moment", "covered"),
    [("2026-11-30 08:59", False), ("2026-11-30 09:00", True), ("2026-11-30 16:59", True), ("2026-11-30 17:00", False), ("2026-11-29 12:00", False)],
)  # fmt: skip
def test_begin_belongs_to_the_shift_and_the_end_does_not(moment: str, covered: bool) -> None:
    assert covers(a_shift(), at(moment)) is covered


@pytest.mark.parametrize("zone", ["Pacific/Auckland", "America/Sao_Paulo", "Asia/Kathmandu"])
def test_hours_are_those_of_the_zone(zone: str) -> None:
    shift = a_shift(zone=zone)
    assert covers(shift, at("2026-11-30 09:00", zone))
    assert not covers(shift, at("2026-11-30 17:00", zone))


def test_night_shift_goes_on_after_midnight_and_belongs_to_the_day_it_began() -> None:
    friday_night = a_shift(weekdays=frozenset({4}), begins=time(22), ends=time(6))
    assert covers(friday_night, at("2026-12-05 05:59"))
    assert not covers(friday_night, at("2026-12-05 22:30"))
    assert not covers(friday_night, at("2026-12-04 05:00"))


def test_whole_days_leave_no_gap() -> None:
    always = a_shift(weekdays=frozenset(range(7)), begins=time(0), ends=time(0))
    assert all(covers(always, at("2026-11-30 00:00") + timedelta(minutes=13 * step)) for step in range(900))


@pytest.mark.parametrize("day", ["2026-03-29", "2026-10-25"])
def test_change_of_the_clocks_moves_nobodys_hours(day: str) -> None:
    berlin = a_shift(zone="Europe/Berlin", weekdays=frozenset(range(7)))
    assert covers(berlin, at(f"{day} 09:00", "Europe/Berlin"))
    assert not covers(berlin, at(f"{day} 08:59", "Europe/Berlin"))
    assert not covers(berlin, at(f"{day} 17:00", "Europe/Berlin"))


@pytest.mark.parametrize(("day", "hours"), [("2026-03-28", 7), ("2026-10-24", 9)])
def test_night_of_the_change_is_an_hour_shorter_or_longer(day: str, hours: int) -> None:
    night = a_shift(zone="Europe/Berlin", weekdays=frozenset({5}), begins=time(22), ends=time(6))
    start = at(f"{day} 22:00", "Europe/Berlin").astimezone(UTC)
    minutes = sum(covers(night, start + timedelta(minutes=step)) for step in range(600))
    assert minutes == hours * 60


def test_last_day_is_the_last_on_which_a_shift_begins() -> None:
    shift = a_shift(until=date(2026, 11, 30))
    assert covers(shift, at("2026-11-30 12:00"))
    assert not covers(shift, at("2026-12-01 12:00"))


def test_substitute_wins_over_who_was_entered_before() -> None:
    usual = a_shift("robin", order=1)
    substitute = a_shift("kim", order=2, since=date(2026, 11, 30), until=date(2026, 12, 4))
    during, after = (
        on_duty([usual, substitute], at("2026-12-01 12:00")),
        on_duty([usual, substitute], at("2026-12-07 12:00")),
    )
    assert (during and during.person, after and after.person) == ("kim", "robin")


def test_nobody_on_duty_says_who_is_next() -> None:
    shifts = [a_shift("robin"), a_shift("kim", weekdays=frozenset({6}), begins=time(12), ends=time(13))]
    assert on_duty(shifts, at("2026-11-28 12:00")) is None
    found = next_duty(shifts, at("2026-11-28 12:00"))
    assert found is not None
    assert (found[1].person, found[0]) == ("kim", at("2026-11-29 12:00"))
    assert next_duty([], at("2026-11-28 12:00")) is None


@given(
    st.integers(0, 690 * 24 * 60).map(lambda minutes: FIRST + timedelta(minutes=minutes)),
    st.sampled_from(["UTC", "Europe/Berlin", "Pacific/Auckland", "America/St_Johns"]),
    st.times(), st.times(), st.frozensets(st.integers(0, 6), min_size=1),
)  # fmt: skip
def test_whoever_is_next_is_on_duty_then(
    moment: datetime, zone: str, begins: time, ends: time, days: frozenset[int]
) -> None:
    shift = a_shift(
        zone=zone, begins=begins.replace(tzinfo=None), ends=ends.replace(tzinfo=None), weekdays=days
    )
    found = next_duty([shift], moment)
    assert found is not None
    assert moment <= found[0] <= moment + timedelta(days=9)
    assert covers(shift, found[0]) or begins == ends or found[0].astimezone(ZoneInfo(zone)).time() != begins


def test_shift_that_can_not_be_is_said_by_field() -> None:
    wrong = a_shift(zone="Mars/Base", weekdays=frozenset(), until=date(2025, 1, 1))
    assert set(complaints(wrong)) == {"zone", "weekdays", "until"}
    assert complaints(a_shift()) == {}
