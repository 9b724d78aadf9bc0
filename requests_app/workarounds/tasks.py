"""Celery shell of the workarounds room."""

from __future__ import annotations

from celery import shared_task

from requests_app.workarounds import expiry


@shared_task(name="workarounds.sweep")
def sweep() -> int:
    """Warn, end, begin and count what is due."""
    return expiry.sweep()
