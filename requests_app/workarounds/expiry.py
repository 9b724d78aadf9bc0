"""What is due? Warnings, ends, beginnings, second tries and weeks that turn; found again and again, done once each.

Everything is found by what has not been done yet, never by today's date being a certain one: after days without a beat
the next sweep does the rest.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q

from portal.kernel.clock import now
from portal.kernel.errors import PortalError
from portal.kernel.units import say_span
from requests_app import events
from requests_app.priority.services import rank_ticket
from requests_app.workarounds import carrying_out
from requests_app.workarounds.kinds import Kind
from requests_app.workarounds.ladder import STEPS, due_steps
from requests_app.workarounds.models import Workaround
from requests_app.workarounds.queries import weeks_of
from requests_app.workarounds.states import HOLDING, ReplacementState, WorkaroundState
from requests_app.workarounds.telling import tell

logger = logging.getLogger(__name__)
MOST_AT_ONCE = 500
Turn = Callable[[Workaround, datetime], bool]


def sweep() -> int:
    """All of it; returns how many things were done."""
    return begin_due() + warn_due() + take_back_due() + try_stuck_again() + count_weeks()


def warn_due() -> int:
    """Say each step of the ladder once; returns how many were said."""
    soon = now() + timedelta(days=max(STEPS))
    due = Workaround.objects.holding().filter(expires_at__lte=soon, warned_days__gt=min(STEPS))
    return _each(due.order_by("expires_at").values_list("pk", flat=True), _warn)


def _warn(row: Workaround, at: datetime) -> bool:
    if row.status not in HOLDING:
        return False
    steps = due_steps(ends_at=row.expires_at, said=row.warned_days, at=at)
    left = row.expires_at - at
    for days in steps:
        tell(
            events.WORKAROUND_EXPIRING,
            row,
            days=days,
            left_seconds=int(left.total_seconds()),
            says=f"ends in {say_span(left)}" if left > timedelta(0) else "its time is over",
            by=None,
        )
    if steps:
        Workaround.objects.filter(pk=row.pk).update(warned_days=min(steps))
    return bool(steps)


def take_back_due() -> int:
    """Take back what is over, or replaced; a step by hand that nobody took never was. Returns how many began to end."""
    replaced = Q(replacement__status=ReplacementState.DONE)
    over = Q(expires_at__lte=now())
    due = Workaround.objects.filter(over | replaced, status__in=HOLDING)
    never = Workaround.objects.filter(
        over, status=WorkaroundState.APPLYING, kind=Kind.MANUAL
    ) | Workaround.objects.filter(over, status=WorkaroundState.PLANNED)
    ended = _each(due.order_by("expires_at").values_list("pk", flat=True), _end)
    return ended + _each(never.values_list("pk", flat=True), _never)


def _end(row: Workaround, at: datetime) -> bool:
    if row.status not in HOLDING:
        return False
    done = row.replacement is not None and row.replacement.status == ReplacementState.DONE
    if not done and row.expires_at > at:
        return False
    carrying_out.take_back(row, why=carrying_out.REPLACED if done else carrying_out.EXPIRED, by=None)
    return True


def _never(row: Workaround, at: datetime) -> bool:
    if row.status not in (WorkaroundState.PLANNED, WorkaroundState.APPLYING) or row.expires_at > at:
        return False
    carrying_out.finish(row, by=None, why=carrying_out.NEVER)
    return True


def begin_due() -> int:
    """Begin what was planned for now; what can't begin has failed, with its reason. Returns how many began or failed."""
    due = Workaround.objects.filter(
        status=WorkaroundState.PLANNED, starts_at__lte=now(), expires_at__gt=now()
    )
    return _each(due.values_list("pk", flat=True), _begin)


def _begin(row: Workaround, at: datetime) -> bool:
    if row.status != WorkaroundState.PLANNED:
        return False
    try:
        with transaction.atomic():
            carrying_out.begin(row, by=None)
    except PortalError as problem:
        row.refresh_from_db()
        carrying_out.refuse(row, why=problem.message)
    return True


def try_stuck_again() -> int:
    """Try again what waits for something that passes, such as a busy cluster; returns how many were tried."""
    due = Workaround.objects.filter(status=WorkaroundState.STUCK, retry_at__lte=now())
    return _each(due.values_list("pk", flat=True), _again)


def _again(row: Workaround, at: datetime) -> bool:
    if row.status != WorkaroundState.STUCK or row.retry_at is None or row.retry_at > at:
        return False
    carrying_out.take_back(row, why=row.ended_why, by=None, again=True)
    return True


def count_weeks() -> int:
    """Rank a ticket anew when an overdue week of its replacement has begun, once a week; returns how many were."""
    late = Workaround.objects.holding().filter(replacement__target_on__lt=now().date())
    return _each(late.values_list("pk", flat=True), _count_week)


def _count_week(row: Workaround, at: datetime) -> bool:
    weeks = weeks_of(row, at)
    if weeks == row.weeks_counted:
        return False
    Workaround.objects.filter(pk=row.pk).update(weeks_counted=weeks)
    if row.ticket.rank_key is not None:
        rank_ticket(ticket=row.ticket, by=None)
    return True


def _each(numbers: Iterable[int], turn: Turn) -> int:
    """Take each in a transaction of its own, locked and read again; one that can't go on keeps no other from it."""
    done = 0
    for number in list(numbers)[:MOST_AT_ONCE]:
        try:
            with transaction.atomic():
                rows = Workaround.objects.select_for_update(of=("self",)).for_pages()
                done += turn(rows.get(pk=number), now())
        except Exception:  # noqa: BLE001 - one workaround that can't go on must not keep the others from it
            logger.exception("workaround W-%s can't go on", number)
    return done
