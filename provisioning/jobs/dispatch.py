"""What does the queue look like now? Read from the rows, decided by the rules of `queueing.py`."""

from __future__ import annotations

from collections import defaultdict

from django.db.models import F, Q

from portal.kernel.clock import now
from portal.kernel.refs import format_ref
from provisioning.contracts import OrderKind
from provisioning.fleet.models import Node
from provisioning.jobs import draining
from provisioning.jobs.models import HostResult, Job, NodeLease
from provisioning.jobs.queueing import Class, Decision, Queue, Waiting, class_of, decide
from provisioning.jobs.states import OWNED, JobState
from provisioning.workers.routing import site_of, worker_of
from provisioning.workers.services import serving_at, slots_of

URGENT = 400
OLDEST = 200
"""Jobs that are looked at: so many of the most urgent, and so many of the oldest, that none is forgotten in a long queue."""


def decision(queue: str) -> Decision:
    """Who may run now in a queue, in order, and what the others wait for."""
    waiting = _waiting(queue)
    nodes = {node for job in waiting for node in job.nodes}
    names = dict(Node.objects.filter(pk__in=nodes).values_list("pk", "name"))
    refs = {job.job: format_ref("J", job.job) for job in waiting}
    return decide(waiting, _queue(queue, nodes), at=now(), names=names, refs=refs)


def queues() -> list[str]:
    """Queues in which something waits."""
    rows = Job.objects.filter(status=JobState.QUEUED).order_by("queue").values_list("queue", flat=True)
    return list(rows.distinct())


def has_slot(job: Job) -> bool:
    """True when a slot is open to a job of its class."""
    queue = _queue(job.queue, set())
    if not queue.slots:
        return True  # whoever asks is a worker, even if nobody heard of it lately
    return queue.open_to_unblock if _class(job) == Class.UNBLOCK else queue.open_to_ordinary


def _waiting(queue: str) -> list[Waiting]:
    queued = Job.objects.filter(status=JobState.QUEUED, queue=queue)
    urgent = queued.order_by("-priority", "id").values("pk")[:URGENT]
    oldest = queued.order_by("id").values("pk")[:OLDEST]
    jobs = list(
        Job.objects.filter(Q(pk__in=urgent) | Q(pk__in=oldest))
        .select_related("order")
        .only("id", "attempt", "priority", "created_at", "whole", "order__kind", "order__team")
    )
    nodes: dict[int, set[int]] = defaultdict(set)
    wanted = HostResult.objects.filter(job__in=[job.pk for job in jobs], attempt=F("job__attempt") + 1)
    for job_id, node_id in wanted.order_by().values_list("job_id", "node_id"):
        nodes[job_id].add(node_id)
    return [
        Waiting(
            job=job.pk,
            team=_team(job),
            class_=_class(job),
            priority=job.priority,
            since=job.created_at,
            nodes=frozenset(nodes[job.pk]),
        )
        for job in jobs
    ]


def _queue(queue: str, nodes: set[int]) -> Queue:
    leases = NodeLease.objects.filter(released_at=None, node__in=nodes).select_related("node", "job")
    serving = serving_at(queue)
    by_team: dict[str, int] = defaultdict(int)
    unblock = ordinary = 0
    for job in Job.objects.filter(status__in=OWNED).select_related("order"):
        if job.queue != queue and worker_of(job.claimed_by) not in serving:
            continue
        by_team[_team(job)] += 1
        if job.adoptions:
            continue  # whoever took it over follows it without a slot
        if _class(job) == Class.UNBLOCK:
            unblock += 1
        else:
            ordinary += 1
    return Queue(
        busy={lease.node_id: draining.say(lease) for lease in leases},
        running_by_team=by_team,
        running_ordinary=ordinary,
        running_unblock=unblock,
        slots=slots_of(queue),
        site=site_of(queue),
    )


def _class(job: Job) -> Class:
    return class_of(job.priority, unblocks=job.order is not None and job.order.kind == OrderKind.APPLY)


def _team(job: Job) -> str:
    """Whose share it takes; the shards of a whole that is no team's share one, so that they keep nobody waiting."""
    if job.order is not None and job.order.team_id is not None:
        return str(job.order.team_id)
    return "" if job.whole_id is None else f"J-{job.whole_id}"
