"""Pages of nodes: the list with its rack map, one node, and what an operator does to it by hand."""

from __future__ import annotations

from collections import defaultdict
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_POST

from portal.accounts.access import Action
from portal.accounts.signed_in import signed_in
from portal.kernel.errors import Invalid, NotFound
from portal.kernel.pages import render_page
from provisioning.fleet import listing, services
from provisioning.fleet.access import check_operates
from provisioning.fleet.models import Hold, Node, Sku
from provisioning.fleet.queries import capacities
from provisioning.fleet.states import NODE, NodeAction, NodeState
from provisioning.fleet.story import story

TABS = (("", "All"), ("free", "Free"), ("in_use", "In use"), (listing.OUT, "Out of service"))
BUTTONS = (
    (NodeAction.ADMIT, "Admit to the pool"),
    (NodeAction.REPAIR, "Send to repair"),
    (NodeAction.END_REPAIR, "Back from repair"),
    (NodeAction.RETIRE, "Retire"),
    (NodeAction.REINSTATE, "Register again"),
)
LONGEST_REASON = 500


@require_GET
@login_required
def nodes_list(request: HttpRequest) -> HttpResponse:
    """Nodes by name, in pages, or as a map of racks."""
    user = signed_in(request)
    wanted = listing.NodeFilter.read(request.GET.dict())
    nodes = listing.nodes_of(user, wanted)
    context: dict[str, Any] = {
        "wanted": wanted,
        "tabs": [(state, title, _address(wanted, state=state)) for state, title in TABS],
        "skus": Sku.objects.all(),
        "sites": listing.sites_of(user),
        "capacities": list(capacities().values()) if user.is_infra and wanted.is_empty else [],
        "is_map": request.GET.get("view") == "map",
        "list_url": _address(wanted),
        "map_url": _address(wanted, view="map"),
    }
    context |= _map(nodes) if context["is_map"] else _page(nodes, wanted, request.GET.get("after", ""))
    return render_page(request, "provisioning/fleet/nodes.html", context, partial="rows")


def _address(wanted: listing.NodeFilter, **more: str) -> str:
    told = {
        "state": wanted.state,
        "sku": wanted.sku,
        "rack": wanted.rack,
        "site": wanted.site,
        "q": wanted.q,
    } | more
    kept = {name: value for name, value in told.items() if value}
    return f"?{urlencode(kept)}" if kept else "?"


def _page(nodes: Any, wanted: listing.NodeFilter, after: str) -> dict[str, Any]:
    rows = list(nodes.filter(name__gt=after.replace("\0", "")[:253])[: listing.PAGE + 1])
    last = rows[listing.PAGE - 1].name if len(rows) > listing.PAGE else ""
    return {
        "nodes": rows[: listing.PAGE],
        "older_url": _address(wanted, after=last) if last else "",
        "newest_url": _address(wanted) if after else "",
    }


def _map(nodes: Any) -> dict[str, Any]:
    found = list(nodes[: listing.MOST_ON_MAP + 1])
    racks: dict[str, list[Node]] = defaultdict(list)
    for node in found[: listing.MOST_ON_MAP]:
        racks[node.rack.name if node.rack else "no rack"].append(node)
    return {"racks": sorted(racks.items()), "is_cut": len(found) > listing.MOST_ON_MAP}


@require_GET
@login_required
def node_detail(request: HttpRequest, name: str) -> HttpResponse:
    """One node. Holds, history and buttons are infra's; a team sees what it works on."""
    user = signed_in(request)
    node = listing.node_by_name(user, name)
    held = node.reservations.filter(released_at=None).select_related("cluster__team").first()
    operates = user.can(Action.OPERATE_FLEET)
    context = {
        "node": node,
        "cluster": held.cluster if held is not None else None,
        "holds": _holds(node) if user.is_infra else [],
        "entries": story([services.subject_of(node.name)]) if user.is_infra else [],
        "is_operator": operates,
        "buttons": [
            (action.value, title) for action, title in BUTTONS if action in NODE.actions(node.status)
        ],
        "may_recheck": operates and node.status == NodeState.QUARANTINED,
    }
    return render_page(request, "provisioning/fleet/node.html", context)


def _holds(node: Node) -> list[Hold]:
    return list(node.holds.select_related("opened_by", "closed_by").order_by("closed_at", "-pk")[:50])


def operated(request: HttpRequest, name: str) -> Node:
    """The node of a form that only operators may send; 404 before 403, so that nothing is told to strangers."""
    user = signed_in(request)
    node = listing.node_by_name(user, name)
    check_operates(user)
    return node


@require_POST
@login_required
def node_act(request: HttpRequest, name: str) -> HttpResponse:
    """One of the buttons."""
    node = operated(request, name)
    try:
        action = NodeAction(request.POST.get("action", ""))
    except ValueError as unknown:
        raise Invalid({"action": ["There is no such action."]}) from unknown
    services.move_node(node=node, action=action, note=_reason(request, needed=False), by=signed_in(request))
    messages.success(request, f"{node.name} is {node.status.replace('_', ' ')} now.")
    return redirect("nodes:detail", node.name)


@require_POST
@login_required
def node_hold(request: HttpRequest, name: str) -> HttpResponse:
    """Take a node out of the pool by hand."""
    node = operated(request, name)
    services.quarantine_node(
        node=node,
        reason_code="by-hand",
        reason=_reason(request, needed=True),
        owner="operator",
        by=signed_in(request),
    )
    stays = " as soon as its order or its team lets it go" if node.status in services.HELD else ""
    messages.success(request, f"{node.name} is out of the pool{stays}.")
    return redirect("nodes:detail", node.name)


@require_POST
@login_required
def hold_close(request: HttpRequest, name: str, hold_id: int) -> HttpResponse:
    """Say that the reason of a hold is gone."""
    node = operated(request, name)
    hold = node.holds.filter(pk=hold_id).first()
    if hold is None:
        raise NotFound("There is no such hold.")
    services.close_hold(hold=hold, note=_reason(request, needed=False), by=signed_in(request))
    messages.success(request, "The hold is closed. The node comes back through a recheck.")
    return redirect("nodes:detail", node.name)


def _reason(request: HttpRequest, *, needed: bool) -> str:
    text = " ".join(request.POST.get("reason", "").replace("\0", "").split())
    if needed and not text:
        raise Invalid({"reason": ["Say why, in a sentence."]}, "Say why, in a sentence.")
    if len(text) > LONGEST_REASON:
        raise Invalid({"reason": [f"At most {LONGEST_REASON} characters."]})
    return text
