"""A node of an order is no good: how is it replaced, and how does an order that can't go on end cleanly?"""

from __future__ import annotations

from collections.abc import Mapping

from django.conf import settings

from portal.accounts.models import User
from portal.kernel.clock import now
from portal.kernel.errors import Conflict, Refused
from portal.kernel.moves import move
from portal.ledger.services import record
from provisioning import events
from provisioning.contracts import OrderKind
from provisioning.fleet.models import Node
from provisioning.fleet.services import quarantine_node, unreserve_node
from provisioning.fleet.states import CLUSTER, NODE, ClusterAction, ClusterState, NodeAction
from provisioning.orders.models import Assignment, AssignmentState, Order
from provisioning.orders.placing import place_cleanup
from provisioning.orders.progress import Stage
from provisioning.orders.reserving import Wanted, reserve
from provisioning.orders.states import ORDER, OrderAction
from provisioning.orders.swapping import Blame, GiveUp, Ground, decide
from provisioning.orders.work import active, nodes_of_cluster, promote, racks_of


def deal_with(order: Order, blamed: Mapping[str, Blame], *, worked_on: int, by: User | None) -> bool:
    """Replace the blamed nodes, keep those that may stay, or fail the order; False when the order is over."""
    if not blamed:
        return True
    limit: int = settings.CONFIG.node_swap_limit
    decision = decide(blamed, worked_on=worked_on, swaps_used=order.swaps_used, limit=limit)
    if isinstance(decision, GiveUp):
        for one in _assigned(order, decision.blamed):
            take_out(one, decision.blamed[one.node.name], by=by)
        fail_order(order, reason=decision.reason, by=by)
        return False
    for one in _assigned(order, decision.must):
        if not replace_unusable(order, one, decision.must[one.node.name], by=by):
            return False
    for one in _assigned(order, decision.may):
        replace_slow(order, one, decision.may[one.node.name], by=by)
    for one in _assigned(order, decision.kept):
        keep(order, one, decision.kept[one.node.name], by=by)
    return True


def _assigned(order: Order, blamed: Mapping[str, Blame]) -> list[Assignment]:
    return list(active(order).filter(node__name__in=list(blamed)))


_OWNERS = {Ground.FAILED: "provisioning", Ground.HELD: "operator"}


def take_out(assignment: Assignment, blame: Blame, *, by: User | None) -> None:
    """Out of the order and out of the pool, with what speaks against the node kept on both."""
    quarantine_node(
        node=assignment.node,
        reason_code=blame.code,
        reason=blame.reason,
        evidence=blame.evidence,
        owner=_OWNERS.get(blame.ground, "validation"),
        by_its_order=True,
        by=by,
    )
    assignment.state = AssignmentState.SWAPPED_OUT
    assignment.reason = blame.reason
    assignment.evidence = dict(blame.evidence)
    assignment.ended_at = now()
    assignment.save(update_fields=["state", "reason", "evidence", "ended_at"])


def replace_unusable(order: Order, assignment: Assignment, blame: Blame, *, by: User | None) -> bool:
    """The node goes whatever comes; without a replacement the order fails and this says False."""
    old = assignment.node
    try:
        new, why = _spare_for(order, old, steady_only=False, by=by)
    except Refused:
        take_out(assignment, blame, by=by)
        fail_order(
            order,
            reason=f"{blame.reason}. No node of {old.sku.slug} is left to replace {old.name}. A person has to decide.",
            by=by,
        )
        return False
    _swap(order, assignment, new, blame, why, by=by)
    return True


def replace_slow(order: Order, assignment: Assignment, blame: Blame, *, by: User | None) -> None:
    """The node goes only if one that is not known to be slow can take its place."""
    try:
        new, why = _spare_for(order, assignment.node, steady_only=True, by=by)
    except (Refused, Conflict):
        keep(order, assignment, blame, by=by)
        return
    _swap(order, assignment, new, blame, why, by=by)


def keep(order: Order, assignment: Assignment, blame: Blame, *, by: User | None) -> None:
    """A degraded node stays, because nothing better can be had; the team is told."""
    assignment.reason = f"kept, nothing better could be had: {blame.reason}"
    assignment.evidence = dict(blame.evidence)
    assignment.save(update_fields=["reason", "evidence"])
    promote(order, [assignment.node.name], stage=Stage.VALIDATED)
    payload = {
        "order": order.ref,
        "for": order.requested_for,
        "node": assignment.node.name,
        "reason": blame.reason,
        "evidence": dict(blame.evidence),
    }
    record(events.NODE_KEPT, subject=order.ref, payload=payload, by=by)


def _spare_for(order: Order, old: Node, *, steady_only: bool, by: User | None) -> tuple[Node, str]:
    assert order.cluster is not None
    near = racks_of(nodes_of_cluster(order.cluster))
    wanted = Wanted(sku=old.sku, count=1, near=near, use_spares=True, steady_only=steady_only, site=old.site)
    nodes, choice = reserve(wanted, order=order, cluster=order.cluster, by=by)
    return nodes[0], choice.why


def _swap(
    order: Order, assignment: Assignment, new: Node, blame: Blame, why: str, *, by: User | None
) -> None:
    assert order.cluster is not None
    take_out(assignment, blame, by=by)
    Assignment.objects.create(order=order, node=new, replaces=assignment)
    order.swaps_used += 1
    order.save(update_fields=["swaps_used"])
    record(
        events.NODE_SWAPPED,
        subject=order.ref,
        payload={
            "order": order.ref,
            "for": order.requested_for,
            "cluster": order.cluster.ref,
            "old": assignment.node.name,
            "new": new.name,
            "reason": blame.reason,
            "reason_code": blame.code,
            "evidence": dict(blame.evidence),
            "why_this_one": why,
        },
        by=by,
    )


def fail_order(order: Order, *, reason: str, by: User | None) -> None:
    """End the order without its result; its nodes go back, wiped first where something was done to them."""
    move(order, OrderAction.FAIL, machine=ORDER, extra={"ended_at": now(), "reason": reason})
    end_without_result(order, by=by)
    record(
        events.ORDER_FAILED,
        subject=order.ref,
        payload={
            "order": order.ref,
            "for": order.requested_for,
            "cluster": order.cluster.ref if order.cluster else "",
            "kind": order.kind,
            "reason": reason,
            "now": f"A person has to look: {reason}",
        },
        by=by,
    )


def end_without_result(order: Order, *, by: User | None) -> None:
    """What failing and cancelling share: the cluster that was to be is off, and every node finds its way home."""
    if order.cluster is not None and order.cluster.status == ClusterState.BUILDING:
        move(order.cluster, ClusterAction.FAIL, machine=CLUSTER, extra={"ended_at": now()})
    touched: list[Node] = []
    for one in active(order):
        if one.touched:
            move(one.node, NodeAction.DRAIN, machine=NODE)
            touched.append(one.node)
        else:
            unreserve_node(node=one.node, by=by)
        one.state = AssignmentState.RELEASED
        one.ended_at = now()
        one.save(update_fields=["state", "ended_at"])
    if touched:
        place_cleanup(after=order, nodes=touched, rejoins=order.kind == OrderKind.RESIZE, by=by)
