"""What does a workaround still leave of the loss, once its replacement is late? It grows until somebody builds it.

`w = min(1.5, w0 · 1.1^n)` with `n` the overdue weeks that have begun. Source: the design's section on rank; at H = 24 h
every such week moves the ticket forward by 24·log2(1.1) = 3.3 hours.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from math import ceil

GROWTH = 1.1
MOST = 1.5
DEFAULT_RESIDUAL = 0.3
WEEK = timedelta(days=7)


def late_from(due_on: date) -> datetime:
    """The moment a target day is over, in UTC: until then nothing is late."""
    return datetime.combine(due_on + timedelta(days=1), time(), UTC)


def weeks_begun(*, due_on: date, at: datetime) -> int:
    """Overdue weeks that have begun at `at`; 0 until the target day is over, 1 from that moment on."""
    late = at - late_from(due_on)
    return 0 if late < timedelta(0) else max(1, ceil((late + timedelta(microseconds=1)) / WEEK))


def turns_at(*, due_on: date, weeks: int) -> datetime:
    """When the overdue week number `weeks` (from 1) begins."""
    return late_from(due_on) + (weeks - 1) * WEEK


def aged(residual: float, *, weeks: int) -> float:
    """Share of the loss that counts after `weeks` overdue weeks, never above 1.5; a residual of 0 stays 0."""
    return min(MOST, residual * GROWTH ** max(0, weeks))
