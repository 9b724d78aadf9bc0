"""Which month does a job belong to? Its first day; all events of a job lie in that month's part of the table."""

from __future__ import annotations

from datetime import date, datetime

from portal.kernel.clock import now


def first_of_month(at: datetime | date) -> date:
    """The first day of the month that `at` lies in."""
    return date(at.year, at.month, 1)


def this_month() -> date:
    """The first day of this month, in UTC."""
    return first_of_month(now())


def after(month: date, months: int = 1) -> date:
    """The first day of the month `months` later; a negative number looks back."""
    count = month.year * 12 + month.month - 1 + months
    return date(count // 12, count % 12 + 1, 1)
