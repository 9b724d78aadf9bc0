"""A cluster is built or grows: what follows each of its steps?"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from portal.kernel.clock import now
from portal.kernel.moves import move
from portal.kernel.units import say_share
from portal.ledger.services import record
from provisioning import events
from provisioning.contracts import OrderKind, VerdictValue
from provisioning.fleet.models import Cluster, Hold, Node
from provisioning.fleet.services import note_cluster_verdict
from provisioning.fleet.speed import cluster_speed, worst
from provisioning.fleet.states import CLUSTER, NODE, ClusterAction, NodeAction, NodeState
from provisioning.orders import judging
from provisioning.orders.judging import NodeVerdict
from provisioning.orders.models import Order, StepRun
from provisioning.orders.plan import BUILD, CONFIRM, JOIN, MEASURE, Step, variables
from provisioning.orders.progress import Stage, next_when_building
from provisioning.orders.running import Outcome, start_step
from provisioning.orders.states import ORDER, OrderAction
from provisioning.orders.substituting import deal_with, fail_order
from provisioning.orders.swapping import Blame, Ground
from provisioning.orders.work import (
    MOST_TRIES,
    MOST_UNMEASURED,
    active,
    count_try,
    nodes_of_cluster,
    peers,
    promote,
    setup_of,
    standings,
)

MOST_MEASURES = 2
"""How often the cluster is measured as one before a person decides."""


def go_on(order: Order) -> None:
    """Begin the next step, or deliver."""
    assert order.cluster is not None
    members = nodes_of_cluster(order.cluster)
    coming = next_when_building(standings(order), cluster_size=len(members))
    if coming is None:
        deliver(order)
        return
    targets = _targets(order, coming.step, coming.names, members)
    if coming.step == BUILD:
        _mark_touched(order, coming.names)
    start_step(
        order,
        coming.step,
        nodes=targets,
        variables=variables(
            coming.step, setup_of(order), peers=peers(members), checks=_checks(order, coming.step)
        ),
        by=None,
    )


def _targets(order: Order, step: Step, names: Collection[str], members: list[Node]) -> list[Node]:
    if step in (JOIN, MEASURE):
        return members
    chosen = [one.node for one in active(order) if one.node.name in names]
    if step == CONFIRM:
        chosen += _control(order, chosen)
    return chosen


def _control(order: Order, suspects: list[Node]) -> list[Node]:
    """A node that proved healthy measures again beside the suspects: if it is slow too, the cause is shared."""
    racks = {node.rack_id for node in suspects}
    healthy = [one.node for one in active(order).filter(stage=Stage.VALIDATED)]
    ranked = sorted(healthy, key=lambda node: (node.rack_id not in racks, -(node.speed or 0.0), node.name))
    return ranked[:1]


def _checks(order: Order, step: Step) -> list[str]:
    if step != CONFIRM:
        return []
    return sorted({check for one in active(order) for check in one.suspected_of})


def _mark_touched(order: Order, names: Collection[str]) -> None:
    """From here on the team's accounts may be on these nodes: nobody else gets them before a wipe."""
    active(order).filter(node__name__in=names).update(touched=True)
    Node.objects.filter(name__in=names).update(needs_wipe=True)


def after_build(order: Order, run: StepRun, outcome: Outcome) -> None:
    """Provisioned nodes can join."""
    promote(order, outcome.ok, stage=Stage.PROVISIONED)
    _carry_on(order, outcome, outcome.blamed)


def after_join(order: Order, run: StepRun, outcome: Outcome) -> None:
    """Joined nodes can be validated; all of them join again when one could not be tried."""
    mine = {one.node.name for one in active(order)}
    strangers = sorted(set(outcome.blamed) - mine)
    if strangers:
        fail_order(
            order,
            reason=f"{outcome.blamed[strangers[0]].reason}. This node is in use, so a person has to decide.",
            by=None,
        )
        return
    if not outcome.untried:
        fresh = active(order).filter(stage=Stage.PROVISIONED, node__name__in=outcome.ok)
        promote(order, [one.node.name for one in fresh], stage=Stage.JOINED)
    _carry_on(order, outcome, outcome.blamed)


