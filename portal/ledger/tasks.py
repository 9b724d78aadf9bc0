"""Celery shells of the dispatch."""

from __future__ import annotations

from celery import shared_task

from portal.ledger import dispatch


@shared_task(name="ledger.deliver", acks_late=True)
def deliver() -> int:
    """Deliver what is due."""
    return dispatch.deliver_pending()
