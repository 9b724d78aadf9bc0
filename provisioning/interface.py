"""What may other houses ask of provisioning? Functions in, frozen contracts out; nothing else crosses this door."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

from django.contrib.auth.models import AnonymousUser
from django.db.models import Q, QuerySet, Sum

from portal.accounts.models import User
from portal.kernel.errors import NotFound
from portal.kernel.refs import parse_ref
from provisioning.contracts import (
    Capacity,
    ClusterView,
    FoundMachine,
    GpuUse,
    OrderKind,
    OrderSpec,
    OrderView,
    RemedyView,
    SkuView,
)
from provisioning.fleet import queries as fleet
from provisioning.fleet import services as fleet_services
from provisioning.fleet.models import Cluster, Reservation
from provisioning.fleet.states import ClusterState
from provisioning.fleet.telling import cluster_view as tell_cluster
from provisioning.orders import remedies as known_remedies
from provisioning.orders import services
from provisioning.orders.models import Order
from provisioning.orders.telling import order_views as tell_orders
from provisioning.orders.telling import with_story

MOST_CLUSTERS = 200


def place_order(spec: OrderSpec, *, requested_for: str, reason: str = "", by: User | None) -> OrderView:
    """Place an order and reserve its nodes, in the caller's transaction.

    Raises Invalid (a field), NotFound (team, SKU, cluster), Conflict (the cluster is busy, nodes contended), or Refused
    with code `not-enough-nodes` and data `asked`, `available`, `kept_back`, `nearest_yes`, `next_free_at`.
    """
    order = services.place_order(spec=spec, requested_for=requested_for, reason=reason, by=by)
    return order_view(order.ref)


def cancel_order(ref: str, *, reason: str, by: User | None) -> OrderView:
    """Stop an order that is being built. Raises IllegalMove when it is over already."""
    services.cancel_order(order=_order(ref), reason=reason, by=by)
    return order_view(ref)


def order_view(ref: str) -> OrderView:
    """An order as a requester may see it. Whoever asks has checked that they may."""
    found = tell_orders(with_story(Order.objects.filter(pk=parse_ref(ref, "O"))))
    if not found:
        raise NotFound(f"There is no order {ref}.")
    return found[0]


def order_views(refs: Iterable[str]) -> dict[str, OrderView]:
    """Orders by ref, those that exist, in a constant number of queries."""
    numbers = [parse_ref(ref, "O") for ref in refs if ref]
    return {view.ref: view for view in tell_orders(with_story(Order.objects.filter(pk__in=numbers)))}


def orders_for(requested_for: str) -> tuple[OrderView, ...]:
    """Orders that were placed for this opaque ref, oldest first."""
    orders = Order.objects.filter(requested_for=requested_for).order_by("pk")
    return tuple(tell_orders(with_story(orders)))


def order_refs_for(requested_for: str) -> tuple[str, ...]:
    """Refs of all orders that were ever placed for this opaque ref, oldest first, in one query."""
    found = Order.objects.filter(requested_for=requested_for).order_by("pk").only("pk")
    return tuple(order.ref for order in found)


def cluster_view(ref: str) -> ClusterView:
    """A cluster. Whoever asks has checked that they may see it."""
    found = _tell(Cluster.objects.filter(pk=parse_ref(ref, "C")))
    if not found:
        raise NotFound(f"There is no cluster {ref}.")
    return found[0]


def change_lease(ref: str, *, until: datetime | None, by: User | None) -> ClusterView:
    """Let a ready cluster's lease end at another time; None leaves it open. Raises Invalid, Refused, NotFound."""
    cluster = Cluster.objects.filter(pk=parse_ref(ref, "C")).first()
    if cluster is None:
        raise NotFound(f"There is no cluster {ref}.")
    fleet_services.change_lease(cluster=cluster, until=until, by=by)
    return cluster_view(ref)


def clusters_visible_to(user: User | AnonymousUser) -> tuple[ClusterView, ...]:
    """Living clusters this person may see, newest first."""
    return _tell(Cluster.objects.visible_to(user).living()[:MOST_CLUSTERS])


def find_machines(user: User, text: str, *, number: int | None = None, limit: int = 5) -> list[FoundMachine]:
    """Clusters and nodes this person may see whose name holds `text`, or the cluster of this number."""
    return fleet.find_machines(user, text, number=number, limit=limit)


def clusters_of(team_slug: str) -> tuple[ClusterView, ...]:
    """Living clusters of a team, newest first."""
    return _tell(Cluster.objects.living().filter(team__slug=team_slug)[:MOST_CLUSTERS])


def ready_clusters_of(team_slug: str) -> tuple[ClusterView, ...]:
    """Clusters that a team can resize or release now."""
    ready = Cluster.objects.filter(status=ClusterState.READY, team__slug=team_slug)
    return _tell(ready[:MOST_CLUSTERS])


def gpus_held(team_slug: str) -> dict[str, int]:
    """GPUs that a team's clusters hold now, by SKU; a SKU without any is not there."""
    rows = (
        Reservation.objects.filter(released_at=None, cluster__team__slug=team_slug)
        .values("node__sku__slug")
        .annotate(gpus=Sum("node__sku__gpus_per_node"))
        .order_by("node__sku__slug")
    )
    return {row["node__sku__slug"]: row["gpus"] for row in rows}


def gpu_uses(since: datetime) -> Iterator[GpuUse]:
    """What teams' clusters held since then, one row per node and reservation, in one query."""
    rows = Reservation.objects.filter(cluster__isnull=False).filter(
        Q(released_at=None) | Q(released_at__gt=since)
    )
    columns = ("cluster__team__slug", "node__sku__slug", "node__sku__gpus_per_node", "period", "released_at")
    for team, sku, gpus, period, released_at in rows.values_list(*columns).order_by("pk").iterator():
        yield GpuUse(team=team, sku=sku, gpus=gpus, start=max(period.lower, since), end=released_at)


def capacity(sku: str) -> Capacity:
    """What can be given away of a SKU now. Raises NotFound."""
    found = fleet.capacities().get(sku)
    if found is None:
        fleet.find_sku(sku)
        raise NotFound(f"There is no SKU {sku[:40]!r}.")
    return found


def capacities() -> dict[str, Capacity]:
    """Capacity of every SKU by slug."""
    return fleet.capacities()


def remedies() -> tuple[RemedyView, ...]:
    """What can be put on a cluster's nodes for a while, and taken off again."""
    return known_remedies.views()


def skus() -> tuple[SkuView, ...]:
    """Every SKU."""
    return fleet.sku_views()


def sku(slug: str) -> SkuView:
    """One SKU. Raises NotFound."""
    found = next((view for view in fleet.sku_views() if view.slug == slug), None)
    if found is None:
        raise NotFound(f"There is no SKU {slug[:40]!r}.")
    return found


def _order(ref: str) -> Order:
    order = Order.objects.filter(pk=parse_ref(ref, "O")).first()
    if order is None:
        raise NotFound(f"There is no order {ref}.")
    return order


def _tell(clusters: QuerySet[Cluster]) -> tuple[ClusterView, ...]:
    rows = list(fleet.with_nodes(clusters))
    builds = Order.objects.filter(kind=OrderKind.BUILD, cluster__in=[row.pk for row in rows])
    built_by = {order.cluster_id: order.ref for order in builds}
    return tuple(
        tell_cluster(
            row,
            [reservation.node for reservation in fleet.held_by(row)],
            order_ref=built_by.get(row.pk, ""),
        )
        for row in rows
    )