def after_validate(order: Order, run: StepRun, outcome: Outcome) -> None:
    """Fit nodes are done, unfit ones go, suspects are measured again, and unmeasured ones get a second chance."""
    sweep = judging.judge().judge_nodes(job=run.job)
    blamed = dict(outcome.blamed) | _no_good(outcome.ok, sweep.verdicts)
    measured = _measured(outcome.ok, sweep.verdicts) - set(blamed)
    suspects = {name: checks for name, checks in sweep.suspects.items() if name in measured and checks}
    promote(order, measured - set(suspects), stage=Stage.VALIDATED)
    for one in active(order).filter(node__name__in=list(suspects)):
        one.suspected_of = sorted(suspects[one.node.name])
        one.save(update_fields=["suspected_of"])
    blamed |= _unmeasured(order, outcome.ok - measured - set(blamed), sweep.verdicts)
    _carry_on(order, outcome, blamed)


def after_confirm(order: Order, run: StepRun, outcome: Outcome) -> None:
    """Confirmed slow nodes go; suspects that were cleared, or share their cause with a healthy node, stay."""
    suspected = {one.node.name for one in active(order) if one.suspected_of}
    control = next((name for name in run.node_names if name not in suspected), "")
    verdicts = judging.judge().judge_confirmation(job=run.job, control=control)
    looked_at = outcome.ok & suspected
    blamed = dict(outcome.blamed) | _no_good(looked_at, verdicts)
    measured = _measured(looked_at, verdicts) - set(blamed)
    promote(order, measured, stage=Stage.VALIDATED)
    blamed |= _unmeasured(order, looked_at - measured - set(blamed), verdicts)
    _carry_on(order, outcome, blamed)


def after_measure(order: Order, run: StepRun, outcome: Outcome) -> None:
    """The cluster as one: deliver it, measure once more, or let a person decide."""
    assert order.cluster is not None
    verdict = judging.judge().judge_cluster(cluster=order.cluster, job=run.job)
    if verdict.value in (VerdictValue.FIT, VerdictValue.DEGRADED):
        deliver(order, measured=verdict)
        return
    again = verdict.value == VerdictValue.NOT_MEASURED
    if again and order.runs.filter(step=MEASURE.name).count() < MOST_MEASURES:
        go_on(order)
        return
    said = verdict.reason or outcome.why
    words = "could not be measured as one" if again else "is too slow as one"
    fail_order(order, reason=f"The cluster {words}: {said}. A person has to decide.", by=None)


def _carry_on(order: Order, outcome: Outcome, blamed: Mapping[str, Blame]) -> None:
    spent = count_try(order, outcome.untried, most=MOST_TRIES)
    if spent:
        names = ", ".join(spent)
        fail_order(
            order, reason=f"{names} could not be tried {MOST_TRIES} times in a row: {outcome.why}", by=None
        )
    elif deal_with(order, {**_on_hold(order), **blamed}, worked_on=outcome.worked_on, by=None):
        go_on(order)


def _on_hold(order: Order) -> dict[str, Blame]:
    """Nodes that an operator took out of the pool while the order works on them."""
    holds = Hold.objects.filter(
        closed_at=None, owner="operator", node__in=active(order).values("node")
    ).select_related("node")
    return {
        hold.node.name: Blame(
            ground=Ground.HELD,
            code=hold.reason_code,
            reason=f"{hold.node.name} was put on hold by an operator: {hold.reason}",
            evidence=hold.evidence,
        )
        for hold in holds
    }


_GROUNDS = {VerdictValue.UNFIT: Ground.UNFIT, VerdictValue.DEGRADED: Ground.DEGRADED}


