"""How is an order told to people? Its steps, its share done, and one sentence about what happens now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from django.db.models import Count, Prefetch, QuerySet
from django.urls import reverse

from portal.kernel.refs import format_ref
from provisioning.contracts import NodeView, OrderKind, OrderView, StepState, StepView, SwapView
from provisioning.fleet.models import Reservation
from provisioning.fleet.telling import node_view
from provisioning.jobs.models import HostResult
from provisioning.jobs.states import FINAL_ENDINGS, JobState
from provisioning.orders.models import Assignment, AssignmentState, Order, StepRun
from provisioning.orders.plan import (
    BUILD,
    CONFIRM,
    DRAIN,
    REVALIDATE,
    STEPS,
    VALIDATE,
    WIPE,
    Step,
    steps_of,
)
from provisioning.orders.progress import Stage, count_past, share_done
from provisioning.orders.states import OrderState
from provisioning.orders.work import is_remedy

PER_NODE = (BUILD, VALIDATE, DRAIN, WIPE, REVALIDATE)
"""Steps that each node takes by itself; the others are taken together, and told by their last job."""


def with_story(orders: QuerySet[Order]) -> QuerySet[Order]:
    """Orders with everything `order_view` reads, in a constant number of queries."""
    held = Reservation.objects.filter(released_at=None)
    return orders.select_related("team", "cluster").prefetch_related(
        Prefetch("runs", queryset=StepRun.objects.select_related("job").order_by("pk")),
        Prefetch(
            "assignments",
            queryset=Assignment.objects.select_related("node__sku", "node__rack", "replaces__node")
            .prefetch_related(Prefetch("node__reservations", queryset=held, to_attr="held_now"))
            .order_by("node__name"),
        ),
    )


def order_views(orders: Iterable[Order]) -> list[OrderView]:
    """Views of orders that came through `with_story`; one more query for the nodes that running jobs have done."""
    rows = list(orders)
    running = [run.job_id for order in rows for run in order.runs.all() if run.ended_at is None]
    done = _done_now(running)
    return [_order_view(order, done) for order in rows]


def _done_now(job_ids: list[int]) -> dict[int, int]:
    if not job_ids:
        return {}
    # Attempts come in order, so the newest one that has results stays in the dict.
    rows = (
        HostResult.objects.filter(job__in=job_ids, ending__in=FINAL_ENDINGS)
        .values("job", "attempt")
        .annotate(nodes=Count("pk"))
        .order_by("job", "attempt")
    )
    return {row["job"]: row["nodes"] for row in rows}


def _order_view(order: Order, done_now: Mapping[int, int]) -> OrderView:
    runs = list(order.runs.all())
    assignments = list(order.assignments.all())
    steps = _steps(order, assignments, runs, done_now)
    open_run = next((run for run in runs if run.ended_at is None), None)
    return OrderView(
        ref=order.ref,
        kind=OrderKind(order.kind),
        requested_for=order.requested_for,
        team=order.team.slug if order.team else "",
        sku=order.spec.get("sku", ""),
        nodes=order.spec.get("nodes", 0),
        status=order.status,
        is_final=order.is_final,
        progress=_progress(order, assignments, open_run, done_now),
        now=_now(order, assignments, open_run, done_now),
        cluster_ref=order.cluster.ref if order.cluster else "",
        placed_at=order.placed_at,
        ended_at=order.ended_at,
        reason=order.reason,
        steps=steps,
        node_views=_nodes(order, assignments),
        swaps=_swaps(assignments),
    )


def plan_of(order: Order) -> tuple[Step, ...]:
    """The steps of this order."""
    return steps_of(
        OrderKind(order.kind),
        nodes=int(order.spec.get("nodes", 0)),
        shrinks=bool(order.spec.get("shrinks")),
        drains=bool(order.spec.get("drains", True)),
    )


def _steps(
    order: Order, assignments: list[Assignment], runs: list[StepRun], done_now: Mapping[int, int]
) -> tuple[StepView, ...]:
    stages = _stages(assignments)
    last = {run.step: run for run in runs}
    plan = plan_of(order)
    names = [step.name for step in plan]
    reached = max((names.index(name) for name in last if name in names), default=-1)
    shown = []
    for position, step in enumerate(plan):
        run = last.get(step.name)
        if run is not None:
            shown.append(_step_with_run(order, step, run, stages, done_now))
        elif step == CONFIRM and (position < reached or order.is_final):
            continue
        else:
            shown.append(StepView(name=step.name, title=step.title, state=StepState.WAITING))
    return tuple(shown)


def _step_with_run(
    order: Order, step: Step, run: StepRun, stages: Mapping[str, Stage], done_now: Mapping[int, int]
) -> StepView:
    now_done = done_now.get(run.job_id, 0) if run.ended_at is None else 0
    if step in PER_NODE and stages:
        total, done = len(stages), count_past(stages, step) + now_done
    else:
        total, done = run.total, now_done or run.done
    return StepView(
        name=step.name,
        title=step.title,
        state=_step_state(order, run),
        done=min(done, total),
        total=total,
        job_ref=format_ref("J", run.job_id),
        job_url=reverse("jobs:detail", args=[format_ref("J", run.job_id)]),
        started_at=run.started_at,
        ended_at=run.ended_at,
    )


def _stages(assignments: list[Assignment]) -> dict[str, Stage]:
    """How far the nodes are that stay in the order."""
    return {
        one.node.name: Stage(one.stage) for one in assignments if one.state != AssignmentState.SWAPPED_OUT
    }


def _step_state(order: Order, run: StepRun) -> StepState:
    if run.ended_at is None:
        return StepState.RUNNING
    if order.status in (OrderState.FAILED, OrderState.CANCELLED) and not run.ended_well:
        return StepState.FAILED
    return StepState.DONE


def _progress(
    order: Order, assignments: list[Assignment], run: StepRun | None, done_now: Mapping[int, int]
) -> float:
    if order.status in (OrderState.READY, OrderState.RELEASED, OrderState.DONE):
        return 1.0
    stages = {one.node.name: Stage(one.stage) for one in assignments if one.state == AssignmentState.ACTIVE}
    part = 0.0 if run is None or run.total == 0 else min(1.0, done_now.get(run.job_id, 0) / run.total)
    if is_remedy(order):
        return part
    step = None if run is None else STEPS[run.step]
    return share_done(stages, plan_of(order), step=step, part=part, names=run.node_names if run else ())


def _now(
    order: Order, assignments: list[Assignment], run: StepRun | None, done_now: Mapping[int, int]
) -> str:
    active = sum(1 for one in assignments if one.state == AssignmentState.ACTIVE)
    if run is not None:
        return _now_running(run, done_now)
    said: dict[str, str] = {
        OrderState.PLACED: "Placed; work begins in a moment.",
        OrderState.RESERVED: f"{_count(active)} reserved; work begins in a moment.",
        OrderState.READY: "Everything was done; the cluster is ready.",
        OrderState.RELEASED: "The nodes were wiped, validated and went back to the pool.",
        OrderState.DONE: "Everything was done on the cluster's nodes.",
        OrderState.FAILED: f"This needs a person: {order.reason}",
        OrderState.CANCELLED: f"Cancelled{': ' + order.reason if order.reason else '.'}",
    }
    return said.get(order.status, "The next step begins in a moment.")


def _now_running(run: StepRun, done_now: Mapping[int, int]) -> str:
    step = STEPS[run.step]
    if run.job.status == JobState.QUEUED:
        why = f" ({run.job.waiting_for})" if run.job.waiting_for else ""
        return f"Next: {step.title[0].lower()}{step.title[1:]}; waiting for a free worker{why}."
    done = min(run.total, done_now.get(run.job_id, 0))
    return f"{step.doing}: {done} of {_count(run.total)} done."


def _count(nodes: int) -> str:
    return "1 node" if nodes == 1 else f"{nodes} nodes"


def _nodes(order: Order, assignments: list[Assignment]) -> tuple[NodeView, ...]:
    return tuple(_node(order, one) for one in assignments if one.state != AssignmentState.SWAPPED_OUT)


def _node(order: Order, assignment: Assignment) -> NodeView:
    """The node as it is now while the order or its cluster holds it; later it is somebody else's, and only named."""
    held: list[Reservation] = vars(assignment.node)["held_now"]
    if any(
        one.order_id == order.pk or (order.cluster_id is not None and one.cluster_id == order.cluster_id)
        for one in held
    ):
        return node_view(assignment.node)
    known = node_view(assignment.node)
    return replace(known, status="released", verdict=None, verdict_at=None, speed=None, report_url="")


def _swaps(assignments: list[Assignment]) -> tuple[SwapView, ...]:
    swaps = [
        SwapView(
            old=one.replaces.node.name, new=one.node.name, reason=one.replaces.reason, at=one.assigned_at
        )
        for one in assignments
        if one.replaces is not None
    ]
    return tuple(sorted(swaps, key=lambda swap: (swap.at, swap.old)))


def evidence_of(assignments: Iterable[Assignment]) -> list[dict[str, Any]]:
    """Nodes that did not stay, with what spoke against them, for people who decide."""
    return [
        {"node": one.node, "reason": one.reason, "evidence": one.evidence, "at": one.ended_at}
        for one in assignments
        if one.state == AssignmentState.SWAPPED_OUT
    ]
