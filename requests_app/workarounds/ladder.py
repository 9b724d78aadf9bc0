"""Which warnings are due before an end? Each step is said once, also when nobody looked for days.

A step is due when the end is that near or nearer. What was already so near when the end was set is no warning.
"""

from __future__ import annotations

from datetime import datetime, timedelta

STEPS = (14, 7, 3, 1)
"""Days before the end, farthest first."""
NONE_SAID = 10_000


def said_at_the_start(*, ends_at: datetime, at: datetime) -> int:
    """The nearest step that needs no saying because the whole time is not longer; NONE_SAID when all do."""
    return min((days for days in STEPS if ends_at - at <= timedelta(days=days)), default=NONE_SAID)


def due_steps(*, ends_at: datetime, said: int, at: datetime) -> tuple[int, ...]:
    """Steps to say now, farthest first; `said` is the nearest one that was said."""
    return tuple(days for days in STEPS if days < said and at >= ends_at - timedelta(days=days))


def renewed_until(*, ends_at: datetime, at: datetime, days: int) -> datetime:
    """A renewal counts from the end, so that asking early loses nothing; from now when the end is over."""
    return max(ends_at, at) + timedelta(days=days)
