"""Tickets as their teams see them: the list, the page with its story, and what can be done there."""

from __future__ import annotations

import json

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import prefetch_related_objects
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_POST

from portal.accounts.signed_in import signed_in
from portal.kernel.errors import Invalid
from portal.kernel.keyset import page_of, pager_links
from portal.kernel.pages import is_fragment, render_page
from requests_app.tickets import services
from requests_app.tickets.forms import SayForm
from requests_app.tickets.models import Ticket
from requests_app.tickets.queries import find_tickets, ticket_view

DETAIL = "requests_app/tickets/detail.html"
TABS = {"open": "Open", "ours": "Waiting for us", "ready": "Delivered", "done": "Done", "": "All"}


def _ticket(request: HttpRequest, ref: str) -> Ticket:
    return Ticket.objects.visible_to(signed_in(request)).for_pages().by_ref(ref)


@require_GET
@login_required
def ticket_list(request: HttpRequest) -> HttpResponse:
    """`?state=`, `?team=` and `?mine=1` narrow it; open ones first shown."""
    person = signed_in(request)
    state, team = request.GET.get("state", "open"), request.GET.get("team", "")
    mine = request.GET.get("mine", "") == "1"
    page = page_of(
        find_tickets(person, state=state, team=team, mine=mine),
        order=("-id",),
        cursor=request.GET.get("cursor", ""),
        scope=f"tickets|{state}|{team}|{mine}",
    )
    context = {
        "page": page,
        "tabs": TABS,
        "state": state,
        "team": team,
        "mine": mine,
        "teams": list(person.teams()),
        **pager_links(request, page),
    }
    return render_page(request, "requests_app/tickets/list.html", context, partial="rows")


@require_GET
@login_required
def detail(request: HttpRequest, ref: str) -> HttpResponse:
    """Where it is, what is next, who has it; its lines, its order and its story."""
    ticket = _ticket(request, ref)
    prefetch_related_objects([ticket], "lines", "blocks")  # several cards of the page ask for them
    return _show(request, ticket, partial="polled")


def _show(request: HttpRequest, ticket: Ticket, *, partial: str, said: str = "") -> HttpResponse:
    """The page, or a part of it. The side with its forms comes along only when the ticket changed since it was sent."""
    seen = request.POST.get("version") or request.GET.get("version") or ""
    context = {
        "view": ticket_view(ticket, signed_in(request)),
        "ticket": ticket,
        "stale": seen not in ("", str(ticket.version)),
    }
    response = render_page(request, DETAIL, context, partial=partial)
    if said:
        response["HX-Trigger"] = json.dumps({"toast": {"text": said, "level": "success"}})
    return response


def _did(request: HttpRequest, ticket: Ticket, said: str, *, partial: str = "work") -> HttpResponse:
    """The page again after something was done; for htmx only what changed."""
    if is_fragment(request):
        return _show(request, _ticket(request, ticket.ref), partial=partial, said=said)
    messages.success(request, said)
    return redirect("tickets:detail", ref=ticket.ref)


def _say(request: HttpRequest, name: str) -> SayForm:
    form = SayForm(request.POST)
    if not form.is_valid():
        raise Invalid({name: ["Say it in a sentence."]})
    return form


def _version(request: HttpRequest) -> int:
    text = request.POST.get("version", "")
    if not text.isascii() or not text.isdecimal() or len(text) > 9:
        raise Invalid({"version": ["The page has lost its version; reload it."]})
    return int(text)


@require_POST
@login_required
def answer(request: HttpRequest, ref: str) -> HttpResponse:
    """Answer the desk's question."""
    ticket, form = _ticket(request, ref), _say(request, "answer")
    services.answer_ticket(
        ticket=ticket, version=_version(request), answer=form.cleaned_data["text"], by=signed_in(request)
    )
    return _did(request, ticket, "The desk has your answer.")


@require_POST
@login_required
def withdraw(request: HttpRequest, ref: str) -> HttpResponse:
    """Take the request back."""
    ticket = _ticket(request, ref)
    services.withdraw_ticket(
        ticket=ticket, version=_version(request), reason=request.POST.get("text", ""), by=signed_in(request)
    )
    return _did(request, ticket, f"{ticket.ref} is withdrawn.")


@require_POST
@login_required
def close(request: HttpRequest, ref: str) -> HttpResponse:
    """Say that it is good."""
    ticket = _ticket(request, ref)
    services.close_ticket(ticket=ticket, version=_version(request), by=signed_in(request))
    return _did(request, ticket, f"{ticket.ref} is closed. Thank you.")


@require_POST
@login_required
def relief(request: HttpRequest, ref: str) -> HttpResponse:
    """Say that the team can work again."""
    ticket = _ticket(request, ref)
    services.confirm_relief(ticket=ticket, by=signed_in(request))
    return _did(request, ticket, "Good to hear. The clock of your block has stopped.")
