"""Celery shells of the clocks room."""

from __future__ import annotations

from celery import shared_task

from requests_app.clocks import services


@shared_task(name="clocks.sweep")
def sweep() -> int:
    """Say which clocks are at risk or missed, each once."""
    return services.sweep()
