"""How does a worker hear that a job waits? By a message that may be lost or doubled without harm."""

from __future__ import annotations

import logging
from datetime import timedelta
from functools import partial

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now

from provisioning.jobs import tasks
from provisioning.jobs.models import Job
from provisioning.jobs.states import JobState

logger = logging.getLogger(__name__)

FIRST_WAIT = timedelta(seconds=5)
LONGEST_WAIT = timedelta(seconds=30)
FORGOTTEN = 300
"""Seconds after which a message that nobody took says nothing any more: later ones have come."""


def ring_on_commit(job: Job) -> None:
    """Ring when this transaction has committed."""
    transaction.on_commit(partial(ring, job.pk))


def ring(job_id: int) -> bool:
    """Ring now; False when there is no broker. Nothing is lost by that: the sweep rings again."""
    job = Job.objects.filter(pk=job_id, status=JobState.QUEUED).first()
    if job is None:
        return True
    try:
        tasks.run.apply_async((job.ref,), queue=job.queue, retry=False, ignore_result=True, expires=FORGOTTEN)
    except Exception as problem:  # noqa: BLE001 - a broker may fail in any way; the row is the truth
        logger.warning("the broker can't be reached (%s); the sweep will ring for %s", problem, job.ref)
        return False
    Job.objects.filter(pk=job_id).update(announced_at=Now(), announced_times=F("announced_times") + 1)
    return True


def wait_before_ringing_again(times: int) -> timedelta:
    """Longer each time, so that a long queue does not fill the broker with bells."""
    doublings = min(max(times - 1, 0), 10)
    return min(FIRST_WAIT * (1 << doublings), LONGEST_WAIT)
