"""Celery shells of retention: once a day what is old goes, and every worker tidies up its own disk."""

from __future__ import annotations

import logging
from dataclasses import asdict
from typing import Any

from celery import shared_task
from celery.signals import worker_ready
from django.db import connection

logger = logging.getLogger(__name__)

EVERY_HOUR = 3600.0


@shared_task(name="retention.retire", acks_late=True)
def retire() -> dict[str, int]:
    """Let go what the three clocks say, and make the coming months' parts."""
    from provisioning.retention import services  # noqa: PLC0415 - models are not ready when Celery looks for tasks

    return asdict(services.retire())


@worker_ready.connect
def tidy_up(sender: Any, **_: Any) -> None:
    """Overflow lies with the worker that wrote it."""
    sender.timer.call_repeatedly(EVERY_HOUR, _sweep_quietly)


def _sweep_quietly() -> None:
    from provisioning.retention import services  # noqa: PLC0415 - as above

    try:
        services.sweep_overflow()
    except Exception as problem:  # noqa: BLE001 - whatever it is, the worker goes on and looks again
        logger.warning("old overflow could not be looked for (%s)", problem)
    finally:
        connection.close()
