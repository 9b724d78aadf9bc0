"""Celery shells of orders."""

from __future__ import annotations

from celery import shared_task

from provisioning.orders import sweeping


@shared_task(name="orders.sweep")
def sweep() -> int:
    """Go on where an event was lost, and warn of leases that end."""
    return sweeping.sweep() + sweeping.warn_of_lease_ends()
