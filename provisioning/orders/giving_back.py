"""Nodes go back to the pool: what follows each step? Nothing keeps a release from ending.

A node that can't be drained, wiped or proved fit goes to quarantine with what speaks against it; the rest goes on.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from portal.kernel.clock import now
from portal.kernel.moves import move
from portal.ledger.services import record
from provisioning import events
from provisioning.contracts import OrderKind, VerdictValue
from provisioning.fleet.models import Node
from provisioning.fleet.services import close_own_holds, give_back_node
from provisioning.fleet.states import CLUSTER, ClusterAction, ClusterState
from provisioning.orders import judging
from provisioning.orders.building import deliver
from provisioning.orders.judging import NodeVerdict
from provisioning.orders.models import AssignmentState, Order, StepRun
from provisioning.orders.plan import JOIN, variables
from provisioning.orders.progress import Stage, next_when_giving_back
from provisioning.orders.running import Outcome, start_step
from provisioning.orders.states import ORDER, OrderAction
from provisioning.orders.substituting import take_out
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

MOST_REJOINS = 3


def go_on(order: Order) -> None:
    """Begin the next step, or end."""
    stay = nodes_of_cluster(order.cluster) if order.spec.get("shrinks") and order.cluster else []
    waiting = [one for one in standings(order) if one.stage != Stage.REVALIDATED]
    coming = next_when_giving_back(waiting, drains=bool(order.spec.get("drains")), rejoins=bool(stay))
    if coming is None:
        finish(order)
        return
    targets = stay if coming.step == JOIN else _nodes(order, coming.names)
    told = variables(coming.step, setup_of(order), peers=peers(stay), reason=_why(order))
    start_step(order, coming.step, nodes=targets, variables=told, by=None)


def _nodes(order: Order, names: Collection[str]) -> list[Node]:
    return [one.node for one in active(order).filter(node__name__in=names)]


def _why(order: Order) -> str:
    """Said to the scheduler; a person's words stay in the ledger."""
    where = order.cluster.ref if order.cluster else "the pool"
    return f"{order.ref}: {order.kind} of {where}"


def after_drain(order: Order, run: StepRun, outcome: Outcome) -> None:
    """Empty nodes can be wiped."""
    promote(order, outcome.ok, stage=Stage.DRAINED)
    _carry_on(order, outcome, outcome.blamed)


def after_wipe(order: Order, run: StepRun, outcome: Outcome) -> None:
    """Only here a node stops being somebody's."""
    Node.objects.filter(name__in=outcome.ok).update(needs_wipe=False)
    promote(order, outcome.ok, stage=Stage.WIPED)
    _carry_on(order, outcome, outcome.blamed)


def after_revalidate(order: Order, run: StepRun, outcome: Outcome) -> None:
    """Fit nodes go to the pool. A slow one does too: placement knows, and takes it last."""
    verdicts = judging.judge().judge_nodes(job=run.job).verdicts
    blamed = dict(outcome.blamed)
    unmeasured: list[str] = []
    for one in list(active(order).filter(node__name__in=outcome.ok)):
        verdict = verdicts.get(one.node.name, NodeVerdict(value=VerdictValue.NOT_MEASURED))
        if verdict.value == VerdictValue.UNFIT:
            blamed[one.node.name] = _blame(
                Ground.UNFIT, f"{one.node.name} is unfit: {verdict.reason}", verdict
            )
        elif verdict.value == VerdictValue.NOT_MEASURED:
            unmeasured.append(one.node.name)
        else:
            _back_to_the_pool(order, one.node, verdict)
            promote(order, [one.node.name], stage=Stage.REVALIDATED)
    for name in count_try(order, unmeasured, most=MOST_UNMEASURED):
        verdict = verdicts.get(name, NodeVerdict(value=VerdictValue.NOT_MEASURED, reason="no results"))
        blamed[name] = _blame(Ground.UNMEASURED, f"{name} could not be measured: {verdict.reason}", verdict)
    _carry_on(order, outcome, blamed)


def after_rejoin(order: Order, run: StepRun, outcome: Outcome) -> None:
    """The nodes that stay know the smaller cluster. Trouble here is a person's: the team works on these nodes."""
    troubled = bool(outcome.blamed or outcome.untried)
    if troubled and order.runs.filter(step=JOIN.name).count() < MOST_REJOINS:
        go_on(order)
        return
    if troubled:
        said = "; ".join(blame.reason for blame in outcome.blamed.values()) or outcome.why
        order.reason = f"The nodes that stay could not all be told of the smaller cluster: {said}"
        order.save(update_fields=["reason"])
    finish(order)


def _blame(ground: Ground, reason: str, verdict: NodeVerdict) -> Blame:
    return Blame(ground=ground, code=ground.value, reason=reason, evidence=verdict.evidence)


def _back_to_the_pool(order: Order, node: Node, verdict: NodeVerdict) -> None:
    note = f"{verdict.value.replace('_', ' ')} in {order.ref}"
    if order.kind == OrderKind.RECHECK:
        close_own_holds(node=node, note=note, by=None)
    give_back_node(node=node, note=note, by=None)


def _carry_on(order: Order, outcome: Outcome, blamed: Mapping[str, Blame]) -> None:
    spent = count_try(order, outcome.untried, most=MOST_TRIES)
    given_up = {
        name: Blame(
            ground=Ground.FAILED,
            code="never-reached",
            reason=f"{name} could not be tried {MOST_TRIES} times in a row: {outcome.why}",
        )
        for name in spent
    }
    against = {**blamed, **given_up}
    for one in list(active(order).filter(node__name__in=list(against))):
        take_out(one, against[one.node.name], by=None)
    go_on(order)


def finish(order: Order) -> None:
    """The order is over: a smaller cluster is ready again, a released one has ended."""
    active(order).update(state=AssignmentState.RELEASED, ended_at=now())
    if order.spec.get("shrinks") and order.cluster and order.runs.filter(step=JOIN.name).exists():
        deliver(order)
        return
    gone = order.assignments.select_related("node__sku")
    gpus = sum(one.node.sku.gpus_per_node for one in gone)
    move(order, OrderAction.GIVE_BACK, machine=ORDER, extra={"ended_at": now()})
    if order.cluster is not None and order.cluster.status == ClusterState.RELEASING:
        move(order.cluster, ClusterAction.END, machine=CLUSTER, extra={"ended_at": now()})
    record(events.ORDER_RELEASED, subject=order.ref, payload=_released(order, len(gone), gpus), by=None)


def _released(order: Order, nodes: int, gpus: int) -> dict[str, object]:
    """What `order.released` tells; `built_for` is who asked for the cluster when it was built."""
    built = order.cluster.orders.filter(kind=OrderKind.BUILD).first() if order.cluster else None
    held = order.assignments.filter(state=AssignmentState.SWAPPED_OUT).count()
    aside = f"; {held} of them went to quarantine" if held else ""
    return {
        "order": order.ref,
        "for": order.requested_for,
        "kind": order.kind,
        "cluster": order.cluster.ref if order.cluster else "",
        "sku": order.spec["sku"],
        "nodes": nodes,
        "gpus": gpus,
        "quarantined": held,
        "built_by": built.ref if built else "",
        "built_for": built.requested_for if built else "",
        "cleanup_of": order.spec.get("cleanup_of", ""),
        "now": f"{nodes} nodes were wiped and validated{aside}.",
    }
