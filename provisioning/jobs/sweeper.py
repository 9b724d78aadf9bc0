"""Which jobs did nobody hear of, and which lost their worker? Looked for every few seconds by whoever can."""

from __future__ import annotations

import logging
import time
from datetime import timedelta
from pathlib import Path

from django.conf import settings

from portal.kernel.clock import now
from provisioning.jobs import (
    adoption,
    bell,
    checkout,
    claims,
    dispatch,
    draining,
    forcing,
    rollouts,
    salvage,
    workspace,
)
from provisioning.jobs.models import Job
from provisioning.jobs.preparation import owner
from provisioning.jobs.states import OWNED

logger = logging.getLogger(__name__)

OLD_FOLDER = timedelta(minutes=10)
OLD_LOOK = timedelta(minutes=3)
AT_ONCE = 50


def sweep() -> int:
    """Settle what a lost worker left, ring for what waits unheard, tidy up; how many jobs it touched."""
    settled = adoption.settle_lost() + forcing.end_unheld()
    mended = rollouts.mend()
    rung = ring_unheard()
    draining.ring_when_due()
    remove_old_folders()
    checkout.remove_old()
    return settled + mended + rung


def ring_unheard() -> int:
    """Ring for jobs that could run and were not announced lately; keep the others' sentences true."""
    rung = 0
    for queue in dispatch.queues():
        found = dispatch.decision(queue)
        for job_id, text in found.why.items():
            claims.say(job_id, text)
        ready = Job.objects.filter(pk__in=found.runnable[:AT_ONCE]).only(
            "pk", "announced_at", "announced_times"
        )
        by_id = {job.pk: job for job in ready}
        for job_id in found.runnable[:AT_ONCE]:
            job = by_id.get(job_id)
            if job is None:
                continue
            claims.say(job_id, "")
            wait = bell.wait_before_ringing_again(job.announced_times)
            if job.announced_at is None or job.announced_at < now() - wait:
                if not bell.ring(job.pk):
                    return rung  # each try without a broker costs seconds
                rung += 1
    return rung


def remove_old_folders() -> None:
    """Folders that a killed worker could not remove."""
    for folder in workspace.leftovers(Path(settings.JOBS_DIR), owner=owner()):
        try:
            age = OLD_LOOK if workspace.attempt_of(folder.name) is None else OLD_FOLDER
            old = time.time() - folder.stat().st_mtime > age.total_seconds()
        except OSError:
            continue
        if old and not Job.objects.filter(mark=folder.name, status__in=OWNED).exists():
            salvage.and_remove(workspace.at(folder))
