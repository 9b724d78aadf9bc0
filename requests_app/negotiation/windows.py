"""Has the time something was asked for passed before anybody decided? Then a yes means other dates, and the team agrees to them first."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta

SOON = timedelta(days=7)


@dataclass(frozen=True, kw_only=True)
class Window:
    """From when until when it was asked for; the last day counts."""

    start: date
    end: date

    def has_passed(self, today: date) -> bool:
        """True when no day of it is left."""
        return self.end < today

    def ends_soon(self, today: date) -> bool:
        """True when less than a week of it is left."""
        return not self.has_passed(today) and self.end - today < SOON

    def shifted(self, today: date) -> Window:
        """As long, beginning today."""
        return Window(start=today, end=today + (self.end - self.start))


def asked_window(
    *, fulfilment: str, filed_on: date, wanted_by: date | None, days: int | None
) -> Window | None:
    """The window of an ask; None for what is wanted for good or as soon as possible.

    A day that was named begins it. A boost is for a deadline, so without such a day it begins when it was filed; a lease
    without one begins whenever it is granted.
    """
    if days is None:
        return None
    start = wanted_by if wanted_by is not None else filed_on if fulfilment == "quota_boost" else None
    return None if start is None else Window(start=start, end=start + timedelta(days=days))
