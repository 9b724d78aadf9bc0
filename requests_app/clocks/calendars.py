"""How much working time lies between two moments, and when is so much of it over? Zones and their jumps included."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from itertools import count
from zoneinfo import ZoneInfo

DAY = timedelta(days=1)
NOTHING = timedelta(0)
FURTHEST_DAYS = 4000
"""Whoever asks for working time beyond eleven years has a calendar without work in it."""


@dataclass(frozen=True, kw_only=True)
class WorkCalendar:
    """When a team works: weekdays (0 is Monday) from `opens` to `closes` by the clock on its wall, holidays left out.

    `closes` at 00:00 is midnight at the end of the day, so 00:00 to 00:00 is the whole day.
    """

    zone: str = "UTC"
    days: frozenset[int] = frozenset({0, 1, 2, 3, 4})
    opens: time = time(9)
    closes: time = time(17)
    holidays: frozenset[date] = frozenset()

    def works_on(self, day: date) -> bool:
        """True for a working day."""
        return day.weekday() in self.days and day not in self.holidays

    def window(self, day: date) -> tuple[datetime, datetime] | None:
        """From when to when, in UTC, work is done on a day of the team's own calendar; None when it rests."""
        if not self.works_on(day):
            return None
        until = day + DAY if self.closes == time(0) else day
        start = instant(self.zone, datetime.combine(day, self.opens))
        end = instant(self.zone, datetime.combine(until, self.closes))
        return (start, end) if start < end else None


@lru_cache(maxsize=4096)
def instant(zone: str, wall: datetime) -> datetime:
    """The moment, in UTC, at which the clock on the wall of `zone` shows `wall`.

    A time that is shown twice means the first; one that the clock jumps over means the moment of the jump. So later wall
    times are never earlier moments, and windows that follow each other never overlap.
    """
    place = ZoneInfo(zone)
    first = wall.replace(tzinfo=place, fold=0).astimezone(UTC)
    if first.astimezone(place).replace(tzinfo=None) == wall:
        return first
    after = (
        first  # the offset from before the jump puts it behind the jump, the one from after puts it before
    )
    before = wall.replace(tzinfo=place, fold=1).astimezone(UTC)
    new = after.astimezone(place).utcoffset()
    while after - before > timedelta(seconds=1):
        middle = (before + (after - before) / 2).replace(microsecond=0)
        if middle <= before:
            break
        before, after = (before, middle) if middle.astimezone(place).utcoffset() == new else (middle, after)
    return after


def local_day(zone: str, at: datetime) -> date:
    """Which day it is in `zone`."""
    return at.astimezone(ZoneInfo(zone)).date()


def elapsed(calendar: WorkCalendar | None, start: datetime, end: datetime) -> timedelta:
    """Working time from `start` to `end`; all time without a calendar. Nought when `end` isn't later."""
    if end <= start:
        return NOTHING
    if calendar is None:
        return end - start
    total = NOTHING
    last = local_day(calendar.zone, end) + DAY
    for opens, closes in _windows(calendar, start):
        if opens >= end or local_day(calendar.zone, opens) > last:
            break
        total += max(NOTHING, min(end, closes) - max(start, opens))
    return total


def after(calendar: WorkCalendar | None, start: datetime, span: timedelta) -> datetime | None:
    """The first moment at which `span` of working time has passed since `start`; None when no work is ever done."""
    if span <= NOTHING:
        return start
    if calendar is None:
        return start + span
    left = span
    for opens, closes in _windows(calendar, start):
        begin = max(start, opens)
        if closes <= begin:
            continue
        if closes - begin >= left:
            return begin + left
        left -= closes - begin
    return None


def close_of(calendar: WorkCalendar, day: date) -> datetime:
    """When a promise for `day` is due: as the team stops work that day, or as the day ends where it rests."""
    window = calendar.window(day)
    return window[1] if window else instant(calendar.zone, datetime.combine(day + DAY, time(0)))


def morning_before(calendar: WorkCalendar, due: datetime) -> datetime:
    """When the team began work on the last working day that began before `due`; a day before it where none did."""
    day = local_day(calendar.zone, due)
    for number in range(15):
        window = calendar.window(day - number * DAY)
        if window is not None and window[0] < due:
            return window[0]
    return due - DAY


def _windows(calendar: WorkCalendar, start: datetime) -> Iterator[tuple[datetime, datetime]]:
    """Working windows from the day before `start` on: a day can be longer than its date looks from elsewhere."""
    first = local_day(calendar.zone, start) - DAY
    for number in count():
        if number > FURTHEST_DAYS:
            return
        window = calendar.window(first + number * DAY)
        if window is not None:
            yield window
