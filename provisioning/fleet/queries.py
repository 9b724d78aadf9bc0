"""Which shapes do pages and doors need that join several models of the fleet?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any, cast

from django.conf import settings
from django.db.models import Count, Exists, F, Min, OuterRef, Prefetch, Q, QuerySet

from portal.accounts.models import User
from portal.kernel.errors import NotFound
from provisioning.contracts import Capacity, FoundMachine, SkuView
from provisioning.fleet.capacity import Tally, capacity_of
from provisioning.fleet.models import Cluster, Hold, Node, NodeQuerySet, Reservation, Sku
from provisioning.fleet.states import ClusterState, NodeState

_OPEN_HOLD = Exists(Hold.objects.filter(node=OuterRef("pk"), closed_at=None))


def find_sku(slug: str) -> Sku:
    """The SKU called `slug`; NotFound names those that exist."""
    sku = Sku.objects.filter(slug=slug).first()
    if sku is None:
        known = ", ".join(Sku.objects.values_list("slug", flat=True)) or "none; import a fleet first"
        raise NotFound(f"There is no SKU {slug[:40]!r}. Known: {known}.", data={"sku": slug[:40]})
    return sku


def sku_views() -> tuple[SkuView, ...]:
    """Every SKU in the order of slugs, with the price that the deployment states."""
    prices: dict[str, Decimal] = dict(settings.CONFIG.gpu_hour_prices)
    return tuple(
        SkuView(
            slug=sku.slug,
            name=sku.name,
            gpu_model=sku.gpu_model,
            gpus_per_node=sku.gpus_per_node,
            memory_mib=sku.memory_mib,
            driver_version=sku.driver_version,
            price_per_gpu_hour=prices.get(sku.slug),
            currency=settings.CONFIG.currency if sku.slug in prices else "",
        )
        for sku in Sku.objects.all()
    )


def capacities() -> dict[str, Capacity]:
    """Capacity of every SKU by slug, in four queries however many nodes there are."""
    counts = _counts()
    reasons = _reasons()
    soonest = _soonest()
    return {
        sku.slug: capacity_of(
            Tally(
                sku=sku.slug,
                gpus_per_node=sku.gpus_per_node,
                spares_kept=sku.spares_kept,
                next_free_at=soonest.get(sku.pk),
                reasons=reasons.get(sku.pk, {}),
                **_summed(counts.get(sku.pk, {})),
            )
        )
        for sku in Sku.objects.all()
    }


_COUNTED = ("total", "free", "free_spares", "reserved", "in_use")


def _summed(sites: Mapping[str, Mapping[str, int]]) -> dict[str, Any]:
    """Of all sites, and what is free at each."""
    summed = {name: sum(here[name] for here in sites.values()) for name in _COUNTED}
    return {**summed, "sites": {site: (here["free"], here["free_spares"]) for site, here in sites.items()}}


def _counts() -> dict[int, dict[str, dict[str, int]]]:
    """By SKU and site."""
    placeable = Q(pk__in=Node.objects.placeable().values("pk"))
    rows = (
        Node.objects.exclude(status=NodeState.RETIRED)
        .order_by()
        .values("sku", "site")
        .annotate(
            total=Count("pk"),
            free=Count("pk", filter=placeable),
            free_spares=Count("pk", filter=placeable & Q(spare=True)),
            reserved=Count("pk", filter=Q(status=NodeState.RESERVED)),
            in_use=Count("pk", filter=Q(status=NodeState.IN_USE)),
        )
    )
    found: dict[int, dict[str, dict[str, int]]] = defaultdict(dict)
    for row in cast("Iterable[dict[str, Any]]", rows):
        found[row["sku"]][row["site"]] = {name: row[name] for name in _COUNTED}
    return found


def _reasons() -> dict[int, dict[str, int]]:
    found: dict[int, dict[str, int]] = defaultdict(dict)
    out = Node.objects.exclude(status__in=[NodeState.RETIRED, NodeState.RESERVED, NodeState.IN_USE])
    rows = (
        out.order_by()
        .values("sku", "status", "holds__reason_code")
        .filter(~Q(status=NodeState.FREE) | Q(holds__isnull=False), Q(holds__closed_at=None))
        .annotate(nodes=Count("pk", distinct=True))
    )
    for row in rows:
        reason = row["holds__reason_code"] or row["status"]
        found[row["sku"]][reason] = found[row["sku"]].get(reason, 0) + row["nodes"]
    return found


def _soonest() -> dict[int, datetime]:
    leases = Cluster.objects.filter(status=ClusterState.READY, lease_end__isnull=False).order_by()
    return {row["sku"]: row["soonest"] for row in leases.values("sku").annotate(soonest=Min("lease_end"))}


def with_nodes(clusters: QuerySet[Cluster]) -> QuerySet[Cluster]:
    """Clusters with team, SKU and the reservations they hold now in `held`, nodes with SKU and rack included."""
    held = Reservation.objects.filter(released_at=None).select_related("node__sku", "node__rack")
    return clusters.select_related("team", "sku").prefetch_related(
        Prefetch("reservations", queryset=held.order_by("node__name"), to_attr="held")
    )


def held_by(cluster: Cluster) -> list[Reservation]:
    """What `with_nodes` loaded."""
    held: list[Reservation] = vars(cluster)["held"]
    return held


def with_health(nodes: NodeQuerySet) -> NodeQuerySet:
    """Nodes with rack and SKU, and `on_hold` saying whether a hold is open."""
    return nodes.select_related("sku", "rack").annotate(on_hold=_OPEN_HOLD)


def soonest_lease_end(sku: Sku) -> datetime | None:
    """When the first lease of this SKU ends; None when no end is known."""
    leases = Cluster.objects.filter(status=ClusterState.READY, lease_end__isnull=False, sku=sku)
    found: datetime | None = leases.aggregate(soonest=Min("lease_end"))["soonest"]
    return found


def find_machines(user: User, text: str, *, number: int | None, limit: int) -> list[FoundMachine]:
    """Clusters and nodes `user` may see, by a part of their name or a cluster's number; living clusters first."""
    named = Q(name__icontains=text) if number is None else Q(pk=number) | Q(name__icontains=text)
    clusters = Cluster.objects.visible_to(user).filter(named).select_related("team", "sku")
    nodes = Node.objects.visible_to(user).filter(name__icontains=text).select_related("sku")
    return [
        *(
            FoundMachine(
                kind="cluster",
                name=row.name,
                ref=row.ref,
                says=f"{row.team.name}, {row.sku.name}",
                state=row.status,
            )
            for row in clusters.order_by(F("ended_at").desc(nulls_first=True), "-pk")[:limit]
        ),
        *(
            FoundMachine(kind="node", name=row.name, says=row.sku.name, state=row.status)
            for row in nodes.order_by("name")[:limit]
        ),
    ]
