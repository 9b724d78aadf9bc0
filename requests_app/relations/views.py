"""Relating and merging from the page of a ticket."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from portal.accounts.signed_in import signed_in
from portal.kernel.errors import Invalid, NotFound
from requests_app.relations import services
from requests_app.relations.queries import relation_of
from requests_app.tickets.models import Ticket


def _ticket(request: HttpRequest, ref: str) -> Ticket:
    return Ticket.objects.visible_to(signed_in(request)).by_ref(ref)


def _other(request: HttpRequest, name: str) -> Ticket:
    typed = request.POST.get(f"{name}_typed", "") or request.POST.get(name, "")
    try:
        return _ticket(request, typed.strip().upper()[:24])
    except NotFound as problem:
        raise Invalid({name: [problem.message]}) from problem


@require_POST
@login_required
def relate(request: HttpRequest, ref: str) -> HttpResponse:
    """Say how this request stands to another."""
    ticket = _ticket(request, ref)
    kind = request.POST.get("kind", "")
    services.relate(ticket=ticket, kind=kind, other=_other(request, "other"), by=signed_in(request))
    messages.success(request, "They are related.")
    return redirect("tickets:detail", ref=ref)


@require_POST
@login_required
def end(request: HttpRequest, ref: str, number: int) -> HttpResponse:
    """Take a relation away."""
    ticket, by = _ticket(request, ref), signed_in(request)
    services.unrelate(relation=relation_of(ticket, number, by), by=by)
    messages.success(request, "They are no longer related.")
    return redirect("tickets:detail", ref=ref)


@require_POST
@login_required
def merge(request: HttpRequest, ref: str) -> HttpResponse:
    """Let another request take this one over."""
    ticket, by = _ticket(request, ref), signed_in(request)
    version = request.POST.get("version", "")
    if not version.isascii() or not version.isdecimal() or len(version) > 9:
        raise Invalid({"version": ["The page has lost its version; reload it."]})
    into = _other(request, "into")
    services.merge_ticket(ticket=ticket, version=int(version), into=into, by=by)
    messages.success(request, f"{ref} is part of {into.ref} now.")
    return redirect("tickets:detail", ref=ref)
