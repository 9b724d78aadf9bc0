"""Celery shells of the desk."""

from __future__ import annotations

import logging

from celery import shared_task

from requests_app.triage import bulk, presence, undo

logger = logging.getLogger(__name__)


@shared_task(name="desk.run_bulk")
def run_bulk(run_id: int) -> bool:
    """Do what is left of a bulk run."""
    return bulk.work(run_id)


@shared_task(name="desk.sweep")
def sweep() -> int:
    """Go on with bulk runs that were cut off, and forget who looked and what could be taken back long ago."""
    presence.forget_old()
    undo.forget_old()
    runs = bulk.unfinished()
    for run_id in runs:
        bulk.work(run_id)
    return len(runs)


def ask_for(run_id: int) -> None:
    """Ring for a worker; without a broker the sweep comes by."""
    try:
        run_bulk.apply_async(args=(run_id,), retry=False, ignore_result=True)
    except Exception as problem:  # noqa: BLE001 - a broker may fail in any way; the row is the truth
        logger.warning("the broker can't be reached (%s); the sweep will do bulk run %s", problem, run_id)
