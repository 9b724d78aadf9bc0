"""A small fleet, orders on it, and jobs that end as a test says, without a worker."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import pytest

from portal.kernel.clock import now
from portal.kernel.moves import move
from provisioning.contracts import Account, OrderKind, OrderSpec, VerdictValue
from provisioning.fleet.models import Cluster, Node, Rack, Sku
from provisioning.fleet.services import note_verdict
from provisioning.jobs.finishing import end_job
from provisioning.jobs.models import HostResult, Job
from provisioning.jobs.states import JOB_MACHINE, Ending, JobAction, Reason
from provisioning.orders import judging
from provisioning.orders.advancing import advance
from provisioning.orders.judging import NodeVerdict, Sweep
from provisioning.orders.models import Order

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl"


def a_sku(slug: str = "h100-sxm5-80g", **more: object) -> Sku:
    fields: dict[str, object] = {
        "name": f"A node of {slug}",
        "gpu_model": "NVIDIA H100 80GB HBM3",
        "gpus_per_node": 8,
        "memory_mib": 81559,
        "driver_version": "570.172.08",
        "data": {"nvswitch": True},
        "content_hash": "0" * 64,
    }
    return Sku.objects.get_or_create(slug=slug, defaults=fields | more)[0]


def some_nodes(count: int, *, sku: Sku | None = None, prefix: str = "gpu", **more: object) -> list[Node]:
    """Free nodes, four to a rack."""
    sku = sku or a_sku()
    made = []
    for number in range(1, count + 1):
        rack = Rack.objects.get_or_create(name=f"r{(number - 1) // 4 + 1}")[0]
        fields: dict[str, object] = {
            "name": f"{prefix}-{number:03d}",
            "address": f"10.0.{number // 250}.{number % 250 + 1}",
            "sku": sku,
            "rack": rack,
            "connection": "simulated",
            "simulated": True,
            "simulated_node_dir": f"/srv/nodes/{prefix}-{number:03d}",
            "status": "free",
        }
        made.append(Node.objects.create(**(fields | more)))
    return made


def a_build(team: str, nodes: int, **more: object) -> OrderSpec:
    fields: dict[str, object] = {
        "kind": OrderKind.BUILD,
        "team": team,
        "sku": "h100-sxm5-80g",
        "nodes": nodes,
        "accounts": (Account(name="ada", keys=(KEY,)),),
    }
    return OrderSpec(**(fields | more))  # type: ignore[arg-type]


def open_job(order: Order) -> Job:
    """The job the order waits for."""
    return Job.objects.get(step_run__order=order, step_run__ended_at=None)


def end(job: Job, bad: Mapping[str, Ending] | None = None, *, reason: Reason = Reason.NONE) -> None:
    """End the order's job as a worker would: every node ok but those in `bad`."""
    bad = bad or {}
    endings = set()
    if job.status == "queued":
        fields = {"attempt": job.attempt + 1, "lease_until": now(), "mark": "m", "claimed_by": "test"}
        job = move(job, JobAction.CLAIM, machine=JOB_MACHINE, extra=fields)
        job = move(job, JobAction.START, machine=JOB_MACHINE, extra={"started_at": now()})
    for result in HostResult.objects.filter(job=job, attempt=job.targets_attempt).select_related("node"):
        result.ending = bad.get(result.node.name, Ending.OK)
        if result.ending in (Ending.FAILED, Ending.UNREACHABLE):
            result.last_task, result.first_failure = "Pin the driver", "apt said no\nmore words"
        endings.add(result.ending)
        result.save()
    if endings == {Ending.OK}:
        action = JobAction.SUCCEED
    else:
        action = JobAction.SUCCEED_PARTLY if Ending.OK in endings else JobAction.FAIL
    end_job(job, action, reason=reason or (Reason.NONE if not bad else Reason.HOSTS_FAILED), text="test")


def step(order: Order, bad: Mapping[str, Ending] | None = None, *, reason: Reason = Reason.NONE) -> str:
    """End the open job and let the order go on; returns the order's new status."""
    end(open_job(order), bad, reason=reason)
    advance(order_id=order.pk)
    order.refresh_from_db()
    return order.status


@dataclass
class FakeJudge:
    """A validation room that says what the test tells it; everything it is not told about is fit."""

    unfit: dict[str, str] = field(default_factory=dict)
    degraded: dict[str, float] = field(default_factory=dict)
    unmeasured: set[str] = field(default_factory=set)
    suspects: dict[str, Sequence[str]] = field(default_factory=dict)
    confirmed: set[str] = field(default_factory=set)
    cluster: list[NodeVerdict] = field(default_factory=list)
    controls: list[str] = field(default_factory=list)
    speeds: dict[str, float] = field(default_factory=dict)

    def judge_nodes(self, *, job: Job) -> Sweep:
        names = _ok_nodes(job)
        suspects = {name: checks for name, checks in self.suspects.items() if name in names}
        return Sweep(verdicts={name: self._verdict(name) for name in names}, suspects=suspects)

    def judge_confirmation(self, *, job: Job, control: str) -> Mapping[str, NodeVerdict]:
        self.controls.append(control)
        said = {}
        for name in _ok_nodes(job):
            slow = name in self.confirmed
            value = VerdictValue.UNFIT if slow else VerdictValue.FIT
            said[name] = NodeVerdict(
                value=value, reason="6.3 % slow" if slow else "", evidence={"ratio": 0.937}
            )
        return said

    def judge_cluster(self, *, cluster: Cluster, job: Job) -> NodeVerdict:
        return (
            self.cluster.pop(0)
            if self.cluster
            else NodeVerdict(value=VerdictValue.FIT, evidence={"busbw_gbps": 355.0})
        )

    def _verdict(self, name: str) -> NodeVerdict:
        if name in self.unfit:
            verdict = NodeVerdict(value=VerdictValue.UNFIT, reason=self.unfit[name], evidence={"gpus": 7})
        elif name in self.degraded:
            verdict = NodeVerdict(value=VerdictValue.DEGRADED, reason="slow", speed=self.degraded[name])
        elif name in self.unmeasured:
            verdict = NodeVerdict(value=VerdictValue.NOT_MEASURED, reason="the probe gave nothing")
        else:
            verdict = NodeVerdict(value=VerdictValue.FIT)
        node = Node.objects.get(name=name)
        note_verdict(node=node, verdict=verdict.value, speed=self.speeds.get(name, 1.0), at=now())
        return verdict


def _ok_nodes(job: Job) -> list[str]:
    rows = HostResult.objects.filter(job=job, attempt=job.targets_attempt, ending=Ending.OK)
    return list(rows.values_list("node__name", flat=True))


@pytest.fixture
def fake_judge(monkeypatch: pytest.MonkeyPatch) -> FakeJudge:
    made = FakeJudge()
    monkeypatch.setattr(judging, "judge", lambda: made)
    return made


def names(nodes: Iterable[Node]) -> list[str]:
    return sorted(node.name for node in nodes)
