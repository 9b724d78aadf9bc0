"""The operators' pages: what runs where, what waits for what, and how much room there is."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from portal.accounts.signed_in import signed_in
from portal.kernel.errors import NotAllowed
from portal.kernel.pages import render_page
from provisioning.workers import queries, room
from provisioning.workers.routing import is_for_jobs


def _check_infra(request: HttpRequest) -> None:
    if not signed_in(request).is_infra:
        raise NotAllowed("Only infra staff see workers.")


@require_GET
@login_required
def overview(request: HttpRequest) -> HttpResponse:
    """Infra staff's; for htmx only what changes."""
    _check_infra(request)
    workers = queries.workers()
    live = [each for each in workers if each.state == "active" and any(map(is_for_jobs, each.worker.queues))]
    context = {
        "tallies": queries.tallies(),
        "workers": workers,
        "unserved": queries.unserved(),
        "queues": queries.node_queues(),
        "pending": queries.pending(),
        "waiting": queries.how_many_wait(),
        "slots": sum(each.worker.slots for each in live),
        "taken": sum(each.worker.slots - each.free for each in live),
    }
    return render_page(request, "provisioning/workers/overview.html", context, partial="live")


@require_GET
@login_required
def capacity(request: HttpRequest) -> HttpResponse:
    """Infra staff's: room by queue and site, and the nodes of each; for htmx only what changes."""
    _check_infra(request)
    context = {"rooms": room.rooms(), "places": room.nodes_at(), "queues": queries.node_queues()}
    return render_page(request, "provisioning/workers/capacity.html", context, partial="live")
