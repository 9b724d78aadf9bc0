"""Which promises are due, which are overdue, and how many were kept on the day that was promised first?"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import date, timedelta

from django.db.models import F, Q
from django.db.models.functions import TruncDate

from portal.accounts.models import User
from portal.kernel.clock import now
from portal.kernel.errors import PortalError
from requests_app.negotiation import fulfilment
from requests_app.negotiation.models import Promise, PromiseQuerySet
from requests_app.negotiation.promises import keep_promise
from requests_app.negotiation.states import LIVING, PromiseState

logger = logging.getLogger(__name__)
RETRY_AFTER = timedelta(hours=1)
BY_ITSELF = fulfilment.BY_ORDER | fulfilment.AT_ONCE


def keep_due_promises() -> int:
    """Set off what an order or a grant can keep and whose day has come; returns how many. What is refused is tried again later."""
    at = now()
    fresh = Q(tried_at=None) | Q(tried_at__lte=at - RETRY_AFTER)
    due = Promise.objects.filter(
        fresh, status=PromiseState.OPEN, due_on__lte=at.date(), line__fulfilment__in=BY_ITSELF
    )
    kept = 0
    for promise in due.select_related("line"):
        try:
            keep_promise(promise=promise, version=promise.version, by=None)
        except PortalError as refusal:
            logger.warning("promise %s can't be kept now: %s", promise.pk, refusal.message)
            Promise.objects.filter(pk=promise.pk).update(tried_at=at)
        else:
            kept += 1
    return kept


def overdue_promises(user: User) -> PromiseQuerySet:
    """Promises this person may see whose day has passed, longest overdue first; the desk shows them to whoever decides."""
    rows = Promise.objects.visible_to(user).filter(status__in=LIVING, due_on__lt=now().date())
    return rows.select_related("line__ticket__team").order_by("due_on", "id")


@dataclass(frozen=True, kw_only=True)
class PromiseRate:
    """Promises whose FIRST day fell into a time: how many, and how many were kept by then."""

    due: int
    kept: int

    @property
    def share(self) -> float | None:
        """The share that was kept, in [0, 1]; None when none was due."""
        return None if self.due == 0 else self.kept / self.due


def promise_rate(since: date, until: date) -> PromiseRate:
    """Of the promises first made for a day from `since` to before `until` that has passed: those kept on or before it.

    A moved promise counts once, by its first day, and a cancelled one as not kept.
    """
    last = min(until, now().date() + timedelta(days=1))
    ends = Promise.objects.exclude(status=PromiseState.MOVED)
    rows = ends.filter(first_due_on__gte=since, first_due_on__lt=last)
    on_time = rows.filter(status=PromiseState.KEPT).alias(day=TruncDate("kept_at"))
    return PromiseRate(due=rows.count(), kept=on_time.filter(day__lte=F("first_due_on")).count())
