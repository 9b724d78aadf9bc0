"""Celery shells of the quotas room."""

from __future__ import annotations

import logging

from celery import shared_task

from requests_app.quotas import queries, services

logger = logging.getLogger(__name__)


@shared_task(name="quotas.end_boosts")
def end_boosts() -> int:
    """Take back what was lent for a time that is over."""
    return services.end_due_boosts()


@shared_task(name="quotas.prove")
def prove() -> int:
    """Compare ledger and counters; each drift is an error in the log."""
    found = queries.drifts()
    for drift in found:
        logger.error("quota drift: %s", drift)
    return len(found)
