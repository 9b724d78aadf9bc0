"""Bulk actions by page: freeze what matches, say what is to be done, watch it, and read who failed and why."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from portal.accounts.signed_in import signed_in
from portal.kernel.errors import NotFound
from portal.kernel.keyset import page_of, pager_links
from portal.kernel.pages import render_page
from requests_app.triage import bulk, inbox, tasks
from requests_app.triage.doors import for_triagers
from requests_app.triage.models import BulkRow, BulkRun, RowEnd
from requests_app.triage.reasons import REASONS
from requests_app.triage.states import BulkState


@require_http_methods(["GET", "POST"])
@for_triagers
def runs(request: HttpRequest) -> HttpResponse:
    """The newest runs; a POST freezes a selection: `back` holds the filters, `ref` narrows them to some rows."""
    by = signed_in(request)
    if request.method == "POST":
        run = bulk.freeze(filters=_filters(request), refs=request.POST.getlist("ref"), by=by)
        return redirect("desk:bulk-run", number=run.pk)
    rows = BulkRun.objects.visible_to(by).select_related("by")
    page = page_of(rows, order=("-id",), cursor=request.GET.get("cursor", ""), scope="bulk")
    context = {"page": page, **pager_links(request, page)}
    return render_page(request, "requests_app/triage/bulk_runs.html", context)


def _filters(request: HttpRequest) -> dict[str, str]:
    query = QueryDict(request.POST.get("back", "")[:2000])
    return {name: query.get(name, "") for name in query if name not in ("open", "cursor")}


def _run(request: HttpRequest, number: int) -> BulkRun:
    run = BulkRun.objects.visible_to(signed_in(request)).select_related("by").filter(pk=number).first()
    if run is None:
        raise NotFound("There is no such bulk action.")
    return run


@require_GET
@for_triagers
def run_page(request: HttpRequest, number: int) -> HttpResponse:
    """What is selected, what is done to it, how far it is, and who failed."""
    run = _run(request, number)
    failed = BulkRow.objects.filter(run=run, ending=RowEnd.FAILED).select_related("ticket")
    page = page_of(failed, order=("id",), cursor=request.GET.get("cursor", ""), scope=f"bulk|{number}")
    told = bulk.progress(run)
    context: dict[str, Any] = {
        "run": run,
        "told": told,
        "worked": told["done"] + told["failed"],
        "page": page,
        "deciders": inbox.deciders() if run.status == BulkState.FROZEN else [],
        "reasons": REASONS,
        "mine": run.by_id == signed_in(request).pk,
        "sample": run.rows.select_related("ticket__team").order_by("id")[:8],
        **pager_links(request, page),
    }
    return render_page(request, "requests_app/triage/bulk_run.html", context, partial="run")


@require_POST
@for_triagers
def begin(request: HttpRequest, number: int) -> HttpResponse:
    """Do it: small ones at once, large ones by a worker."""
    by, run = signed_in(request), _run(request, number)
    verb = request.POST.get("verb", "")
    names = bulk.TAKES.get(verb, {})
    arguments = {name: request.POST.get(f"{verb}-{name}", "").strip() for name in names}
    version = request.POST.get("version", "")
    run = bulk.begin(
        run=run,
        version=int(version) if version.isascii() and version.isdecimal() else 0,
        verb=verb,
        arguments=arguments,
        by=by,
    )
    start(run)
    messages.success(request, f"{run.total} requests: {verb} has begun.")
    return redirect("desk:bulk-run", number=run.pk)


def start(run: BulkRun) -> None:
    """Small runs in the request, large ones by a worker."""
    if run.total <= bulk.AT_ONCE:
        bulk.work(run.pk)
    else:
        tasks.ask_for(run.pk)


@require_POST
@for_triagers
def stop(request: HttpRequest, number: int) -> HttpResponse:
    """Stop it; what is done stays done."""
    run = bulk.cancel(run=_run(request, number), by=signed_in(request))
    messages.success(request, f"Stopped. {bulk.progress(run)['done']} of {run.total} are done.")
    return redirect("desk:bulk-run", number=run.pk)