def _no_good(names: Iterable[str], verdicts: Mapping[str, NodeVerdict]) -> dict[str, Blame]:
    found = {}
    for name in names:
        verdict = verdicts.get(name)
        ground = _GROUNDS.get(verdict.value) if verdict is not None else None
        if verdict is not None and ground is not None:
            found[name] = Blame(
                ground=ground,
                code=ground.value,
                reason=f"{name} is {ground.value}: {verdict.reason}",
                evidence=verdict.evidence,
                speed=verdict.speed,
            )
    return found


def _measured(names: Iterable[str], verdicts: Mapping[str, NodeVerdict]) -> set[str]:
    return {name for name in names if name in verdicts and verdicts[name].value != VerdictValue.NOT_MEASURED}


def _unmeasured(
    order: Order, names: Collection[str], verdicts: Mapping[str, NodeVerdict]
) -> dict[str, Blame]:
    """Nodes that came back without a verdict once too often. Nothing says that they are broken."""
    return {
        name: Blame(
            ground=Ground.UNMEASURED,
            code=Ground.UNMEASURED.value,
            reason=f"{name} could not be measured {MOST_UNMEASURED} times: "
            f"{verdicts[name].reason if name in verdicts else 'it gave no results'}",
            evidence=verdicts[name].evidence if name in verdicts else {},
        )
        for name in count_try(order, names, most=MOST_UNMEASURED)
    }


def deliver(order: Order, *, measured: NodeVerdict | None = None) -> None:
    """The cluster is the team's. `measured` is the verdict on the cluster as one; None where it was not asked for."""
    assert order.cluster is not None
    cluster = order.cluster
    members = nodes_of_cluster(cluster)
    for node in members:
        if node.status == NodeState.RESERVED:
            move(node, NodeAction.HAND_OVER, machine=NODE)
    if order.kind == OrderKind.BUILD:
        move(cluster, ClusterAction.DELIVER, machine=CLUSTER, extra={"ready_at": now()})
    move(order, OrderAction.DELIVER, machine=ORDER, extra={"ended_at": now()})
    _sum_up(cluster, members, measured)
    record(events.ORDER_READY, subject=order.ref, payload=ready_payload(order, cluster, members), by=None)


def _sum_up(cluster: Cluster, members: list[Node], measured: NodeVerdict | None) -> None:
    """The cluster is as good as its worst node and its measurement as one, and as fast as its slowest node."""
    gpus = sum(node.sku.gpus_per_node for node in members)
    speed = cluster_speed({node.name: node.speed for node in members}, gpus=gpus)
    verdicts = [VerdictValue(node.verdict or VerdictValue.NOT_MEASURED) for node in members]
    if measured is not None:
        verdicts.append(measured.value)
    busbw = measured.evidence.get("busbw_gbps") if measured is not None else cluster.busbw_gbps
    note_cluster_verdict(
        cluster=cluster,
        verdict=worst(verdicts),
        at=now(),
        speed=speed.speed if speed else None,
        slowest_node=speed.slowest_node if speed else "",
        gpu_hours_lost_per_day=speed.gpu_hours_lost_per_day if speed else None,
        busbw_gbps=busbw,
    )


def ready_payload(order: Order, cluster: Cluster, members: list[Node]) -> dict[str, object]:
    """What `order.ready` tells: the cluster as it is now, and what the order changed."""
    gpus = sum(node.sku.gpus_per_node for node in members)
    speed = "" if cluster.speed is None else f", at {say_share(cluster.speed)} of what its peers reach"
    return {
        "order": order.ref,
        "for": order.requested_for,
        "kind": order.kind,
        "cluster": cluster.ref,
        "sku": cluster.sku.slug,
        "nodes": len(members),
        "nodes_before": order.spec.get("nodes_before", 0),
        "gpus": gpus,
        "swaps": order.swaps_used,
        "verdict": cluster.verdict,
        "speed": cluster.speed,
        "slowest_node": cluster.slowest_node,
        "gpu_hours_lost_per_day": cluster.gpu_hours_lost_per_day,
        "busbw_gbps": cluster.busbw_gbps,
        "now": f"{cluster.ref} is ready: {len(members)} nodes, {gpus} GPUs{speed}.",
    }
