"""Pages of orders and of the clusters they make: lists, one of each, release, cancel, recheck."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_POST

from portal.accounts.access import Action
from portal.accounts.signed_in import signed_in
from portal.kernel.errors import Invalid
from portal.kernel.pages import is_fragment, render_page
from provisioning.contracts import OrderKind
from provisioning.fleet.access import check_operates
from provisioning.fleet.listing import LIVING, cluster_by_ref, clusters_of
from provisioning.fleet.models import Cluster
from provisioning.fleet.queries import held_by
from provisioning.fleet.services import change_lease
from provisioning.fleet.states import ClusterState
from provisioning.fleet.story import story
from provisioning.fleet.telling import cluster_view
from provisioning.fleet.views import operated
from provisioning.orders import listing, services
from provisioning.orders.access import check_steers, may_steer
from provisioning.orders.models import Order, StepRun
from provisioning.orders.states import ORDER, OrderAction
from provisioning.orders.telling import evidence_of, order_views

CLUSTER_TABS = ((LIVING, "Living"), (ClusterState.RELEASED, "Released"), ("", "All"))
ORDER_TABS = ((listing.UNFINISHED, "Under way"), ("failed", "Needs a person"), ("", "All"))


def _before(request: HttpRequest) -> int | None:
    text = request.GET.get("before", "")
    if text == "":
        return None
    if not text.isdecimal() or len(text) > 15:
        raise Invalid({"before": ["Use a whole number."]})
    return int(text)


def _cut(rows: Any, request: HttpRequest, state: str) -> tuple[list[Any], dict[str, str]]:
    """One page of rows, newest first, and the addresses beside it."""
    before = _before(request)
    page = list((rows if before is None else rows.filter(pk__lt=before))[: listing.PAGE + 1])
    more = len(page) > listing.PAGE
    page = page[: listing.PAGE]
    return page, {
        "older_url": f"?state={state}&before={page[-1].pk}" if more else "",
        "newest_url": "" if before is None else f"?state={state}",
    }


@require_GET
@login_required
def clusters_list(request: HttpRequest) -> HttpResponse:
    """Clusters of the person's teams, or all of them for infra staff."""
    state = request.GET.get("state", LIVING)
    page, around = _cut(clusters_of(signed_in(request), state=state), request, state)
    context = {
        "clusters": [_view(cluster) for cluster in page],
        "state": state,
        "tabs": CLUSTER_TABS,
        **around,
    }
    return render_page(request, "provisioning/orders/clusters.html", context, partial="rows")


def _view(cluster: Cluster, order_ref: str = "") -> Any:
    return cluster_view(cluster, [held.node for held in held_by(cluster)], order_ref=order_ref)


@require_GET
@login_required
def cluster_detail(request: HttpRequest, ref: str) -> HttpResponse:
    """One cluster: nodes, how to connect, how good it is, and its end."""
    user = signed_in(request)
    cluster = cluster_by_ref(user, ref)
    orders = list(listing.orders_of(user).filter(cluster=cluster)[:20])
    built = next((order.ref for order in orders if order.kind == OrderKind.BUILD), "")
    steers = may_steer(user, cluster.team)
    context = {
        "cluster": _view(cluster, built),
        "team": cluster.team,
        "sku": cluster.sku,
        "orders": order_views(orders),
        "busy": next((order for order in orders if not order.is_final), None),
        "may_change_lease": user.can(Action.OPERATE_FLEET) and cluster.status == ClusterState.READY,
        "may_release": steers and cluster.status == ClusterState.READY,
        "entries": story([cluster.ref, *(order.ref for order in orders)]),
    }
    return render_page(request, "provisioning/orders/cluster.html", context, partial="live")


@require_POST
@login_required
def cluster_release(request: HttpRequest, ref: str) -> HttpResponse:
    """Give a cluster back; the page asked for confirmation."""
    user = signed_in(request)
    cluster = cluster_by_ref(user, ref)
    check_steers(user, cluster.team)
    order = services.release_cluster(cluster=cluster, reason=request.POST.get("reason", "")[:500], by=user)
    messages.success(request, f"{ref} is being given back: its nodes are drained, wiped and validated.")
    return redirect("orders:detail", order.ref)


@require_POST
@login_required
def cluster_lease(request: HttpRequest, ref: str) -> HttpResponse:
    """An operator lets the lease end on another day; an empty day leaves it open."""
    user = signed_in(request)
    cluster = cluster_by_ref(user, ref)
    check_operates(user)
    change_lease(cluster=cluster, until=_end_of_day(request.POST.get("until", "")), by=user)
    messages.success(request, f"The lease of {ref} was changed.")
    return redirect("clusters:detail", ref)


def _end_of_day(text: str) -> datetime | None:
    if text == "":
        return None
    try:
        day = date.fromisoformat(text)
    except ValueError as wrong:
        raise Invalid({"until": ["Give a day as 2027-01-31."]}) from wrong
    return datetime.combine(day, time.max.replace(microsecond=0), tzinfo=UTC)


@require_GET
@login_required
def orders_list(request: HttpRequest) -> HttpResponse:
    """Orders the person may see, newest first."""
    state = request.GET.get("state", "")
    page, around = _cut(listing.orders_of(signed_in(request), state=state), request, state)
    context = {"orders": order_views(page), "state": state, "tabs": ORDER_TABS, **around}
    return render_page(request, "provisioning/orders/list.html", context, partial="rows")


@require_GET
@login_required
def order_detail(request: HttpRequest, ref: str) -> HttpResponse:
    """One order: where it is, what was swapped and why; for htmx only what changes meanwhile."""
    user = signed_in(request)
    order = listing.order_by_ref(user, ref)
    (view,) = order_views([order])
    context = {
        "order": view,
        "team": order.team,
        "percent": round(view.progress * 100),
        "runs": _runs(order),
        "rejected": evidence_of(order.assignments.all()),
        "may_cancel": OrderAction.CANCEL in ORDER.actions(order.status) and may_steer(user, order.team),
        "entries": story([order.ref]),
        "is_fragment": is_fragment(request),
    }
    return render_page(request, "provisioning/orders/detail.html", context, partial="live")


def _runs(order: Order) -> list[StepRun]:
    """Jobs of the order, newest first; they came with the order."""
    return sorted(order.runs.all(), key=lambda run: -run.pk)


@require_POST
@login_required
def order_cancel(request: HttpRequest, ref: str) -> HttpResponse:
    """Stop an order that is being built."""
    user = signed_in(request)
    order = listing.order_by_ref(user, ref)
    check_steers(user, order.team)
    services.cancel_order(order=order, reason=request.POST.get("reason", "")[:500], by=user)
    messages.success(request, f"{ref} was cancelled; what was done to its nodes is undone.")
    return redirect("orders:detail", ref)


@require_POST
@login_required
def node_recheck(request: HttpRequest, name: str) -> HttpResponse:
    """Let a node in quarantine prove that it is fit."""
    node = operated(request, name)
    order = services.recheck_node(node=node, by=signed_in(request))
    messages.success(request, f"{node.name} is wiped and validated by {order.ref}.")
    return redirect("orders:detail", order.ref)
