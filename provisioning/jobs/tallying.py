"""How does a job stand on its nodes? Counted, settled when it ends, and told as events tell it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db.models import Count

from provisioning.jobs.models import HostResult, Job
from provisioning.jobs.states import Ending, JobState


def settle_nodes(job: Job) -> None:
    """Nothing stays open: who ran was interrupted, and who never began was not attempted.

    Of a running job whose record nobody could read to its end that is not known, so its nodes count as interrupted.
    """
    never = Ending.INTERRUPTED if job.status == JobState.RUNNING else Ending.NOT_ATTEMPTED
    results = HostResult.objects.filter(job=job, attempt=job.targets_attempt)
    results.filter(ending=Ending.WAITING).update(ending=never)
    results.filter(ending=Ending.RUNNING).update(ending=Ending.INTERRUPTED)


def summary(job: Job) -> dict[str, Any]:
    """A job as events tell it."""
    return {
        "job": job.ref,
        "order": job.order.ref if job.order is not None else "",
        "playbook": job.playbook,
        "status": str(job.status),
        "attempt": job.attempt,
        "reason": job.reason,
        "reason_text": job.reason_text,
        "nodes": dict(counts(job)),
        "whole": "" if job.whole is None else job.whole.ref,
    }


def counts(job: Job) -> Mapping[str, int]:
    """Nodes of the attempt that counts, by ending."""
    rows = (
        HostResult.objects.filter(job=job, attempt=job.targets_attempt)
        .values_list("ending")
        .order_by("ending")
        .annotate(nodes=Count("pk"))
    )
    return dict(rows)
