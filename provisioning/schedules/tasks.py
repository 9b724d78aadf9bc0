"""Celery shell of schedules: the tick."""

from __future__ import annotations

from celery import shared_task


@shared_task(name="schedules.tick", acks_late=True)
def tick() -> int:
    """Run what is due."""
    from provisioning.schedules import services  # noqa: PLC0415 - models are not ready when Celery looks for tasks

    count: int = services.tick()
    return count
