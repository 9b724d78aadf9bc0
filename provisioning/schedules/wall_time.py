"""When is the next 02:30 in Berlin? Days, a wall time and the name of a zone, through both changes of the clock.

Each day has one moment. A time that the clock skips is the first moment after the gap; a time that comes twice is the first
of the two. So nothing is left out and nothing runs twice, also when the scheduler is restarted inside the doubled hour.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo, available_timezones

EVERY_DAY = frozenset(range(7))
_SECOND = timedelta(seconds=1)


def is_zone(name: str) -> bool:
    """True for the name of a zone that this machine knows."""
    return name in available_timezones()


def moment_of(day: date, at: time, zone: ZoneInfo) -> datetime:
    """The moment of a wall time on a day, in UTC."""
    wall = datetime.combine(day, at.replace(tzinfo=None))
    early = wall.replace(tzinfo=zone, fold=0).astimezone(UTC)
    if early.astimezone(zone).replace(tzinfo=None) == wall:
        return early
    late = wall.replace(tzinfo=zone, fold=1).astimezone(UTC)
    return _change_between(late, early, zone)


def next_after(after: datetime, *, at: time, zone: ZoneInfo, days: Collection[int] = EVERY_DAY) -> datetime:
    """The first moment later than `after`, in UTC; `days` are weekdays, Monday is 0, at least one."""
    day = after.astimezone(zone).date() - timedelta(days=1)
    for _ in range(10):
        if day.weekday() in days:
            moment = moment_of(day, at, zone)
            if moment > after:
                return moment
        day += timedelta(days=1)
    raise ValueError("a schedule needs a day of the week")


def _change_between(before: datetime, after: datetime, zone: ZoneInfo) -> datetime:
    """The moment in (before, after] at which the zone's offset changes."""
    offset = before.astimezone(zone).utcoffset()
    while after - before > _SECOND:
        middle = before + (after - before) // 2
        middle = middle.replace(microsecond=0)
        if middle <= before:
            break
        if middle.astimezone(zone).utcoffset() == offset:
            before = middle
        else:
            after = middle
    return after
