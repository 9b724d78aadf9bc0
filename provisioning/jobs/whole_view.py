"""How does a whole look while it runs? Its shards, its waves, and each node as its shard has it now."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Max, OuterRef, Q, QuerySet, Subquery

from provisioning.fleet.models import Node
from provisioning.jobs.draining import draining
from provisioning.jobs.models import HostResult, Job
from provisioning.jobs.shard_results import current, plan_of
from provisioning.jobs.states import Ending, Reason


@dataclass(frozen=True, kw_only=True)
class HostView:
    """A node of a job. `job` is the one whose log tells of it: for a node of a whole that is its shard.

    `draining_since` and `drain_said`: the attempt was stopped and nobody has seen the node quiet yet.
    """

    node: Node
    job: str
    ending: str
    tasks_done: int
    changed: int
    last_task: str
    first_failure: str
    first_failure_counter: int | None
    draining_since: datetime | None
    drain_said: str | None


@dataclass(frozen=True, kw_only=True)
class WaveView:
    """A wave: `state` is `done`, `now` or `later`; `bad` are its nodes that ended and are not ok."""

    number: int
    title: str
    state: str
    nodes: int
    ok: int
    bad: int
    may_fail: int | None
    budget: str
    shards: Sequence[Job]

    @property
    def ended(self) -> int:
        """Nodes that have an ending."""
        return self.ok + self.bad


def results(jobs: Q) -> QuerySet[HostResult]:
    """Rows of the attempt that counts, without what their modules gathered, with what is known of draining."""
    lease = draining().filter(job=OuterRef("job"), node=OuterRef("node"))
    return (
        HostResult.objects.filter(jobs)
        .annotate(
            draining_since=Subquery(lease.values("draining_since")[:1]),
            drain_said=Subquery(lease.values("probe_said")[:1]),
        )
        .select_related("node", "job")
        .defer("data")
        .order_by("node__name", "job_id")
    )


def view(row: HostResult, told: HostResult | None = None) -> HostView:
    """A row of `results` as it is shown; `told`: the row of the shard that had the node last."""
    live = told if told is not None and row.ending == Ending.WAITING and not told.job.is_ended else row
    there = row if told is None else told
    return HostView(
        node=row.node,
        job=there.job.ref,
        ending=live.ending,
        tasks_done=live.tasks_done,
        changed=live.changed,
        last_task=live.last_task,
        first_failure=live.first_failure,
        first_failure_counter=live.first_failure_counter,
        draining_since=getattr(there, "draining_since", None),
        drain_said=getattr(there, "drain_said", None),
    )


def last_shards(whole: Job, nodes: Collection[int]) -> dict[int, HostResult]:
    """Each of these nodes -> its row in the shard that had it last."""
    rows = results(Q(job__whole=whole, node__in=nodes) & current()).exclude(job__reason=Reason.TAKEN_BACK)
    return {row.node_id: row for row in rows}


def expected_tasks(whole: Job) -> int | None:
    """Tasks a node goes through, as the shards that have begun know it."""
    found: int | None = whole.shards.aggregate(most=Max("expected_tasks"))["most"]
    return found


def waves(whole: Job) -> list[WaveView]:
    """Its waves in order, each with its shards."""
    return list(_waves(whole))[::-1]


def _waves(whole: Job) -> Iterator[WaveView]:
    plan, present = plan_of(whole)
    shards: dict[int, list[Job]] = {}
    for shard in whole.shards.annotate(nodes=Count("host_results__node", distinct=True)).order_by("shard"):
        shards.setdefault(shard.wave or 0, []).append(shard)
    endings = dict(HostResult.objects.filter(job=whole, attempt=1).values_list("node_id", "ending"))
    seen: set[int] = set()
    for number, wave in reversed(list(enumerate(plan.waves, start=1))):
        mine = [endings.get(node, "") for node in wave.nodes if node not in seen]
        seen |= set(wave.nodes) if number <= present else set()
        ok = sum(ending == Ending.OK for ending in mine)
        yield WaveView(
            number=number,
            title=wave.title,
            state="now"
            if number == present and not whole.is_ended
            else "done"
            if number <= present
            else "later",
            nodes=len(mine),
            ok=ok,
            bad=sum(ending not in {Ending.OK, Ending.WAITING, ""} for ending in mine),
            may_fail=wave.may_fail,
            budget="" if wave.budget is None else _budget(str(wave.budget), wave.may_fail),
            shards=shards.get(number, ()),
        )


def _budget(told: str, count: int | None) -> str:
    if count == 0:
        return "none of its nodes may fail"
    return f"{count} of its nodes may fail" + (f" ({told})" if told.endswith("%") else "")
