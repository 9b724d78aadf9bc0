"""How does each kind of order come to be, with its nodes, in the caller's transaction?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import IntegrityError, transaction

from portal.accounts.models import Team, User
from portal.kernel.errors import Conflict, Refused
from portal.kernel.moves import move
from portal.ledger.services import record
from provisioning import events
from provisioning.contracts import OrderKind, OrderSpec
from provisioning.fleet.models import Cluster, Node, Sku
from provisioning.fleet.services import reserve_nodes
from provisioning.fleet.states import CLUSTER, NODE, ClusterAction, ClusterState, NodeAction
from provisioning.orders.models import Assignment, Order
from provisioning.orders.reserving import Wanted, reserve
from provisioning.orders.spec import to_json
from provisioning.orders.states import ORDER, OrderAction
from provisioning.orders.work import nodes_of_cluster, racks_of, site_of


def place_build(spec: OrderSpec, *, team: Team, sku: Sku, requested_for: str, by: User | None) -> Order:
    """A new cluster: cluster, order and reserved nodes at once, or nothing."""
    cluster = _new_cluster(spec, team, sku)
    kept = to_json(spec) | {"cluster_name": cluster.name}
    order = _new_order(
        OrderKind.BUILD, team=team, cluster=cluster, spec=kept, requested_for=requested_for, by=by
    )
    _placed(order, sku=sku, nodes=spec.nodes, by=by)
    _reserve(order, Wanted(sku=sku, count=spec.nodes), by=by)
    return order


def place_resize(spec: OrderSpec, *, cluster: Cluster, requested_for: str, by: User | None) -> Order:
    """A cluster grows by new nodes, or gives its slowest ones back."""
    held = nodes_of_cluster(cluster)
    if spec.nodes == len(held):
        raise Refused(f"{cluster.ref} has {len(held)} nodes already.", code="same-size")
    shrinks = spec.nodes < len(held)
    if not shrinks:
        _add_accounts(cluster, spec)
    kept = to_json(spec) | cluster.setup | {"shrinks": shrinks, "drains": True, "nodes_before": len(held)}
    order = _new_order(
        OrderKind.RESIZE, team=cluster.team, cluster=cluster, spec=kept, requested_for=requested_for, by=by
    )
    _placed(order, sku=cluster.sku, nodes=spec.nodes, by=by)
    if shrinks:
        slowest_first = sorted(held, key=lambda node: (1.0 if node.speed is None else node.speed, node.name))
        _take_from_team(order, slowest_first[: len(held) - spec.nodes])
    else:
        more = Wanted(sku=cluster.sku, count=spec.nodes - len(held), near=racks_of(held), site=site_of(held))
        _reserve(order, more, by=by)
    return order


def _add_accounts(cluster: Cluster, spec: OrderSpec) -> None:
    """Who joined the team since gets an account on the new nodes; everything that is put on them is wiped one day."""
    known = {account["name"]: account for account in cluster.setup.get("accounts", [])}
    known |= {account["name"]: account for account in to_json(spec)["accounts"]}
    cluster.setup = cluster.setup | {"accounts": [known[name] for name in sorted(known)]}
    cluster.save(update_fields=["setup"])


def place_release(*, cluster: Cluster, reason: str, requested_for: str, by: User | None) -> Order:
    """A cluster ends: all its nodes go back."""
    held = nodes_of_cluster(cluster)
    move(cluster, ClusterAction.RELEASE, machine=CLUSTER)
    spec = OrderSpec(
        kind=OrderKind.RELEASE,
        team=cluster.team.slug,
        sku=cluster.sku.slug,
        nodes=0,
        cluster_ref=cluster.ref,
    )
    order = _new_order(
        OrderKind.RELEASE,
        team=cluster.team,
        cluster=cluster,
        spec=to_json(spec) | {"drains": True, "reason": reason, "nodes_before": len(held)},
        requested_for=requested_for,
        by=by,
    )
    _placed(order, sku=cluster.sku, nodes=0, by=by)
    _take_from_team(order, held)
    return order


def place_remedy(spec: OrderSpec, *, cluster: Cluster, requested_for: str, by: User | None) -> Order:
    """Something is put on the nodes of a cluster for a while, or taken off; which nodes, is seen when it begins."""
    held = len(nodes_of_cluster(cluster))
    order = _new_order(
        spec.kind,
        team=cluster.team,
        cluster=cluster,
        spec=to_json(spec) | {"sku": cluster.sku.slug, "nodes": held, "nodes_before": held},
        requested_for=requested_for,
        by=by,
    )
    _placed(order, sku=cluster.sku, nodes=held, by=by)
    return order


def place_cleanup(*, after: Order, nodes: Sequence[Node], rejoins: bool, by: User | None) -> Order:
    """Nodes of an order that ended without its result are wiped and proved before anybody else gets them.

    `nodes` are draining. Nobody asked for this, so it is requested for nobody.
    """
    cluster = after.cluster
    assert cluster is not None
    stay = len(nodes_of_cluster(cluster)) if rejoins else 0
    kind = OrderKind.RESIZE if rejoins else OrderKind.RELEASE
    spec = OrderSpec(
        kind=kind, team=cluster.team.slug, sku=cluster.sku.slug, nodes=stay, cluster_ref=cluster.ref
    )
    kept = to_json(spec) | {
        "cleanup_of": after.ref,
        "shrinks": rejoins,
        "drains": rejoins,
        "reason": f"clean-up after {after.ref}",
        "nodes_before": stay + len(nodes),
    }
    order = _new_order(kind, team=cluster.team, cluster=cluster, spec=kept, requested_for="", by=by)
    _placed(order, sku=cluster.sku, nodes=stay, by=by)
    _assign(order, nodes)
    return order


def place_recheck(*, node: Node, by: User | None) -> Order:
    """A node in quarantine proves that it is fit again; it is wiped first, whatever was on it."""
    kept = {
        "kind": OrderKind.RECHECK.value,
        "team": "",
        "sku": node.sku.slug,
        "nodes": 0,
        "drains": False,
        "nodes_before": 1,
    }
    order = _new_order(OrderKind.RECHECK, team=None, cluster=None, spec=kept, requested_for="", by=by)
    _placed(order, sku=node.sku, nodes=0, by=by)
    reserve_nodes(nodes=[node], order=order, cluster=None, action=NodeAction.RECHECK, by=by)
    _assign(order, [node])
    return order


def _new_cluster(spec: OrderSpec, team: Team, sku: Sku) -> Cluster:
    setup = {
        "driver_version": spec.driver_version,
        "accounts": to_json(spec)["accounts"],
        "storage_mounts": to_json(spec)["storage_mounts"],
    }
    for name in _names(spec, team):
        try:
            with transaction.atomic():
                return Cluster.objects.create(
                    team=team,
                    name=name,
                    sku=sku,
                    setup=setup,
                    lease_end=spec.lease_end,
                    status=ClusterState.BUILDING,
                )
        except IntegrityError:
            continue
    raise Conflict(
        f"{team.name} has a cluster called {spec.cluster_name or team.slug} already. Choose another name.",
        code="name-taken",
        data={"field": "cluster_name"},
    )


def _names(spec: OrderSpec, team: Team) -> list[str]:
    """The name that was asked for, or the team's own with the first number that is free."""
    if spec.cluster_name:
        return [spec.cluster_name]
    taken = Cluster.objects.filter(team=team).count()
    return [f"{team.slug}-{taken + step}" for step in range(1, 11)]


