"""Which nodes does an order work on, how far are they, and what is put on them?"""

from __future__ import annotations

from collections.abc import Collection

from django.db.models import QuerySet

from provisioning.contracts import OrderKind
from provisioning.fleet.models import Cluster, Node, Reservation
from provisioning.fleet.states import NodeState
from provisioning.orders.models import Assignment, AssignmentState, Order
from provisioning.orders.plan import Peer, Setup
from provisioning.orders.progress import Stage, Standing
from provisioning.orders.spec import accounts_from, mounts_from

MOST_TRIES = 3
"""How often a step is begun for a node that could not be tried, through no fault of its own."""
MOST_UNMEASURED = 2
"""How often a node may come back without a verdict before another takes its place."""


def active(order: Order) -> QuerySet[Assignment]:
    """Assignments the order still works on, in the order of node names."""
    return (
        order.assignments.filter(state=AssignmentState.ACTIVE)
        .select_related("node__sku", "node__rack")
        .order_by("node__name")
    )


def standings(order: Order) -> list[Standing]:
    """How far each of them is."""
    return [
        Standing(name=one.node.name, stage=Stage(one.stage), suspected=bool(one.suspected_of))
        for one in active(order)
    ]


def gives_back(order: Order) -> bool:
    """True for an order that takes nodes away from a team."""
    return order.kind in (OrderKind.RELEASE, OrderKind.RECHECK) or bool(order.spec.get("shrinks"))


def is_remedy(order: Order) -> bool:
    """True for an order that changes nodes of a cluster for a while, and neither gives nor takes any."""
    return order.kind in (OrderKind.APPLY, OrderKind.REVERT)


def nodes_of_cluster(cluster: Cluster) -> list[Node]:
    """Nodes that are, or are about to be, at work for the cluster; those on their way out are not."""
    held = Reservation.objects.filter(
        cluster=cluster, released_at=None, node__status__in=(NodeState.RESERVED, NodeState.IN_USE)
    ).select_related("node__sku", "node__rack")
    return [reservation.node for reservation in held.order_by("node__name")]


def racks_of(nodes: Collection[Node]) -> tuple[str, ...]:
    """Racks that these nodes stand in."""
    return tuple(sorted({node.rack.name for node in nodes if node.rack}))


def site_of(nodes: Collection[Node]) -> str | None:
    """The site of a cluster's nodes; None when it has none yet."""
    return next((node.site for node in nodes), None)


def peers(nodes: Collection[Node]) -> list[Peer]:
    """Nodes as their cluster reaches them."""
    return [Peer(name=node.name, address=node.address) for node in nodes]


def setup_of(order: Order) -> Setup:
    """What is put on the order's nodes, or was; a node in recheck carries what its last cluster put there."""
    cluster = order.cluster or _last_cluster(order)
    if cluster is None:
        return Setup(team="", cluster_name="", driver_version="", fabric_manager=False)
    kept = cluster.setup
    return Setup(
        team=cluster.team.slug,
        cluster_name=cluster.name,
        driver_version=kept.get("driver_version") or cluster.sku.driver_version,
        fabric_manager=bool(cluster.sku.data.get("nvswitch")),
        accounts=accounts_from(kept.get("accounts", [])),
        storage_mounts=mounts_from(kept.get("storage_mounts", [])),
        remedy=str(order.spec.get("remedy", "")),
        settings=tuple((str(name), str(value)) for name, value in order.spec.get("settings", [])),
    )


def _last_cluster(order: Order) -> Cluster | None:
    node_ids = order.assignments.values("node")
    last = (
        Reservation.objects.filter(node__in=node_ids, cluster__isnull=False)
        .select_related("cluster__team", "cluster__sku")
        .order_by("-pk")
        .first()
    )
    return None if last is None else last.cluster


def promote(order: Order, names: Collection[str], *, stage: Stage) -> None:
    """Note that these nodes are past a step; whatever spoke against them before is settled."""
    order.assignments.filter(state=AssignmentState.ACTIVE, node__name__in=names).update(
        stage=stage.value, tries=0, suspected_of=[]
    )


def count_try(order: Order, names: Collection[str], *, most: int) -> list[str]:
    """Note one more try in vain; returns the nodes that have used theirs up."""
    spent = []
    for one in active(order).filter(node__name__in=names):
        one.tries += 1
        one.save(update_fields=["tries"])
        if one.tries >= most:
            spent.append(one.node.name)
    return spent
