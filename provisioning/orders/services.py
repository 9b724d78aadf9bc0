"""What may people and other houses ask of orders? Place, cancel, release, and have a node proved again."""

from __future__ import annotations

from django.db import transaction

from portal.accounts.models import Team, User
from portal.kernel.clock import now
from portal.kernel.errors import Conflict, Invalid, NotFound, Refused
from portal.kernel.moves import move
from portal.kernel.refs import parse_ref
from portal.ledger.services import record
from provisioning import events
from provisioning.contracts import OrderKind, OrderSpec
from provisioning.fleet.models import Cluster, Node
from provisioning.fleet.queries import find_sku
from provisioning.fleet.states import ClusterState, NodeState
from provisioning.jobs.services import cancel_job
from provisioning.orders.models import Order
from provisioning.orders.placing import place_build, place_recheck, place_release, place_remedy, place_resize
from provisioning.orders.running import close_run, open_run
from provisioning.orders.spec import complaints_about
from provisioning.orders.states import ORDER, OrderAction
from provisioning.orders.substituting import end_without_result


@transaction.atomic
def place_order(*, spec: OrderSpec, requested_for: str, reason: str = "", by: User | None) -> Order:
    """Check what is asked and place it, nodes reserved. Raises Invalid, NotFound, Conflict, or Refused with the
    nearest yes; then nothing has happened."""
    if spec.kind == OrderKind.RECHECK:
        raise Refused("A recheck is asked for a node, with recheck_node.", code="not-by-spec")
    complaints = complaints_about(spec, at=now())
    if complaints:
        raise Invalid(complaints)
    if spec.kind == OrderKind.BUILD:
        return place_build(
            spec, team=_team(spec.team), sku=find_sku(spec.sku), requested_for=requested_for, by=by
        )
    cluster = _ready_cluster(spec)
    if spec.kind in (OrderKind.APPLY, OrderKind.REVERT):
        return place_remedy(spec, cluster=cluster, requested_for=requested_for, by=by)
    if spec.kind == OrderKind.RELEASE:
        return place_release(cluster=cluster, reason=reason, requested_for=requested_for, by=by)
    return place_resize(spec, cluster=cluster, requested_for=requested_for, by=by)


def _team(slug: str) -> Team:
    team = Team.objects.filter(slug=slug).first()
    if team is None:
        raise NotFound(f"There is no team {slug[:40]!r}.")
    return team


def _ready_cluster(spec: OrderSpec) -> Cluster:
    number = parse_ref(spec.cluster_ref, "C")
    cluster = (
        Cluster.objects.select_for_update(of=("self",))
        .select_related("team", "sku")
        .filter(pk=number, team__slug=spec.team)
        .first()
    )
    if cluster is None:
        raise NotFound(f"{spec.cluster_ref} is not a cluster of {spec.team[:40]}.")
    if cluster.status != ClusterState.READY:
        raise Conflict(
            f"{cluster.ref} is {cluster.status}; only a ready cluster can be resized, released or changed.",
            code="cluster-not-ready",
            data={"status": cluster.status},
        )
    return cluster


def release_cluster(*, cluster: Cluster, reason: str, by: User | None) -> Order:
    """Give a whole cluster back: drain, wipe, validate, to the pool."""
    spec = OrderSpec(
        kind=OrderKind.RELEASE,
        team=cluster.team.slug,
        sku=cluster.sku.slug,
        nodes=0,
        cluster_ref=cluster.ref,
    )
    return place_order(spec=spec, requested_for="", reason=reason, by=by)


@transaction.atomic
def cancel_order(*, order: Order, reason: str, by: User | None) -> Order:
    """Stop an order that builds; what was done to its nodes is undone by a clean-up order."""
    order = (
        Order.objects.select_for_update(of=("self",))
        .select_related("team", "cluster__team", "cluster__sku")
        .get(pk=order.pk)
    )
    move(order, OrderAction.CANCEL, machine=ORDER, extra={"ended_at": now(), "reason": reason})
    run = open_run(order)
    if run is not None:
        close_run(run, done=0)
        cancel_job(run.job, reason=f"{order.ref} was cancelled", by=None)
    end_without_result(order, by=by)
    record(
        events.ORDER_CANCELLED,
        subject=order.ref,
        payload={
            "order": order.ref,
            "for": order.requested_for,
            "cluster": order.cluster.ref if order.cluster else "",
            "kind": order.kind,
            "reason": reason,
            "now": f"Cancelled{': ' + reason if reason else ''}.",
        },
        by=by,
    )
    return order


@transaction.atomic
def recheck_node(*, node: Node, by: User | None) -> Order:
    """Let a node in quarantine prove that it is fit: wiped, validated, and back to the pool if no hold is left."""
    if node.status != NodeState.QUARANTINED:
        raise Refused(
            f"{node.name} is {node.status}; only a node in quarantine is rechecked.", code="not-held"
        )
    return place_recheck(node=node, by=by)
