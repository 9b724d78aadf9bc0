"""When things are due: a digest at the person's hour through every change of clocks; retries that slow down and end."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portal.notify.schedule import LONGEST_PAUSE, MOST_ATTEMPTS, next_digest, pause_after, zone_of

ZONES = ("Pacific/Auckland", "America/Sao_Paulo", "Asia/Kathmandu", "Europe/Berlin", "UTC", "Pacific/Apia")
moments = st.datetimes(datetime(2024, 1, 1), datetime(2030, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001


@given(moments, st.sampled_from(ZONES), st.integers(0, 23))
def test_digest_comes_at_the_local_hour_within_a_day_and_a_bit(after: datetime, name: str, hour: int) -> None:
    zone = ZoneInfo(name)
    due = next_digest(after, zone, hour)
    assert after < due <= after + timedelta(hours=26)
    local = due.astimezone(zone)
    assert local.minute == 0
    assert local.hour == hour or local.hour == (hour + 1) % 24  # an hour that this day doesn't have


@given(moments, st.sampled_from(ZONES), st.integers(0, 23))
def test_one_digest_a_day(after: datetime, name: str, hour: int) -> None:
    zone = ZoneInfo(name)
    first = next_digest(after, zone, hour)
    second = next_digest(first, zone, hour)
    assert first.astimezone(zone).date() < second.astimezone(zone).date()


@pytest.mark.parametrize(
    ("after", "hour", "due"),
    [
        ("2027-03-27T23:30:00+00:00", 2, "2027-03-28T01:00:00+00:00"),  # 2:00 is skipped: it is 3:00 then
        ("2027-10-31T00:10:00+00:00", 2, "2027-11-01T01:00:00+00:00"),  # the first 2:00 has been
        ("2027-10-30T23:10:00+00:00", 2, "2027-10-31T00:00:00+00:00"),  # the first of two
        ("2027-03-28T00:00:00+00:00", 8, "2027-03-28T06:00:00+00:00"),
        ("2028-02-28T12:00:00+00:00", 8, "2028-02-29T07:00:00+00:00"),
    ],
)
def test_clocks_that_change_neither_lose_nor_double_a_digest(after: str, hour: int, due: str) -> None:
    found = next_digest(datetime.fromisoformat(after), ZoneInfo("Europe/Berlin"), hour)
    assert found == datetime.fromisoformat(due)


def test_zone_that_is_gone_is_the_portals() -> None:
    assert zone_of("Mars/Olympus", "Europe/Berlin").key == "Europe/Berlin"
    assert zone_of("", "also/gone").key == "UTC"


def test_pauses_grow_and_end() -> None:
    pauses = [pause_after(attempts) for attempts in range(1, MOST_ATTEMPTS + 1)]
    assert pauses[-1] is None
    given_ = [pause for pause in pauses if pause is not None]
    assert given_ == sorted(given_)
    assert max(given_) <= LONGEST_PAUSE
