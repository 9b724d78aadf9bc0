"""Whose is a job? Claimed with its nodes in one transaction, held by a lease on the database's clock, fenced by its attempt."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from datetime import timedelta

from django.db import IntegrityError, connection, transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from portal.config import config
from portal.kernel.errors import LostRace
from portal.kernel.moves import move
from provisioning.jobs import dispatch, routes
from provisioning.jobs.models import HostResult, Job, NodeLease
from provisioning.jobs.states import JOB_MACHINE, OWNED, JobAction, JobState
from provisioning.jobs.workspace import new_mark
from provisioning.workers.machine import machine_name

CLAIM_TRIES = 50
CLAIM_WAIT = 0.02


class Fenced(Exception):
    """The attempt is not ours any more: whoever notices stops its child and writes nothing."""


class Adopted(Fenced):
    """The attempt goes on in other hands: whoever notices leaves its child and its folder alone and writes nothing."""


class NodesBusy(Exception):
    """Another job has a node of this one."""


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A job that is ours as long as the lease is renewed. `attempt` and `step` are the fencing token.

    `step` counts how often the attempt was taken over.
    """

    job_id: int
    attempt: int
    mark: str
    lease: timedelta
    step: int = 0


@dataclass(frozen=True, kw_only=True)
class Wishes:
    """What others want of a running job."""

    cancel: bool
    hand_back: bool


def worker_name() -> str:
    """Who claims: `machine:parent/process`, so that a worker can name all its pool's processes."""
    return f"{machine_name()}:{os.getppid()}/{os.getpid()}"


def lease_span() -> timedelta:
    """How long a worker may be silent before its job is taken over."""
    return timedelta(seconds=config().job_lease_seconds)


def next_runnable(queue: str) -> int | None:
    """The queued job that should run next, by the rules of `queueing.py`; None when none may."""
    return next(iter(dispatch.decision(queue).runnable), None)


def claim(job_id: int, *, worker: str) -> Claim | None:
    """Take a queued job and all its nodes, or nothing; None when there is nothing to take."""
    try:
        with transaction.atomic():
            return _claim(job_id, worker)
    except LostRace:
        return None
    except NodesBusy:
        say_what_it_waits_for(job_id)
        return None


def _claim(job_id: int, worker: str) -> Claim | None:
    _one_at_a_time()
    job = Job.objects.filter(pk=job_id, status=JobState.QUEUED).select_related("order").first()
    if job is None or routes.follow(job) or not dispatch.has_slot(job):
        return None
    attempt, mark = job.attempt + 1, new_mark(job.pk, job.attempt + 1)
    changes = {
        "attempt": attempt,
        "mark": mark,
        "claimed_by": worker,
        "lease_until": Now() + lease_span(),
        "hand_back": False,
        "adoptions": 0,
        "waiting_for": "",
        "forks": None,
    }
    move(job, JobAction.CLAIM, machine=JOB_MACHINE, extra=changes)
    nodes = (
        HostResult.objects.filter(job=job, attempt=attempt)
        .order_by("node_id")
        .values_list("node_id", flat=True)
    )
    leases = [NodeLease(node_id=node, job_id=job.pk, attempt=attempt, mark=mark) for node in nodes]
    try:
        with transaction.atomic():
            NodeLease.objects.bulk_create(
                leases
            )  # in the order of nodes, so that two claims never wait in a ring
    except IntegrityError as problem:
        raise NodesBusy from problem
    return Claim(job_id=job.pk, attempt=attempt, mark=mark, lease=lease_span())


def _one_at_a_time() -> None:
    """Two claims at once would both see the last free slot, and the one that is kept would go to an ordinary job.

    A process that was frozen in the middle of its claim holds up the others for a second, not for ever: who gets a slot is
    a matter of fairness, and whose a node is is kept by the database anyway.
    """
    for _ in range(CLAIM_TRIES):
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_try_advisory_xact_lock(hashtext('jobs: claim'))")
            if cursor.fetchone() == (True,):
                return
        time.sleep(CLAIM_WAIT)


def say_what_it_waits_for(job_id: int) -> None:
    """Keep one sentence with a queued job that says what it waits for."""
    queue = Job.objects.filter(pk=job_id, status=JobState.QUEUED).values_list("queue", flat=True).first()
    if queue is not None:
        say(job_id, dispatch.decision(queue).why.get(job_id, ""))


def say(job_id: int, text: str) -> None:
    """Keep `text` with a queued job as what it waits for."""
    kept = Job.objects.filter(pk=job_id, status=JobState.QUEUED).exclude(waiting_for=text)
    if not text:
        kept = kept.exclude(
            waiting_for__startswith="Runs again"
        )  # that says why it waits for a worker a second time
    kept.update(waiting_for=text[:300])


def _held(held: Claim) -> QuerySet[Job]:
    return Job.objects.filter(
        pk=held.job_id, attempt=held.attempt, mark=held.mark, adoptions=held.step, status__in=OWNED
    )


def _taken(held: Claim) -> Fenced:
    """Why it is not ours any more."""
    goes_on = Job.objects.filter(
        pk=held.job_id, attempt=held.attempt, mark=held.mark, adoptions__gt=held.step, status__in=OWNED
    )
    return Adopted() if goes_on.exists() else Fenced()


def ours(held: Claim) -> Job:
    """The job's row, locked; Fenced when the attempt is not ours any more. Every write begins with it."""
    job = _held(held).select_for_update(no_key=True).first()
    if job is None:
        raise _taken(held)
    return job


_RENEW = """
    UPDATE {table} SET lease_until = statement_timestamp() + make_interval(secs => %s)
    WHERE id = %s AND attempt = %s AND mark = %s AND adoptions = %s AND status = ANY(%s)
    RETURNING cancel_requested_at IS NOT NULL, hand_back
"""


def renew(held: Claim) -> Wishes:
    """Stay alive, and hear what others want, in one statement. Fenced when it was taken over."""
    with connection.cursor() as cursor:
        cursor.execute(
            _RENEW.format(table=connection.ops.quote_name(Job._meta.db_table)),
            [held.lease.total_seconds(), held.job_id, held.attempt, held.mark, held.step, sorted(OWNED)],
        )
        row = cursor.fetchone()
    if row is None:
        raise _taken(held)
    return Wishes(cancel=row[0], hand_back=row[1])


def wishes(held: Claim) -> Wishes:
    """The same, without renewing: a look that costs nothing."""
    row = _held(held).values_list("cancel_requested_at", "hand_back").first()
    if row is None:
        raise _taken(held)
    return Wishes(cancel=row[0] is not None, hand_back=row[1])


def let_go(held: Claim) -> Adopted:
    """The worker goes and its child goes on: whoever sweeps next on this machine takes it over. To be raised."""
    if not _held(held).update(lease_until=Now(), hand_back=False):
        raise _taken(held)
    return Adopted()


def adopt(job: Job, *, worker: str) -> Claim:
    """Take over a locked job whose lease ran out, with a new fencing step; its attempt goes on."""
    step = job.adoptions + 1
    Job.objects.filter(pk=job.pk).update(
        adoptions=step, claimed_by=worker, lease_until=Now() + lease_span(), hand_back=False
    )
    return Claim(job_id=job.pk, attempt=job.attempt, mark=job.mark, lease=lease_span(), step=step)
