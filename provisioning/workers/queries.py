"""What does an operator see at a glance? Jobs by state and reason, workers and what they hold, and the queue behind each node."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import timedelta

from django.db.models import Count, F, Q, Window
from django.db.models.functions import RowNumber

from portal.kernel.clock import now
from portal.kernel.refs import format_ref
from provisioning.fleet.models import Node
from provisioning.fleet.sites import say_site
from provisioning.fleet.states import NodeState
from provisioning.jobs import draining
from provisioning.jobs.models import Job, NodeLease
from provisioning.jobs.queries import say_why
from provisioning.jobs.states import OWNED, JobState
from provisioning.workers import room
from provisioning.workers.models import SILENT_AFTER, Worker
from provisioning.workers.routing import Work, queue_of, worker_of

LATELY = timedelta(days=7)
NODES = 100
NAMED = 8
"""Jobs that are named behind a node."""


@dataclass(frozen=True, kw_only=True)
class Tally:
    """How many jobs are in a state for a reason."""

    state: str
    reason: str
    jobs: int


@dataclass(frozen=True, kw_only=True)
class WorkerView:
    """A worker, whether it was heard of lately, and the jobs whose leases it has."""

    worker: Worker
    state: str
    jobs: list[Job]

    @property
    def free(self) -> int:
        """Slots that nothing runs in; a job that was taken over is in none."""
        taken = sum(not job.adoptions for job in self.jobs)
        return max(0, self.worker.slots - taken) if self.state == "active" else 0

    @property
    def forks(self) -> int:
        """Nodes that its jobs talk to at once."""
        return sum(job.forks or 0 for job in self.jobs)


@dataclass(frozen=True, kw_only=True)
class NodeQueue:
    """A node that jobs wait for: who has it, in words, how many wait, and the first of them in order."""

    node: str
    held: str
    waiting: int
    first: list[str]

    @property
    def more(self) -> int:
        """How many are not named."""
        return self.waiting - len(self.first)


def tallies() -> list[Tally]:
    """Jobs that are not over, and those that ended lately, by state and reason."""
    asked_for = Job.objects.asked_for()
    rows = asked_for.filter(ended_at=None) | asked_for.filter(ended_at__gt=now() - LATELY)
    counted = rows.order_by("status", "reason").values_list("status", "reason").annotate(jobs=Count("pk"))
    return [Tally(state=state, reason=reason, jobs=jobs) for state, reason, jobs in counted]


def workers() -> list[WorkerView]:
    """Every worker of the last day."""
    owned: dict[str, list[Job]] = defaultdict(list)
    for job in Job.objects.filter(status__in=OWNED).order_by("pk"):
        owned[worker_of(job.claimed_by)].append(job)
    return [
        WorkerView(worker=worker, state=_state(worker), jobs=owned.get(worker.name, []))
        for worker in Worker.objects.order_by("stopped_at", "name")
    ]


def _state(worker: Worker) -> str:
    if worker.stopped_at is not None:
        return "released"
    return "active" if worker.seen_at > now() - SILENT_AFTER else "lost"


def node_queues() -> list[NodeQueue]:
    """Nodes that queued jobs want and cannot have, or that several want, longest queue first; at most `NODES`."""
    rows = (
        room.wanted()
        .annotate(held=room.HELD)
        .values("node", "node__name", "held")
        .annotate(waiting=Count("pk"))
        .filter(Q(held=True) | Q(waiting__gt=1))
        .order_by("-waiting", "node__name")[:NODES]
    )
    found = list(rows)
    nodes = [row["node"] for row in found]
    leases = NodeLease.objects.filter(released_at=None, node__in=nodes).select_related("node", "job")
    held = {lease.node_id: draining.say(lease) for lease in leases}
    first = _first_of(nodes)
    return [
        NodeQueue(
            node=row["node__name"],
            held=held.get(row["node"], ""),
            waiting=row["waiting"],
            first=first[row["node"]],
        )
        for row in found
    ]


def _first_of(nodes: list[int]) -> dict[int, list[str]]:
    """The first few jobs behind each node, in the order in which they would have it."""
    order = [F("job__priority").desc(), F("job").asc()]
    places = Window(RowNumber(), partition_by="node", order_by=order)
    rows = room.wanted().filter(node__in=nodes).annotate(place=places).filter(place__lte=NAMED)
    first: dict[int, list[str]] = defaultdict(list)
    for node, job in rows.order_by("node", "place").values_list("node", "job"):
        first[node].append(format_ref("J", job))
    return first


def how_many_wait() -> int:
    """Queued jobs."""
    return Job.objects.filter(status=JobState.QUEUED).count()


@dataclass(frozen=True, kw_only=True)
class Pending:
    """A queued job and the sentence that says what it waits for."""

    job: Job
    why: str


def pending() -> list[Pending]:
    """The first queued jobs, in the order of their urgency."""
    queued = Job.objects.filter(status=JobState.QUEUED).order_by("-priority", "pk")[:NODES]
    return [Pending(job=job, why=say_why(job)) for job in queued]


@dataclass(frozen=True, kw_only=True)
class Unserved:
    """A site whose nodes no worker reaches: `lacks` are the kinds of work that nobody does there."""

    site: str
    nodes: int
    lacks: tuple[Work, ...]

    def say(self) -> str:
        """`site north (12 nodes): jobs, looks`."""
        count = "1 node" if self.nodes == 1 else f"{self.nodes} nodes"
        return f"{say_site(self.site)} ({count}): {', '.join(work.value for work in self.lacks)}"


def unserved() -> list[Unserved]:
    """Sites with nodes where no living worker does jobs, or none looks at nodes."""
    served = {queue for worker in Worker.objects.all().alive() for queue in worker.queues}
    nodes = Node.objects.exclude(status=NodeState.RETIRED).order_by("site").values_list("site")
    found = []
    for site, count in nodes.annotate(nodes=Count("pk")):
        lacks = tuple(work for work in (Work.JOBS, Work.LOOKS) if queue_of(work, site) not in served)
        if lacks:
            found.append(Unserved(site=site, nodes=count, lacks=lacks))
    return found
