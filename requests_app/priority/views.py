"""Ranks as people see them: why a ticket stands where it stands, how a person overrules that, and by which policy."""

from __future__ import annotations

from django import forms as django_forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from portal.accounts.access import Action
from portal.accounts.signed_in import signed_in
from portal.kernel.errors import Invalid, NotFound
from portal.kernel.pages import render_page
from requests_app.priority import forms, overrides, policies
from requests_app.priority.models import PriorityPolicy, Rerank
from requests_app.priority.policies import active_policy
from requests_app.priority.queries import expedited, override_rate
from requests_app.priority.telling import rank_of
from requests_app.priority.watch import usual_ratio
from requests_app.tickets.models import Ticket

POLICIES_SHOWN = 20


def _ticket(request: HttpRequest, ref: str) -> Ticket:
    return Ticket.objects.visible_to(signed_in(request)).for_pages().by_ref(ref)


@require_GET
@login_required
def rank(request: HttpRequest, ref: str) -> HttpResponse:
    """Why it stands where it stands; who is ahead is named to infra people alone."""
    ticket = _ticket(request, ref)
    told = rank_of(ticket, signed_in(request), in_full=True)
    return render_page(request, "requests_app/priority/rank.html", {"ticket": ticket, "rank": told})


def _read(form: django_forms.Form) -> django_forms.Form:
    if not form.is_valid():
        raise Invalid({name: [str(text) for text in texts] for name, texts in form.errors.items()})
    return form


def _done(request: HttpRequest, ticket: Ticket, said: str) -> HttpResponse:
    messages.success(request, said)
    return redirect("tickets:detail", ref=ticket.ref)


@require_POST
@login_required
def pin(request: HttpRequest, ref: str) -> HttpResponse:
    """Overrule the rank for seven days."""
    ticket = _ticket(request, ref)
    form = _read(forms.PinForm(request.POST))
    overrides.pin_ticket(ticket=ticket, **form.cleaned_data, by=signed_in(request))
    return _done(request, ticket, f"{ticket.ref} is pinned for seven days; its timeline says why.")


@require_POST
@login_required
def unpin(request: HttpRequest, ref: str) -> HttpResponse:
    """Take the pin away."""
    ticket = _ticket(request, ref)
    form = _read(forms.Seen(request.POST))
    overrides.unpin_ticket(ticket=ticket, **form.cleaned_data, by=signed_in(request))
    return _done(request, ticket, "The pin is gone.")


@require_POST
@login_required
def effort(request: HttpRequest, ref: str) -> HttpResponse:
    """Say how long first relief takes."""
    ticket = _ticket(request, ref)
    form = _read(forms.EffortForm(request.POST))
    overrides.set_effort(ticket=ticket, **form.cleaned_data, by=signed_in(request))
    return _done(request, ticket, "The effort is set, and the rank follows.")


@require_POST
@login_required
def expedite(request: HttpRequest, ref: str) -> HttpResponse:
    """Put it into the expedite lane."""
    ticket = _ticket(request, ref)
    form = _read(forms.ExpediteForm(request.POST))
    entry = overrides.expedite_ticket(ticket=ticket, **form.cleaned_data, by=signed_in(request))
    return _done(request, ticket, f"{ticket.ref} is in the expedite lane, place {entry.slot} of 2.")


@require_POST
@login_required
def unexpedite(request: HttpRequest, ref: str) -> HttpResponse:
    """Take it out of the lane."""
    ticket = _ticket(request, ref)
    overrides.unexpedite_ticket(ticket=ticket, by=signed_in(request))
    return _done(request, ticket, f"{ticket.ref} is out of the expedite lane.")


@require_http_methods(["GET", "POST"])
@login_required
def policy(request: HttpRequest) -> HttpResponse:
    """The constants that rank everybody: read by infra people, changed by admins with a reason."""
    person = signed_in(request)
    if not person.is_infra:
        raise NotFound("There is nothing here that you may see.")
    form = forms.PolicyForm(request.POST if request.method == "POST" else None, policy=active_policy())
    if request.method == "POST" and form.is_valid():
        try:
            made = policies.make_policy(
                seen=form.cleaned_data["seen"],
                constants=form.constants,
                reason=form.cleaned_data["reason"],
                by=person,
            )
            messages.success(request, f"Version {made.number} ranks now; what waits is being re-ranked.")
            return redirect("policy:policy")
        except Invalid as problem:
            for name, said in problem.fields.items():
                form.add_error(name if name in form.fields else None, said)
    context = {
        "form": form,
        "policy": active_policy(),
        "versions": list(PriorityPolicy.objects.select_related("made_by")[:POLICIES_SHOWN]),
        "run": Rerank.objects.select_related("policy").order_by("-pk").first(),
        "may_configure": person.can(Action.CONFIGURE),
        "override_rate": override_rate(),
        "usual_ratio": usual_ratio(),
        "expedited": list(expedited().select_related("team")),
    }
    status = 422 if form.errors else 200
    return render_page(request, "requests_app/priority/policy.html", context, partial="run", status=status)
