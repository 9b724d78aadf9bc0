"""How does a job end when nobody who runs it answers? By force: its attempt is fenced now, whoever holds it and however long.

What runs of it is ended by whoever can reach it: its worker, which hears that it is fenced, or the sweep of its machine. On
a machine that is gone it ends itself. Until one of these is sure, its nodes are not even looked at: a playbook between two
tasks leaves nothing on a node to be found, and would begin the next one.
"""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from pathlib import Path

from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection, transaction
from django.db.models.functions import Now

from portal.accounts.models import User
from portal.kernel.clock import now
from portal.kernel.errors import Invalid
from portal.ledger.services import record
from provisioning.events import JOB_FORCED
from provisioning.jobs import claims, draining, finishing, salvage, workspace
from provisioning.jobs.containment import kill_leftovers
from provisioning.jobs.deciders import only_operators
from provisioning.jobs.models import Job
from provisioning.jobs.preparation import is_over_after, owner
from provisioning.jobs.rowlock import locked_for_sure
from provisioning.jobs.states import OWNED, JobAction, JobState, Reason
from provisioning.jobs.tallying import summary

logger = logging.getLogger(__name__)

LONGEST_REASON = 200


def force_stop(job: Job, *, reason: str, by: User | None) -> Job:
    """End `job` as cancelled now, also when its worker is frozen, cut off or gone; one that has ended stays as it is.

    Raises NotAllowed; Invalid when a person gives no reason.
    """
    said = check_may_force(job, reason=reason, by=by)
    with transaction.atomic():
        job = locked_for_sure(job.pk)
        return job if job.is_ended else _end(job, said, by)


def check_may_force(job: Job, *, reason: str, by: User | None) -> str:
    """The reason as it is kept; raises as `force_stop` does."""
    only_operators(by)
    said = one_line(reason)
    if by is not None and not said and not job.is_ended:
        raise Invalid({"reason": ["Say why it can't be stopped in the ordinary way; the ledger keeps it."]})
    return said


def one_line(text: str) -> str:
    """A reason as it is kept: printable, on one line, no longer than LONGEST_REASON."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())[:LONGEST_REASON]


def say_stopped(job: Job) -> str:
    """What became of a wish to stop a job, for whoever wished it."""
    if job.reason == Reason.FORCED:
        return f"{job.ref} was stopped by force. Its nodes drain until they are seen quiet."
    if job.status == JobState.CANCELLED:
        return f"{job.ref} was cancelled."
    if job.is_ended:
        return f"{job.ref} had ended before: there was nothing to stop."
    return f"{job.ref} is being stopped."


def _end(job: Job, said: str, by: User | None) -> Job:
    drains, until, worker = job.status == JobState.RUNNING, sure_at(job), job.claimed_by
    Job.objects.filter(pk=job.pk).update(
        forced_at=Now(), forced_by=by, cancel_reason=said or job.cancel_reason
    )
    job.refresh_from_db()
    tell(job, said, drains=drains, by=by)
    text = f"It was stopped by force: {said}" if said else "It was stopped by force."
    job = finishing.end_job(job, JobAction.CANCEL, reason=Reason.FORCED, text=text, drains=drains, by=by)
    if drains:
        draining.wait_for_end(job, until=until)
    logger.warning("%s attempt %s of %s was stopped by force", job.ref, job.attempt, worker)
    return job


def tell(job: Job, said: str, *, drains: bool, by: User | None) -> None:
    """Somebody stopped it by force; `drains`: nodes of it will."""
    told = {**summary(job), "why": said, "worker": job.claimed_by, "drains": drains}
    record(JOB_FORCED, subject=job.ref, payload=told, by=by)


def sure_at(job: Job) -> datetime:
    """When the attempt has ended itself wherever it runs, if nobody ends it before."""
    return max(job.lease_until or now(), now()) + ends_itself_within()


def ends_itself_within() -> timedelta:
    """How long after its lease an attempt of which nobody hears may still run, on whichever machine."""
    return timedelta(seconds=is_over_after(claims.lease_span().total_seconds()))


def end_unheld() -> int:
    """End what runs on this machine of attempts that nobody holds any more; how many those were."""
    here = {
        folder.name: folder
        for folder in workspace.leftovers(Path(settings.JOBS_DIR), owner=owner())
        if workspace.attempt_of(folder.name) is not None
    }  # a folder is made after its claim was committed, so whoever holds it is found
    held = Job.objects.filter(mark__in=here, status__in=OWNED).values_list("mark", flat=True)
    return sum(_bury(mark) for mark in sorted(here.keys() - set(held)))


def _bury(mark: str) -> bool:
    space = workspace.at(Path(settings.JOBS_DIR) / mark)
    if not (workspace.is_alive(space) or draining.waits_for_end(mark)):
        return False
    if not has_ended(mark):
        return False
    salvage.and_remove(space)
    return True


def has_ended(mark: str) -> bool:
    """On the machine of an attempt that nobody holds: nothing of it runs here any more, so that its nodes may be looked at."""
    if not kill_leftovers(mark):
        logger.error("what attempt %s started can't be ended on this machine", mark)
        return False
    try:
        draining.look_now(mark)
    except (DatabaseError, InterfaceError) as problem:
        logger.warning(
            "%s has ended, which could not be told (%s); its nodes wait a while longer", mark, problem
        )
        connection.close()
    return True
