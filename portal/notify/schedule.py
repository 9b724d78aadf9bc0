"""When is a message due? A digest at a local hour of the person, whatever the clocks do; a retry later and later. Pure."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

MOST_ATTEMPTS = 10
FIRST_PAUSE, LONGEST_PAUSE = timedelta(seconds=30), timedelta(hours=6)


def zone_of(name: str, fallback: str = "UTC") -> ZoneInfo:
    """The zone, or the fallback for a name that the zone data has lost."""
    for each in (name, fallback):
        try:
            return ZoneInfo(each)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            continue
    return ZoneInfo("UTC")


def next_digest(after: datetime, zone: ZoneInfo, hour: int) -> datetime:
    """The first moment after `after` at which it is `hour` o'clock in `zone`, once a day.

    An hour that a day does not have (clocks go forward over it) becomes the hour after it; of one that comes twice
    the first counts.
    """
    day = after.astimezone(zone).date()
    while True:
        # an hour that is skipped reads as an hour later when it has been to UTC and back: PEP 495, fold=0
        due = datetime.combine(day, time(hour), zone).astimezone(UTC)
        if due > after:
            return due
        day += timedelta(days=1)


def pause_after(attempts: int) -> timedelta | None:
    """How long to wait after so many failed attempts; None when it is given up."""
    if attempts >= MOST_ATTEMPTS:
        return None
    doubled: timedelta = FIRST_PAUSE * int(2 ** max(0, attempts - 1))
    return min(doubled, LONGEST_PAUSE)
