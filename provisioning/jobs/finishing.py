"""How is a job ended? Status, endings, leases and the event in one transaction; or put back into the queue."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django.db.models.functions import Now

from portal.kernel.moves import move
from portal.ledger.services import record
from provisioning.events import JOB_FINISHED, JOB_REQUEUED
from provisioning.jobs import bell, draining, rollouts
from provisioning.jobs.models import HostResult, Job
from provisioning.jobs.playbooks import REGISTRY
from provisioning.jobs.states import JOB_MACHINE, RETRIED, JobAction, JobState, Reason
from provisioning.jobs.tallying import settle_nodes, summary
from provisioning.jobs.telling import tell


def end_job(
    job: Job,
    action: JobAction,
    *,
    reason: Reason,
    text: str,
    drains: bool = False,
    cut_off: Collection[int] = (),
    by: Any = None,
) -> Job:
    """End a locked `job`, in the caller's transaction; after an accident of the portal's own it is queued again.

    `drains`: it did not end by itself, so its nodes stay its own until they are seen quiet; `cut_off` are ids of
    nodes of which that is so though it did.
    """
    settle_nodes(job)
    job = move(
        job,
        action,
        machine=JOB_MACHINE,
        extra={
            "ended_at": Now(),
            "reason": reason.value,
            "reason_text": text[:500],
            "hand_back": False,
            "lease_until": None,
        },
    )
    draining.release_or_drain(job, reason, drains=drains, cut_off=cut_off)
    if _is_tried_again(job, reason):
        _put_back(job, reason, text)
    else:
        job.refresh_from_db()
        if job.whole_id is None:
            record(JOB_FINISHED, subject=job.ref, payload=summary(job), by=by)
        else:
            rollouts.after_shard(job, by=by)
    _wake_who_waited(job)
    tell(job.pk)
    return job


def _is_tried_again(job: Job, reason: Reason) -> bool:
    book = REGISTRY.get(job.playbook)
    return (
        reason in RETRIED
        and job.cancel_requested_at is None
        and book is not None
        and book.idempotent
        and (job.attempt < job.max_attempts or reason == Reason.WORKER_STOPPED)
        and JobAction.RETRY in JOB_MACHINE.actions(job.status)
    )


def _put_back(job: Job, reason: Reason, text: str) -> None:
    ended = job.attempt
    move(
        job,
        JobAction.RETRY,
        machine=JOB_MACHINE,
        extra={
            "ended_at": None,
            "started_at": None,
            "reason": "",
            "reason_text": "",
            "waiting_for": f"Runs again: attempt {ended} of {job.max_attempts} ended because {_lower_first(text)}"[
                :300
            ],
            "announced_at": None,
            "announced_times": 0,
        },
    )
    nodes = (
        HostResult.objects.filter(job=job, attempt=ended)
        .order_by("node_id")
        .values_list("node_id", flat=True)
    )
    HostResult.objects.bulk_create([HostResult(job=job, attempt=ended + 1, node_id=node) for node in nodes])
    job.refresh_from_db()
    record(
        JOB_REQUEUED,
        subject=job.ref,
        payload={**summary(job), "after": ended, "reason": reason.value},
        by=None,
    )
    bell.ring_on_commit(job)


def _wake_who_waited(job: Job) -> None:
    """Jobs that waited for a node of this one may run now."""
    waiting = (
        Job.objects.filter(
            status=JobState.QUEUED,
            host_results__node__job_results__job=job,
            host_results__node__job_results__attempt=job.attempt,
        )
        .exclude(pk=job.pk)
        .order_by("-priority", "pk")
        .distinct()
    )
    for other in waiting[:50]:
        bell.ring_on_commit(other)


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:] if text else "it was lost."
