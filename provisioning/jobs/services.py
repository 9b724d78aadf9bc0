"""What can be asked of jobs? A new one, its end, and the rest of one that did not reach every node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.db.models.functions import Now

from portal.kernel.errors import Refused
from portal.ledger.services import record
from provisioning.events import JOB_CANCEL_REQUESTED, JOB_QUEUED
from provisioning.fleet.models import Node
from provisioning.fleet.sites import NOWHERE
from provisioning.jobs import bell, finishing, forcing, rollouts, routes
from provisioning.jobs.deciders import only_operators
from provisioning.jobs.fields import cluster_ref as read_cluster_ref
from provisioning.jobs.forcing import LONGEST_REASON, one_line
from provisioning.jobs.models import HostResult, Job
from provisioning.jobs.playbooks import Playbook, read_variables
from provisioning.jobs.playbooks import playbook as find_playbook
from provisioning.jobs.rowlock import locked_for_sure
from provisioning.jobs.states import ENDED, JOB_MACHINE, Ending, JobAction, JobState, Reason
from provisioning.jobs.supervisor import drain_queue, run_claimed
from provisioning.jobs.sweeper import sweep
from provisioning.jobs.tallying import summary
from provisioning.jobs.waves import Asked, Plan
from provisioning.jobs.waves import plan as plan_waves
from provisioning.workers.routing import Work, queue_of

if TYPE_CHECKING:
    from portal.accounts.models import User
    from provisioning.orders.models import Order

__all__ = [
    "LONGEST_REASON",
    "cancel_job",
    "drain_queue",
    "force_stop",
    "relaunch_remaining",
    "request_job",
    "resume_job",
    "run_claimed",
    "sweep",
]


@transaction.atomic
def request_job(
    *,
    playbook: str,
    nodes: Sequence[Node],
    variables: Mapping[str, Any],
    purpose: str,
    order: Order | None = None,
    cluster_ref: str = "",
    priority: int = 0,
    relaunch_of: Job | None = None,
    asked: Asked | None = None,
    by: User | None,
) -> Job:
    """Queue a run of `playbook` on exactly these nodes; higher `priority` runs first.

    More nodes than one worker gets at once are run as shards of one job; `asked` cuts them into waves first, in the order
    in which they are named. A node named twice counts once. Raises Refused for an unknown playbook, no node, nodes of
    several sites in one run, or waves of what can't be cut, Invalid for variables that the playbook can't be told.
    """
    book = find_playbook(playbook)
    told = read_variables(book, variables)
    chosen = list(dict.fromkeys(node.pk for node in nodes))
    if not chosen:
        raise Refused("A job needs at least one node.", code="no-nodes")
    plan = _plan(book, chosen, asked, order)
    site = routes.one_site(nodes) if plan is None else NOWHERE  # shards are made site by site
    job = Job.objects.create(
        status=JOB_MACHINE.initial,
        playbook=book.name,
        purpose=purpose[:200],
        order=order,
        cluster_ref=_cluster_ref(cluster_ref),
        variables=told,
        created_by=by,
        queue=queue_of(Work(book.queue), site),
        priority=priority,
        max_attempts=book.max_attempts if book.idempotent else 1,
        relaunch_of=relaunch_of,
        plan=None if plan is None else plan.as_data(),
        wave=None if plan is None else 1,
        attempt=0 if plan is None else 1,
    )
    HostResult.objects.bulk_create([HostResult(job=job, attempt=1, node_id=node) for node in sorted(chosen)])
    if plan is None:
        bell.ring_on_commit(job)
    else:
        rollouts.begin(job)
    record(JOB_QUEUED, subject=job.ref, payload=summary(job), by=by)
    return job


def _plan(book: Playbook, nodes: Sequence[int], asked: Asked | None, order: Order | None) -> Plan | None:
    """How a job is cut into waves and shards; None for one that is run at once by one worker."""
    if asked is None and (book.shard_nodes is None or len(nodes) <= book.shard_nodes):
        return None
    if asked is not None and book.shard_nodes is None:
        raise Refused(
            f"{book.title} needs all of its nodes in one run, so it can't go in waves.", code="not-in-waves"
        )
    if asked is not None and order is not None:
        raise Refused("What an order needs is not done in waves.", code="not-in-waves")
    return plan_waves(nodes, asked)


def _cluster_ref(text: str) -> str:
    try:
        return read_cluster_ref(text)
    except ValueError as problem:
        raise Refused(str(problem), code="no-cluster-ref") from problem


@transaction.atomic
def cancel_job(job: Job, *, reason: str = "", by: User | None) -> Job:
    """End a queued job now, and ask the worker of a running one to end it. One that has ended stays as it is."""
    only_operators(by)
    job = locked_for_sure(job.pk)
    if job.is_ended or job.cancel_requested_at is not None:
        return job
    _check_is_no_shard(job, "stopped")
    Job.objects.filter(pk=job.pk).update(
        cancel_requested_at=Now(), cancel_requested_by=by, cancel_reason=one_line(reason)
    )
    job.refresh_from_db()
    if job.is_whole:
        return _stop_whole(job, by=by)
    if job.status == JobState.QUEUED:
        text = (
            f"It was cancelled before it began: {job.cancel_reason}"
            if job.cancel_reason
            else "It was cancelled before it began."
        )
        return finishing.end_job(job, JobAction.CANCEL, reason=Reason.USER, text=text, by=by)
    _tell_cancel(job, by=by)
    return job


def force_stop(job: Job, *, reason: str, by: User | None) -> Job:
    """End `job` as cancelled now, whoever holds it and whether he answers or not; of a whole that is each of its shards.

    Raises NotAllowed; Invalid when a person gives no reason.
    """
    if not job.is_whole or job.is_ended:
        return forcing.force_stop(job, reason=reason, by=by)
    said = forcing.check_may_force(job, reason=reason, by=by)
    with transaction.atomic():
        if Job.objects.filter(pk=job.pk, ended_at=None, forced_at=None).update(forced_at=Now(), forced_by=by):
            forcing.tell(job, said, drains=job.shards.filter(status=JobState.RUNNING).exists(), by=by)
    cancel_job(job, reason=reason, by=by)
    for shard in job.shards.exclude(status__in=ENDED):
        forcing.force_stop(shard, reason=reason, by=by)
    job.refresh_from_db()
    return job


def _stop_whole(job: Job, *, by: User | None) -> Job:
    _tell_cancel(job, by=by)
    rollouts.stop(job, by=by)
    job.refresh_from_db()
    return job


def _tell_cancel(job: Job, *, by: User | None) -> None:
    record(JOB_CANCEL_REQUESTED, subject=job.ref, payload={**summary(job), "why": job.cancel_reason}, by=by)


@transaction.atomic
def resume_job(job: Job, *, again: bool = False, by: User | None) -> Job:
    """Go on with a paused job on exactly the nodes that remain; `again`: on those that failed too, and on them first.

    Raises NotAllowed, and Refused for a job that is not paused.
    """
    only_operators(by)
    found = rollouts.locked().filter(pk=job.pk, status=JobState.PAUSED).first()
    if found is None:
        raise Refused(f"{job.ref} is not paused; there is nothing to resume.", code="not-paused")
    rollouts.resume(found, again=again, by=by)
    return found


@transaction.atomic
def relaunch_remaining(job: Job, *, by: User | None) -> Job:
    """A new job with the same playbook and variables on exactly the nodes of `job` that are not ok."""
    only_operators(by)
    job = Job.objects.select_for_update(no_key=True, of=("self",)).select_related("order").get(pk=job.pk)
    _check_is_no_shard(job, "run again")
    if not job.is_ended:
        raise Refused(f"{job.ref} has not ended yet.", code="not-ended")
    again = job.relaunches.exclude(status=JobState.CANCELLED).order_by("-id").first()
    if again is not None:
        raise Refused(
            f"{job.ref} was relaunched already, as {again.ref}.",
            code="relaunched-already",
            data={"job": again.ref},
        )
    rest = remaining_nodes(job)
    if not rest:
        raise Refused(f"Every node of {job.ref} is ok; there is nothing left to do.", code="nothing-remains")
    return request_job(
        playbook=job.playbook,
        nodes=rest,
        variables=job.variables,
        purpose=f"{job.purpose} (rest of {job.ref})"[:200],
        order=job.order,
        cluster_ref=job.cluster_ref,
        priority=job.priority,
        relaunch_of=job,
        asked=None if job.plan is None else Plan.from_data(job.plan).asked,
        by=by,
    )


def remaining_nodes(job: Job) -> list[Node]:
    """Nodes of the job's last attempt that are not ok."""
    rows = HostResult.objects.filter(job=job, attempt=job.targets_attempt).exclude(ending=Ending.OK)
    return [row.node for row in rows.select_related("node").order_by("node_id")]


def _check_is_no_shard(job: Job, what: str) -> None:
    if job.whole is not None:
        raise Refused(
            f"{job.ref} is part {job.shard} of {job.whole.ref}; only the whole can be {what}.",
            code="is-a-shard",
            data={"whole": job.whole.ref},
        )
