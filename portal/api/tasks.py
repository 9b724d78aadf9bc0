"""Celery shells of the API."""

from __future__ import annotations

from celery import shared_task

from portal.api import idempotency


@shared_task(name="api.forget_answers")
def forget_answers() -> int:
    """Forget answers that were kept long enough."""
    return idempotency.forget_old()
