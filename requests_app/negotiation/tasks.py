"""Celery shells of the negotiation room."""

from __future__ import annotations

from celery import shared_task

from requests_app.negotiation import due, services


@shared_task(name="negotiation.lapse")
def lapse() -> int:
    """End offers that nobody answered in time."""
    return services.lapse_due_offers()


@shared_task(name="negotiation.keep")
def keep() -> int:
    """Place the orders and grants whose promised day has come."""
    return due.keep_due_promises()
