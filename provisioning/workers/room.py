"""How much room is there? Slots, forks, queues and nodes by site, in as many questions however long the queues are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from django.db import connection
from django.db.models import Case, Count, Exists, F, IntegerField, OuterRef, Q, QuerySet, Value, When

from portal.kernel.clock import now
from provisioning.contracts import OrderKind
from provisioning.fleet.models import Node
from provisioning.fleet.states import OUT_OF_SERVICE, NodeState
from provisioning.jobs.models import HostResult, Job, NodeLease
from provisioning.jobs.playbooks import REGISTRY
from provisioning.jobs.queueing import ENOUGH, RESERVED, UNBLOCK_FROM
from provisioning.jobs.states import OWNED, JobState
from provisioning.workers.estimate import Estimate, Line, RunTime, estimate, run_time
from provisioning.workers.models import Worker
from provisioning.workers.routing import Work, is_for_jobs, machine_of, queue_of, site_of, worker_of
from provisioning.workers.sizing import Machine, fork_room

LAST_RUNS = 50
SWEEP, ORDINARY = 0, 1


@dataclass(frozen=True, kw_only=True)
class Room:
    """One queue of jobs: what its workers bear, what they do, who waits, and when one more would start.

    `waiting` wait for a slot, `blocked` for a node, `sweeps` run behind both. `fork_room` is what cores bear, `fork_most` what
    memory bears of forks that only wait; None when no worker told its size.
    """

    site: str
    queue: str
    workers: int
    slots: int | None
    kept: int
    taken: int
    waiting: int
    blocked: int
    sweeps: int
    forks: int
    fork_room: int | None
    fork_most: int | None
    start: Estimate

    @property
    def free(self) -> int:
        """Slots that nothing runs in."""
        return max(0, (self.slots or 0) - self.taken)


@dataclass
class _Queued:
    ahead: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    blocked: int = 0
    sweeps: int = 0


def rooms() -> list[Room]:
    """Every queue of jobs that has nodes, workers or jobs; by site."""
    alive = list(Worker.objects.all().alive())
    heard = bool(alive) or Worker.objects.exists()
    owned = list(Job.objects.filter(status__in=OWNED).only(*_OWNED_FIELDS))
    queued = _queued()
    times = run_times()
    sites = Node.objects.exclude(status=NodeState.RETIRED).order_by("site").values_list("site", flat=True)
    queues = {queue_of(Work.JOBS, site) for site in sites.distinct()} | set(queued)
    queues |= {queue for worker in alive for queue in worker.queues if is_for_jobs(queue)}
    return [
        _room(queue, alive, owned, queued.get(queue, _Queued()), times, heard=heard)
        for queue in sorted(queues, key=site_of)
    ]


_OWNED_FIELDS = ("id", "queue", "playbook", "claimed_by", "started_at", "adoptions", "forks")


def _room(
    queue: str,
    alive: Iterable[Worker],
    owned: Iterable[Job],
    queued: _Queued,
    times: dict[str, RunTime],
    *,
    heard: bool,
) -> Room:
    serving = [worker for worker in alive if queue in worker.queues]
    names = {worker.name for worker in serving}
    running = [
        job
        for job in owned
        if not job.adoptions and (job.queue == queue or worker_of(job.claimed_by) in names)
    ]
    slots = sum(worker.slots for worker in serving) if heard else None
    kept = RESERVED if slots is not None and slots >= ENOUGH else 0
    line = Line(
        slots=slots,
        kept=kept,
        running=[(job.playbook, _ran(job)) for job in running],
        ahead=queued.ahead,
        blocked=queued.blocked,
    )
    machines = {
        machine_of(worker.name): Machine(
            cores=worker.cores, memory_mib=worker.memory_mib, free_mib=worker.free_mib or 0
        )
        for worker in serving
        if worker.cores and worker.memory_mib
    }
    return Room(
        site=site_of(queue),
        queue=queue,
        workers=len(serving),
        slots=slots,
        kept=kept,
        taken=len(running),
        waiting=sum(queued.ahead.values()),
        blocked=queued.blocked,
        sweeps=queued.sweeps,
        forks=sum(job.forks or 0 for job in running),
        fork_room=sum(map(fork_room, machines.values())) if machines else None,
        fork_most=sum(fork_room(one, waits=True) for one in machines.values()) if machines else None,
        start=estimate(line, times),
    )


def _ran(job: Job) -> float:
    return 0.0 if job.started_at is None else max(0.0, (now() - job.started_at).total_seconds())


HELD = Exists(NodeLease.objects.filter(released_at=None, node=OuterRef("node")))
"""Of a wanted node: a job has it, or has left something on it."""


def wanted() -> QuerySet[HostResult]:
    """Nodes that queued jobs are about."""
    return HostResult.objects.filter(job__status=JobState.QUEUED, attempt=F("job__attempt") + 1)


def _queued() -> dict[str, _Queued]:
    found: dict[str, _Queued] = defaultdict(_Queued)
    lease = NodeLease.objects.filter(released_at=None)
    stuck = HostResult.objects.filter(
        job=OuterRef("pk"), attempt=OuterRef("attempt") + 1, node__in=lease.values("node")
    )
    urgent = Q(priority__gte=UNBLOCK_FROM) | Q(order__kind=OrderKind.APPLY)
    lane = Case(
        When(Q(priority__lt=0) & ~urgent, then=Value(SWEEP)),
        default=Value(ORDINARY),
        output_field=IntegerField(),
    )
    groups = (
        Job.objects.filter(status=JobState.QUEUED)
        .annotate(stuck=Exists(stuck), lane=lane)
        .order_by()
        .values_list("queue", "playbook", "stuck", "lane")
        .annotate(jobs=Count("pk"))
    )
    for queue, playbook, is_stuck, its_lane, jobs in groups:
        if its_lane == SWEEP:
            found[queue].sweeps += jobs
        elif is_stuck:
            found[queue].blocked += jobs
        else:
            found[queue].ahead[playbook] += jobs
    return found


_LAST_RUNS = """
    SELECT book.name, run.seconds FROM unnest(%s::text[]) AS book(name) CROSS JOIN LATERAL (
        SELECT extract(epoch FROM ended_at - started_at)::float AS seconds FROM {table}
        WHERE playbook = book.name AND ended_at IS NOT NULL AND started_at IS NOT NULL
        ORDER BY id DESC LIMIT %s
    ) AS run
