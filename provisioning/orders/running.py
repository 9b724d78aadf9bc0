"""How does an order get a step done, and how did it go on each node? Orders talk to jobs here and nowhere else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from portal.accounts.models import User
from portal.kernel.clock import now
from portal.kernel.moves import move
from portal.ledger.services import record
from provisioning import events
from provisioning.fleet.models import Node
from provisioning.jobs.models import HostResult, Job
from provisioning.jobs.services import request_job
from provisioning.jobs.states import ENDED, Ending, JobState, Reason
from provisioning.orders.models import Order, StepRun
from provisioning.orders.plan import Step
from provisioning.orders.states import ORDER
from provisioning.orders.swapping import Blame, Ground

HUNG = frozenset({Reason.DEADLINE, Reason.IDLE})


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How a job ended on its nodes: `ok`, `blamed` with what speaks against them, and `untried` through no fault."""

    ok: frozenset[str]
    blamed: Mapping[str, Blame]
    untried: frozenset[str]
    why: str

    @property
    def worked_on(self) -> int:
        """On how many nodes the job did something."""
        return len(self.ok) + len(self.blamed)


def start_step(
    order: Order, step: Step, *, nodes: Sequence[Node], variables: Mapping[str, Any], by: User | None
) -> Job:
    """Move the order into the step and ask for its job, in the caller's transaction."""
    move(order, step.action, machine=ORDER)
    job = request_job(
        playbook=step.playbook,
        nodes=nodes,
        variables=variables,
        purpose=f"{step.title} of {order.ref}",
        order=order,
        cluster_ref=order.cluster.ref if order.cluster is not None else "",
        by=by,
    )
    StepRun.objects.create(
        order=order,
        step=step.name,
        job=job,
        node_names=[node.name for node in nodes],
        total=len(nodes),
    )
    record(
        events.ORDER_MOVED,
        subject=order.ref,
        payload={
            "order": order.ref,
            "for": order.requested_for,
            "status": order.status,
            "step": step.name,
            "title": step.title,
            "job": job.ref,
            "nodes": [node.name for node in nodes],
            "now": f"{step.doing}: {_say_nodes(nodes)}.",
        },
        by=by,
    )
    return job


def open_run(order: Order) -> StepRun | None:
    """The run the order waits for."""
    return order.runs.select_related("job").filter(ended_at=None).first()


def has_ended(run: StepRun) -> bool:
    """True when the run's job does nothing more."""
    return run.job.status in ENDED


def close_run(run: StepRun, *, done: int) -> None:
    """Note how a run ended; what is asked of it later is answered from this row."""
    run.ended_at = now()
    run.done = min(done, run.total)
    run.ended_well = run.job.status == JobState.SUCCEEDED
    run.save(update_fields=["ended_at", "done", "ended_well"])


def outcome_of(run: StepRun) -> Outcome:
    """How the run's job ended, node by node. Nodes without a result were not tried."""
    results = {
        result.node.name: result
        for result in HostResult.objects.filter(job=run.job, attempt=run.job.targets_attempt).select_related(
            "node"
        )
    }
    wanted: list[str] = run.node_names
    ok = frozenset(name for name in wanted if name in results and results[name].ending == Ending.OK)
    blamed = {
        name: _blame(run.job, results[name])
        for name in wanted
        if name in results and results[name].ending in (Ending.FAILED, Ending.UNREACHABLE)
    }
    if run.job.reason in HUNG and ok:
        blamed |= {
            name: _hung(run.job, results[name])
            for name in wanted
            if name in results and results[name].ending == Ending.INTERRUPTED
        }
    return Outcome(
        ok=ok,
        blamed=blamed,
        untried=frozenset(wanted) - ok - frozenset(blamed),
        why=run.job.reason_text or run.job.status,
    )


def _blame(job: Job, result: HostResult) -> Blame:
    unreachable = result.ending == Ending.UNREACHABLE
    said = result.first_failure.strip().splitlines()[0][:300] if result.first_failure.strip() else ""
    task = f" in “{result.last_task}”" if result.last_task else ""
    reason = (
        f"{result.node.name} can't be reached"
        if unreachable
        else f"{job.playbook} failed on {result.node.name}"
    )
    return Blame(
        ground=Ground.FAILED,
        code="unreachable" if unreachable else f"{job.playbook}-failed",
        reason=f"{reason}{task}{': ' + said if said else ''}",
        evidence=_evidence(job, result),
    )


def _hung(job: Job, result: HostResult) -> Blame:
    return Blame(
        ground=Ground.FAILED,
        code="hung",
        reason=f"{result.node.name} did not answer until {job.playbook} ran out of time, while others were done",
        evidence=_evidence(job, result),
    )


def _evidence(job: Job, result: HostResult) -> dict[str, Any]:
    return {
        "job": job.ref,
        "attempt": result.attempt,
        "ending": result.ending,
        "last_task": result.last_task,
        "first_failure": result.first_failure[:2000],
    }


def _say_nodes(nodes: Sequence[Node]) -> str:
    names: Iterable[str] = [node.name for node in nodes]
    return ", ".join(names) if len(nodes) <= 3 else f"{len(nodes)} nodes"
