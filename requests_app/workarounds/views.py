"""Workarounds as people handle them: given on a ticket's page, then renewed, ended, and said to be done."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from portal.accounts.models import User
from portal.accounts.signed_in import signed_in
from portal.kernel.errors import Invalid, NotFound
from portal.kernel.pages import render_page
from requests_app.tickets.models import Ticket
from requests_app.workarounds import forms, services
from requests_app.workarounds.models import Workaround
from requests_app.workarounds.renewing import renew_workaround

GRANT = "requests_app/workarounds/grant.html"


@require_http_methods(["GET", "POST"])
@login_required
def grant(request: HttpRequest, ref: str) -> HttpResponse:
    """The form on a page of its own; what is wrong comes back with everything that was typed."""
    person = signed_in(request)
    ticket = Ticket.objects.visible_to(person).for_pages().by_ref(ref)
    if not person.is_triager and request.method == "GET":
        return redirect("tickets:detail", ref=ticket.ref)
    if request.method == "GET":
        return _grant_page(request, ticket, forms.GrantForm(initial={"version": ticket.version}))
    form = forms.GrantForm(request.POST)
    if form.is_valid():
        try:
            made = services.grant_workaround(
                ticket=ticket, version=form.cleaned_data["version"], terms=form.terms(), by=person
            )
        except Invalid as problem:
            _complain(form, problem)
        else:
            messages.success(request, f"{made.ref} is given until {made.expires_at:%d %B}.")
            return redirect(_place(made))
    return _grant_page(request, ticket, form, status=422)


def _complain(form: forms.GrantForm, problem: Invalid) -> None:
    own = {"residual": "residual_percent", "title": "project_title", "project_owner": "owner"}
    for name, said in problem.fields.items():
        field = own.get(name, name)
        for text in said:
            form.add_error(field if field in form.fields else None, text)


def _grant_page(
    request: HttpRequest, ticket: Ticket, form: forms.GrantForm, *, status: int = 200
) -> HttpResponse:
    return render_page(request, GRANT, {"ticket": ticket, "form": form}, partial="form", status=status)


@require_GET
@login_required
def show(request: HttpRequest, ref: str) -> HttpResponse:
    """A workaround lives on its ticket's page."""
    return redirect(_place(_workaround(request, ref)))


@require_POST
@login_required
def do(request: HttpRequest, ref: str, doing: str) -> HttpResponse:
    """One of the things that are done with a workaround, by its name."""
    row, person = _workaround(request, ref), signed_in(request)
    if doing not in DOINGS:
        raise NotFound("There is nothing of that name to do with a workaround.")
    messages.success(request, DOINGS[doing](row, request, person))
    return redirect(_place(row))


def _workaround(request: HttpRequest, ref: str) -> Workaround:
    return Workaround.objects.visible_to(signed_in(request)).for_pages().by_ref(ref)


def _place(row: Workaround) -> str:
    return reverse("tickets:detail", args=[row.ticket.ref]) + f"#{row.ref}"


Doing = Callable[[Workaround, HttpRequest, User], str]


def _renew(row: Workaround, request: HttpRequest, by: User) -> str:
    done = renew_workaround(workaround=row, **forms.read(forms.RenewForm(request.POST)), by=by)
    return f"{row.ref} goes on until {done.expires_at:%d %B}."


def _ask_renewal(row: Workaround, request: HttpRequest, by: User) -> str:
    services.ask_renewal(workaround=row, **forms.read(forms.AskRenewalForm(request.POST)), by=by)
    return f"The desk has been asked for more time for {row.ref}."


def _refuse_renewal(row: Workaround, request: HttpRequest, by: User) -> str:
    said = _reason(request)
    services.refuse_renewal(workaround=row, version=said["version"], reason=said["text"], by=by)
    return f"{row.ref} ends when it was to end."


def _end(row: Workaround, request: HttpRequest, by: User) -> str:
    said = _reason(request)
    services.end_workaround(workaround=row, version=said["version"], reason=said["text"], by=by)
    return f"{row.ref} is being taken back."


def _applied(row: Workaround, request: HttpRequest, by: User) -> str:
    said = _reason(request)
    services.mark_applied(workaround=row, version=said["version"], note=said["text"], by=by)
    return f"{row.ref} is in effect."


def _reverted(row: Workaround, request: HttpRequest, by: User) -> str:
    said = _reason(request)
    services.mark_reverted(workaround=row, version=said["version"], note=said["text"], by=by)
    return f"{row.ref} is gone."


def _try_again(row: Workaround, request: HttpRequest, by: User) -> str:
    services.try_again(workaround=row, version=_reason(request)["version"], by=by)
    return f"{row.ref} is being taken back once more."


def _proper(row: Workaround, request: HttpRequest, by: User) -> str:
    said = _reason(request)
    services.call_proper(workaround=row, version=said["version"], because=said["text"], by=by)
    return f"{row.ref} is the proper solution, and it is recorded why."


def _interest(row: Workaround, request: HttpRequest, by: User) -> str:
    said = forms.read(forms.InterestForm(request.POST))
    entry = services.note_interest(workaround=row, **said, by=by)
    return f"{entry.hours} h noted for the week of {entry.week:%d %B}."


def _reason(request: HttpRequest) -> dict[str, Any]:
    return forms.read(forms.ReasonForm(request.POST))


DOINGS: dict[str, Doing] = {
    "renew": _renew,
    "ask-renewal": _ask_renewal,
    "refuse-renewal": _refuse_renewal,
    "end": _end,
    "applied": _applied,
    "reverted": _reverted,
    "try-again": _try_again,
    "proper": _proper,
    "interest": _interest,
}