"""


def run_times() -> dict[str, RunTime]:
    """How long each playbook keeps a slot, from its last runs, however they ended."""
    seconds: dict[str, list[float]] = defaultdict(list)
    with connection.cursor() as cursor:
        table = connection.ops.quote_name(Job._meta.db_table)
        cursor.execute(_LAST_RUNS.format(table=table), [sorted(REGISTRY), LAST_RUNS])
        for name, took in cursor.fetchall():
            seconds[name].append(max(0.0, took))
    return {name: run_time(each) for name, each in seconds.items()}


@dataclass(frozen=True, kw_only=True)
class NodesAt:
    """Nodes of a site by what can be done with them. `busy`: a job has them now; `unquiet`: one left something there."""

    site: str
    total: int
    free: int
    in_use: int
    reserved: int
    draining: int
    out: int
    busy: int
    unquiet: int


def nodes_at() -> list[NodesAt]:
    """Every site that has nodes."""
    rows = (
        Node.objects.exclude(status=NodeState.RETIRED)
        .order_by("site")
        .values("site")
        .annotate(
            total=Count("pk"),
            free=Count("pk", filter=Q(status=NodeState.FREE)),
            in_use=Count("pk", filter=Q(status=NodeState.IN_USE)),
            reserved=Count("pk", filter=Q(status=NodeState.RESERVED)),
            draining=Count("pk", filter=Q(status=NodeState.DRAINING)),
            out=Count("pk", filter=Q(status__in=OUT_OF_SERVICE)),
        )
    )
    held = NodeLease.objects.filter(released_at=None).order_by().values("node__site")
    leases = {
        each["node__site"]: each
        for each in held.annotate(
            busy=Count("pk", filter=Q(draining_since=None)),
            unquiet=Count("pk", filter=Q(draining_since__isnull=False)),
        )
    }
    nothing = {"busy": 0, "unquiet": 0}
    return [
        NodesAt(
            **row,
            busy=leases.get(row["site"], nothing)["busy"],
            unquiet=leases.get(row["site"], nothing)["unquiet"],
        )
        for row in rows
    ]
