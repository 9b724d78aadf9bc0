"""The decisions that are made on a ticket's page."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from portal.accounts.signed_in import signed_in
from portal.kernel.errors import Invalid
from requests_app.tickets.models import Ticket
from requests_app.triage import forms, services
from requests_app.triage.doors import for_triagers


def _ticket(request: HttpRequest, ref: str) -> Ticket:
    return Ticket.objects.visible_to(signed_in(request)).by_ref(ref)


@require_POST
@for_triagers
def take(request: HttpRequest, ref: str) -> HttpResponse:
    """Put a ticket on one's own desk."""
    form = _read(forms.Decision(request.POST))
    ticket = _ticket(request, ref)
    services.take_ticket(ticket=ticket, version=form.cleaned_data["version"], by=signed_in(request))
    return _done(request, ticket, f"{ticket.ref} is on your desk.")


@require_POST
@for_triagers
def approve(request: HttpRequest, ref: str) -> HttpResponse:
    """Say yes."""
    form = _read(forms.ApproveForm(request.POST))
    ticket = _ticket(request, ref)
    granted = form.granted() if isinstance(form, forms.ApproveForm) else {}
    services.approve_ticket(ticket=ticket, granted=granted, **form.cleaned_data, by=signed_in(request))
    return _done(request, ticket, f"{ticket.ref} is approved.")


@require_POST
@for_triagers
def decline(request: HttpRequest, ref: str) -> HttpResponse:
    """Say no, with a reason."""
    form = _read(forms.DeclineForm(request.POST))
    ticket = _ticket(request, ref)
    services.decline_ticket(ticket=ticket, **form.cleaned_data, by=signed_in(request))
    return _done(request, ticket, f"{ticket.ref} is declined; the team has your reason.")


@require_POST
@for_triagers
def ask_back(request: HttpRequest, ref: str) -> HttpResponse:
    """Ask the team something."""
    form = _read(forms.AskBackForm(request.POST))
    ticket = _ticket(request, ref)
    services.ask_back(ticket=ticket, **form.cleaned_data, by=signed_in(request))
    return _done(request, ticket, f"The team of {ticket.ref} has your question; its clock is paused.")


@require_POST
@for_triagers
def deliver(request: HttpRequest, ref: str) -> HttpResponse:
    """Hand over what was made by hand."""
    form = _read(forms.DeliverForm(request.POST))
    ticket = _ticket(request, ref)
    positions = form.positions() if isinstance(form, forms.DeliverForm) else None
    services.deliver_ticket(ticket=ticket, positions=positions, **form.cleaned_data, by=signed_in(request))
    return _done(request, ticket, f"{ticket.ref}: handed over.")


def _read(form: forms.Decision) -> forms.Decision:
    if not form.is_valid():
        raise Invalid({name: [str(text) for text in texts] for name, texts in form.errors.items()})
    return form


def _done(request: HttpRequest, ticket: Ticket, said: str) -> HttpResponse:
    messages.success(request, said)
    return redirect("tickets:detail", ref=ticket.ref)
