"""How does a team borrow nodes, and how do they come back? By the orders that every cluster is made and shrunk by."""

from __future__ import annotations

from portal.accounts.models import User
from portal.kernel.errors import Invalid, NotFound, Refused
from provisioning import interface
from provisioning.contracts import ClusterView, OrderKind, OrderSpec, SkuView
from requests_app.quotas.services import bind_order, hold_quota
from requests_app.tickets.keyholders import accounts_of
from requests_app.workarounds.models import Workaround
from requests_app.workarounds.sources import source_of

GONE = frozenset({"released", "failed"})


def known_sku(slug: str) -> SkuView:
    """The SKU; Invalid names the field when there is none."""
    try:
        return interface.sku(slug)
    except NotFound as problem:
        raise Invalid({"sku": [problem.message]}) from problem


def gpus_of(workaround: Workaround) -> int:
    """GPUs of the borrowed nodes."""
    return int(workaround.params["nodes"]) * known_sku(workaround.params["sku"]).gpus_per_node


def own_cluster(workaround: Workaround, ref: str) -> ClusterView:
    """A cluster of the ticket's team; Invalid names the field when it is somebody else's or none."""
    try:
        cluster = interface.cluster_view(ref)
    except NotFound as problem:
        raise Invalid({"cluster": [problem.message]}) from problem
    if cluster.team != workaround.ticket.team.slug:
        raise Invalid({"cluster": [f"There is no cluster {ref} of {workaround.ticket.team.name}."]})
    return cluster


def borrow(workaround: Workaround, *, by: User | None) -> None:
    """Hold the lent quota and place the order: a cluster with a lease, or more nodes for one that the team has."""
    sku = known_sku(workaround.params["sku"])
    hold = hold_quota(
        team=workaround.ticket.team,
        sku=sku.slug,
        gpus=gpus_of(workaround),
        source=source_of(workaround),
        step=sku.gpus_per_node,
        by=by,
    )
    order = interface.place_order(_borrowing(workaround), requested_for=workaround.ref, by=by)
    bind_order(hold=hold, order_ref=order.ref)
    keep(workaround, order_ref=order.ref, cluster_ref=order.cluster_ref)


def keep(workaround: Workaround, *, order_ref: str, cluster_ref: str) -> None:
    """Remember which order works on it, and on which cluster."""
    workaround.order_ref, workaround.cluster_ref = order_ref, cluster_ref
    workaround.save(update_fields=["order_ref", "cluster_ref"])


def _borrowing(workaround: Workaround) -> OrderSpec:
    params, team = workaround.params, workaround.ticket.team
    if not params.get("cluster"):
        return OrderSpec(
            kind=OrderKind.BUILD,
            team=team.slug,
            sku=params["sku"],
            nodes=params["nodes"],
            cluster_name=f"borrowed-{workaround.pk}",
            lease_end=workaround.expires_at,
            accounts=accounts_of(team),
        )
    cluster = own_cluster(workaround, params["cluster"])
    if cluster.sku != params["sku"]:
        raise Invalid({"sku": [f"{cluster.ref} has nodes of {cluster.sku}; it grows by the same kind."]})
    return OrderSpec(
        kind=OrderKind.RESIZE,
        team=team.slug,
        sku=cluster.sku,
        nodes=len(cluster.nodes) + params["nodes"],
        cluster_name=cluster.name,
        cluster_ref=cluster.ref,
        lease_end=cluster.lease_end,
        accounts=accounts_of(team),
    )


def give_back(workaround: Workaround, *, by: User | None) -> bool:
    """Place the order that brings the nodes back; True when there is nothing left to bring."""
    if not workaround.cluster_ref:
        return True
    cluster = interface.cluster_view(workaround.cluster_ref)
    if cluster.status in GONE:
        return True
    borrowed, stays = int(workaround.params["nodes"]), bool(workaround.params.get("cluster"))
    if stays and len(cluster.nodes) <= borrowed:
        raise Refused(
            f"{cluster.ref} has {len(cluster.nodes)} nodes and {borrowed} of them are borrowed; release it instead.",
            code="nothing-would-stay",
        )
    spec = OrderSpec(
        kind=OrderKind.RESIZE if stays else OrderKind.RELEASE,
        team=cluster.team,
        sku=cluster.sku,
        nodes=len(cluster.nodes) - borrowed if stays else 0,
        cluster_ref=cluster.ref,
    )
    order = interface.place_order(
        spec, requested_for=workaround.ref, reason=f"{workaround.ref} has ended", by=by
    )
    keep(workaround, order_ref=order.ref, cluster_ref=cluster.ref)
    return False


def prolong(workaround: Workaround, *, by: User | None) -> None:
    """A cluster that was made for it lives as long as it does."""
    if workaround.cluster_ref and not workaround.params.get("cluster"):
        interface.change_lease(workaround.cluster_ref, until=workaround.expires_at, by=by)
