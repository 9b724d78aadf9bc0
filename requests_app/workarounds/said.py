"""May this be said? What people write about workarounds, tidied; Invalid with the field otherwise."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal, InvalidOperation

from portal.kernel.errors import Invalid
from requests_app.catalogue import texts
from requests_app.tickets.wording import text_of

__all__ = ["days_of", "hours_of", "line_of", "monday_of", "share_of", "start_of", "target_of", "text_of"]

LONGEST_DAYS = 92
"""A workaround's term, and the time until its replacement: three months at most."""
MOST_HOURS = Decimal(168)


def line_of(name: str, text: str, *, needed: bool = True, limit: int = texts.SHORT) -> str:
    """One line."""
    return text_of(name, text, needed=needed, limit=limit, lines=False, missing="Say it in a line.")


def days_of(name: str, days: int) -> int:
    """A term in whole days."""
    if not 1 <= days <= LONGEST_DAYS:
        raise Invalid({name: [f"From 1 to {LONGEST_DAYS} days."]})
    return days


def hours_of(name: str, hours: Decimal | float | str) -> Decimal:
    """Hours a week, in hundredths."""
    try:
        found = Decimal(str(hours))
    except InvalidOperation as problem:
        raise Invalid({name: ["A number of hours is expected."]}) from problem
    if not found.is_finite() or not 0 <= found <= MOST_HOURS:
        raise Invalid({name: [f"From 0 to {MOST_HOURS} hours a week."]})
    return found.quantize(Decimal("0.01"))


def share_of(name: str, share: float) -> float:
    """What remains of a loss, from 0 (nothing) to 1 (all of it)."""
    if not 0 <= share <= 1:
        raise Invalid({name: ["From 0 (nothing remains) to 1 (all of it remains)."]})
    return float(share)


def target_of(name: str, day: date, *, since: date, today: date) -> date:
    """A project's target: to come, and within three months of its beginning."""
    latest = since + timedelta(days=LONGEST_DAYS)
    if not today < day <= latest:
        raise Invalid(
            {name: [f"From tomorrow to {latest:%d %B %Y}: a replacement takes three months at most."]}
        )
    return day


def monday_of(day: date) -> date:
    """The Monday of its week."""
    return day - timedelta(days=day.weekday())


def start_of(name: str, at: datetime, *, now: datetime) -> datetime:
    """When it begins: now or within three months."""
    if at.tzinfo is None or at > now + timedelta(days=LONGEST_DAYS):
        raise Invalid({name: ["A time within three months, with its time zone."]})
    return max(at, now)