def _new_order(
    kind: OrderKind,
    *,
    team: Team | None,
    cluster: Cluster | None,
    spec: dict[str, Any],
    requested_for: str,
    by: User | None,
) -> Order:
    busy = cluster.orders.filter(ended_at=None).first() if cluster is not None else None
    try:
        if busy is None:
            with transaction.atomic():
                return Order.objects.create(
                    kind=kind.value,
                    team=team,
                    cluster=cluster,
                    spec=spec,
                    requested_for=requested_for,
                    placed_by=by,
                    status=ORDER.initial,
                )
    except IntegrityError:
        busy = cluster.orders.filter(ended_at=None).first() if cluster is not None else None
    raise Conflict(
        f"{cluster.ref if cluster else 'This'} is busy with {busy.ref if busy else 'another order'}; wait for its end.",
        code="cluster-busy",
        data={"order": busy.ref if busy else ""},
    )


def _placed(order: Order, *, sku: Sku, nodes: int, by: User | None) -> None:
    record(
        events.ORDER_PLACED,
        subject=order.ref,
        payload={
            "order": order.ref,
            "for": order.requested_for,
            "kind": order.kind,
            "team": order.team.slug if order.team else "",
            "cluster": order.cluster.ref if order.cluster else "",
            "sku": sku.slug,
            "nodes": nodes,
        },
        by=by,
    )


def _reserve(order: Order, wanted: Wanted, *, by: User | None) -> None:
    nodes, choice = reserve(wanted, order=order, cluster=order.cluster, by=by)
    _assign(order, nodes)
    move(order, OrderAction.RESERVE, machine=ORDER)
    record(
        events.NODES_RESERVED,
        subject=order.ref,
        payload={
            "order": order.ref,
            "for": order.requested_for,
            "nodes": [node.name for node in nodes],
            "racks": list(choice.racks),
            "why": choice.why,
            "now": f"Reserved: {choice.why}.",
        },
        by=by,
    )


def _take_from_team(order: Order, nodes: Sequence[Node]) -> None:
    for node in nodes:
        move(node, NodeAction.DRAIN, machine=NODE)
    _assign(order, nodes)


def _assign(order: Order, nodes: Sequence[Node]) -> None:
    Assignment.objects.bulk_create(Assignment(order=order, node=node) for node in nodes)
