"""Celery shells of the files."""

from __future__ import annotations

from celery import shared_task

from requests_app.attachments import services


@shared_task(name="attachments.sweep")
def sweep() -> int:
    """Clear away what a crash left."""
    return services.sweep()
