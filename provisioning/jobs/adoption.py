"""What becomes of an attempt whose worker is gone? Its child goes on with a keeper; without a child its record is concluded.

A keeper is a process of its own that follows one child to its end. It needs no slot of a worker: a child that went on
while all slots were taken by newer jobs would have to be stopped for nothing.
"""

from __future__ import annotations

import logging
import subprocess
from pathlib import Path

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now

from portal.config import environment_for
from portal.kernel.errors import PortalError
from provisioning.jobs import claims, finishing, forcing, rowlock, salvage, workspace
from provisioning.jobs.attempts import Attempt
from provisioning.jobs.claims import Adopted, Claim, Fenced
from provisioning.jobs.containment import kill_leftovers
from provisioning.jobs.models import Job
from provisioning.jobs.states import OWNED, JobAction, JobState, Reason
from provisioning.workers.machine import machine_name
from provisioning.workers.routing import machine_of

logger = logging.getLogger(__name__)

MOST_ADOPTIONS = 5
"""So often an attempt is taken over. One whose every keeper dies is the cause of it, and is ended."""
AT_ONCE = 50
_keepers: list[subprocess.Popen[bytes]] = []
"""Those that this process started, so that it takes note of their end."""


def settle_lost() -> int:
    """Take over or end every job whose lease ran out; how many those were."""
    expired = Job.objects.filter(status__in=OWNED, lease_until__lt=Now()).values_list("pk", flat=True)
    settled = sum(_settle_one(job_id) for job_id in list(expired[:AT_ONCE]))
    _free_rows_of_frozen_workers()
    return settled


def _free_rows_of_frozen_workers() -> None:
    """A worker that froze in the middle of a write keeps its job's row: nobody could ever settle it."""
    late = Job.objects.filter(status__in=OWNED, lease_until__lt=Now() - claims.lease_span())
    for job_id in list(late.values_list("pk", flat=True)[:AT_ONCE]):
        rowlock.free(job_id, idle=claims.lease_span().total_seconds())


def _settle_one(job_id: int) -> int:
    with transaction.atomic():
        job = (
            Job.objects.select_for_update(skip_locked=True, no_key=True)
            .filter(pk=job_id, status__in=OWNED, lease_until__lt=Now())
            .first()
        )
        if job is None:
            return 0
        if may_be_followed(job):
            held = claims.adopt(job, worker=claims.worker_name())
            logger.warning(
                "%s attempt %s lost its worker %s; it is taken over", job.ref, job.attempt, job.claimed_by
            )
            transaction.on_commit(lambda: start_keeper(held))
            return 1
        return int(is_over(job) and end_lost(job))


def is_ours(job: Job) -> bool:
    """True when the job was claimed on this machine."""
    return machine_of(job.claimed_by) == machine_name()


def may_be_followed(job: Job) -> bool:
    """True when its child was started on this machine and left something to follow."""
    folder = Path(settings.JOBS_DIR) / job.mark
    return (
        job.status == JobState.RUNNING
        and is_ours(job)
        and job.adoptions < MOST_ADOPTIONS
        and workspace.at(folder).lock.exists()
    )


def is_over(job: Job) -> bool:
    """True when nothing of the attempt can run any more on the portal's machines, or can be ended here.

    One that was only claimed was never told to begin. One of another machine has ended itself when it was not heard of
    for long enough.
    """
    if job.status == JobState.CLAIMED or is_ours(job):
        return True
    late = Now() - forcing.ends_itself_within()
    return Job.objects.filter(pk=job.pk, lease_until__lt=late).exists()


def end_lost(job: Job) -> bool:
    """End a locked job whose worker is gone, and all that is left of it on this machine; False when that survived."""
    if not kill_leftovers(job.mark):
        logger.error("%s lost its worker, and what it started can't be ended on this machine", job.ref)
        return False
    salvage.before_end(job)
    drains = job.status != JobState.CLAIMED
    if job.cancel_requested_at is not None:
        text = "It was cancelled; its worker was gone by then."
        finishing.end_job(job, JobAction.CANCEL, reason=Reason.USER, text=text, drains=drains)
    else:
        text = f"Its worker ({job.claimed_by}) was lost."
        finishing.end_job(job, JobAction.LOSE, reason=Reason.WORKER_LOST, text=text, drains=drains)
    if is_ours(job):
        transaction.on_commit(workspace.at(Path(settings.JOBS_DIR) / job.mark).remove)
    logger.warning(
        "%s attempt %s lost its worker %s; it is %s now", job.ref, job.attempt, job.claimed_by, job.status
    )
    return True


def start_keeper(held: Claim) -> None:
    """Start the process that follows the child. If it can't, the next sweep after the lease tries again."""
    words = [*settings.JOB_KEEPER, str(held.job_id), str(held.attempt), held.mark, str(held.step)]
    _keepers[:] = [keeper for keeper in _keepers if keeper.poll() is None]
    try:
        _keepers.append(
            subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                cwd=settings.BASE_DIR,
                env=environment_for(),
                start_new_session=True,
            )
        )
    except OSError as problem:
        logger.error("no keeper for job %s can be started: %s", held.job_id, problem)


def keep(held: Claim) -> str:
    """Follow an attempt that was taken over to its end; its status then, `fenced` or `adopted` when it was taken from us."""
    try:
        return Attempt(held).take_over()
    except Adopted:
        return "adopted"
    except Fenced:
        forcing.has_ended(held.mark)
        return "fenced"
    except PortalError as problem:
        logger.error("job %s can't be followed: %s", held.job_id, problem)
        with transaction.atomic():
            job = claims.ours(held)
            end_lost(job)
            return str(job.status)


def hand_back(host: str, pid: int) -> int:
    """The worker `pid` on `host` is going to stop: its jobs are asked to end and to be queued again; how many those are."""
    its = Q(claimed_by__startswith=f"{host}:{pid}/") | Q(
        claimed_by__endswith=f"/{pid}", claimed_by__startswith=f"{host}:"
    )
    return Job.objects.filter(its, status__in=OWNED).update(hand_back=True)
