"""Who is on triage duty at a moment? Pure: shifts in wall-clock time of a zone, so that a change of the clocks moves nobody's hours."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo, available_timezones

WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


@dataclass(frozen=True, kw_only=True)
class Shift:
    """`person` is on duty from `begins` to `ends`, wall clock of `zone`, on `weekdays` (0 is Monday) of `since`…`until`.

    An end at or before the begin is on the next day. `order` settles overlaps: the highest wins, so that a substitute is
    entered after the shift they take over.
    """

    person: str
    zone: str
    since: date
    until: date | None
    weekdays: frozenset[int]
    begins: time
    ends: time
    order: int = 0


def covers(shift: Shift, at: datetime) -> bool:
    """True when `at` (aware) falls into the shift; its begin belongs to it, its end doesn't."""
    local = at.astimezone(ZoneInfo(shift.zone))
    return any(
        _begins_on(shift, day) and _start(shift, day) <= at.astimezone(UTC) < _end(shift, day)
        for day in (local.date() - timedelta(days=1), local.date())
    )


def on_duty(shifts: Iterable[Shift], at: datetime) -> Shift | None:
    """The shift that counts at `at`; None when nobody is on duty."""
    return max((shift for shift in shifts if covers(shift, at)), key=lambda shift: shift.order, default=None)


def next_duty(shifts: Iterable[Shift], at: datetime, *, within: int = 14) -> tuple[datetime, Shift] | None:
    """When somebody is on duty next, from `at` on, looking `within` days ahead; None when nobody is."""
    begins = [
        (_start(shift, day), shift)
        for shift in shifts
        for day in _days(at.astimezone(ZoneInfo(shift.zone)).date(), within)
        if _begins_on(shift, day) and _start(shift, day) >= at
    ]
    return min(begins, key=lambda pair: (pair[0], -pair[1].order), default=None)


def complaints(shift: Shift) -> dict[str, list[str]]:
    """What is wrong with a shift, by field; empty when nothing is."""
    found: dict[str, list[str]] = {}
    if shift.zone not in available_timezones():
        found["zone"] = ["There is no such time zone; they look like Europe/Berlin."]
    if not shift.weekdays or not shift.weekdays <= frozenset(range(7)):
        found["weekdays"] = ["Choose at least one day of the week."]
    if shift.until is not None and shift.until < shift.since:
        found["until"] = ["It ends before it begins."]
    return found


def _days(first: date, count: int) -> list[date]:
    return [first + timedelta(days=offset) for offset in range(count + 1)]


def _begins_on(shift: Shift, day: date) -> bool:
    in_time = shift.since <= day and (shift.until is None or day <= shift.until)
    return in_time and day.weekday() in shift.weekdays


def _start(shift: Shift, day: date) -> datetime:
    return datetime.combine(day, shift.begins, ZoneInfo(shift.zone)).astimezone(UTC)


def _end(shift: Shift, day: date) -> datetime:
    over_night = shift.ends <= shift.begins
    last = day + timedelta(days=1) if over_night else day
    return datetime.combine(last, shift.ends, ZoneInfo(shift.zone)).astimezone(UTC)
