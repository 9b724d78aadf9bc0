"""Celery shells of the search."""

from __future__ import annotations

from celery import shared_task

from requests_app.search import services


@shared_task(name="search.catch_up")
def catch_up() -> int:
    """Index what came in without an event."""
    return services.index_missing()
