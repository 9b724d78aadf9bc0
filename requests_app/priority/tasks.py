"""Celery shells of the priority room."""

from __future__ import annotations

from celery import shared_task

from requests_app.priority import overrides, reranking, shares, watch


@shared_task(name="priority.rerank")
def rerank() -> int:
    """Go on with re-ranks of everything."""
    return reranking.run_open()


@shared_task(name="priority.end_pins")
def end_pins() -> int:
    """End pins whose time is over."""
    return overrides.end_due_pins()


@shared_task(name="priority.refresh_shares")
def refresh_shares() -> int:
    """Compute the teams' shares."""
    return shares.refresh_shares()


@shared_task(name="priority.check_drift")
def check_drift() -> int:
    """Compare stored ranks with what the rule says now."""
    return len(watch.check_drift())


@shared_task(name="priority.turn_of_day")
def turn_of_day() -> int:
    """Rank what counts differently since midnight."""
    return watch.turn_of_day()


@shared_task(name="priority.watch_crunch")
def watch_crunch() -> int:
    """Look whether more comes in than goes out."""
    return len(watch.watch_crunch())
