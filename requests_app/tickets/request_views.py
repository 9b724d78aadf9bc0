"""The form that files a ticket: its questions, its draft, what room there is, and the filing itself."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from portal.accounts.signed_in import signed_in
from portal.kernel.errors import Conflict, Invalid, Refused
from portal.kernel.pages import render_page
from requests_app.catalogue.queries import offering_by_slug
from requests_app.tickets.drafts import discard_draft, save_draft
from requests_app.tickets.filing import submit_ticket
from requests_app.tickets.hints import hint_for
from requests_app.tickets.models import Draft
from requests_app.tickets.request_page import RequestPage, open_page, posted_page, typed_page

TEMPLATE = "requests_app/tickets/request.html"


@require_http_methods(["GET", "POST"])
@login_required
def ask(request: HttpRequest, slug: str) -> HttpResponse:
    """The form, with what was typed last; posted, it files the ticket once."""
    offering = offering_by_slug(request.user, slug)
    if request.method == "GET":
        page = open_page(offering, signed_in(request), team=request.GET.get("team", ""))
        return render_page(request, TEMPLATE, page.context, partial="questions")
    if "show" in request.POST:
        page = typed_page(offering, signed_in(request), request.POST)
        return render_page(request, TEMPLATE, page.context, partial="questions")
    return _file(request, posted_page(offering, signed_in(request), request.POST))


def _file(request: HttpRequest, page: RequestPage) -> HttpResponse:
    if page.is_outdated:
        page.notice = (
            "This offering has changed since you opened it. Your answers are kept; look over the form again."
        )
        return render(request, TEMPLATE, page.context, status=Conflict.status)
    if not page.is_valid():
        return _again(request, page)
    assert page.team is not None
    try:
        ticket = submit_ticket(
            offering_version=page.version,
            team=page.team,
            answers=page.form.raw_answers,
            blocked=page.block_form.claim,
            token=page.token,
            by=page.user,
        )
    except Invalid as problem:
        page.add_complaints(problem.fields)
        return _again(request, page)
    except Refused as refusal:
        if refusal.code != "idempotency-key-reused":
            raise
        messages.info(request, refusal.message)
        return redirect("tickets:detail", ref=refusal.data["ticket"])
    messages.success(request, f"Your request is filed as {ticket.ref}.")
    return redirect("tickets:detail", ref=ticket.ref)


def _again(request: HttpRequest, page: RequestPage) -> HttpResponse:
    return render(request, TEMPLATE, page.context, status=Invalid.status)


@require_POST
@login_required
def draft(request: HttpRequest, slug: str) -> HttpResponse:
    """Keep what is typed; answers with a line that says when."""
    offering = offering_by_slug(request.user, slug)
    page = typed_page(offering, signed_in(request), request.POST)
    kept = None
    if page.token and page.is_own_token:
        kept = save_draft(
            offering_version=page.version, token=page.token, typed=dict(request.POST.lists()), by=page.user
        )
    return render(request, f"{TEMPLATE}#saved", {"draft": kept})


@require_POST
@login_required
def discard(request: HttpRequest, slug: str) -> HttpResponseRedirect:
    """Forget what was typed and start anew."""
    discard_draft(token=request.POST.get("token", ""), by=signed_in(request))
    return redirect("catalogue:request", slug=slug)


@require_GET
@login_required
def hint(request: HttpRequest, slug: str) -> HttpResponse:
    """What room there is right now for what is being asked; a hint, no promise."""
    offering = offering_by_slug(request.user, slug)
    page = typed_page(offering, signed_in(request), request.GET)
    found = hint_for(page.version, page.team, page.form.raw_answers, page.form.live)
    return render_page(request, TEMPLATE, {**page.context, "hint": found}, partial="hint")


@require_GET
@login_required
def drafts(request: HttpRequest) -> HttpResponse:
    """What this person has begun and not filed."""
    found = Draft.objects.visible_to(request.user).select_related("offering_version__offering")
    return render_page(request, "requests_app/tickets/drafts.html", {"drafts": found}, partial="rows")
