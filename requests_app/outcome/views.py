"""Two clicks on how it went, a request opened again, and what infra reads of it all."""

from __future__ import annotations

from datetime import timedelta

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_POST

from portal.accounts.signed_in import signed_in, signed_in_infra
from portal.kernel.clock import now
from portal.kernel.errors import Invalid
from portal.kernel.pages import is_fragment, render_page
from requests_app.outcome import queries, services
from requests_app.outcome.impact import impacts
from requests_app.outcome.models import Outcome
from requests_app.tickets.models import Ticket

PERIODS = {"30": "30 days", "90": "90 days", "365": "A year"}
CARD = "requests_app/outcome/card.html"
PAGE = "requests_app/outcome/scores.html"
NEWEST = 20


def _ticket(request: HttpRequest, ref: str) -> Ticket:
    return Ticket.objects.visible_to(signed_in(request)).for_pages().by_ref(ref)


@require_POST
@login_required
def say(request: HttpRequest, ref: str) -> HttpResponse:
    """One click: satisfaction or effort; words when there are some."""
    ticket = _ticket(request, ref)
    services.say_outcome(
        ticket=ticket,
        satisfaction=_number(request, "satisfaction"),
        effort=_number(request, "effort"),
        words=request.POST.get("words"),
        by=signed_in(request),
    )
    if is_fragment(request):
        return render_page(request, CARD, {"ticket": ticket})
    messages.success(request, "Thank you.")
    return redirect("tickets:detail", ref=ticket.ref)


def _number(request: HttpRequest, name: str) -> int | None:
    text = request.POST.get(name, "")
    if not text:
        return None
    if len(text) > 1 or text not in "12345":
        raise Invalid({name: ["Choose from 1 to 5."]})
    return int(text)


@require_POST
@login_required
def reopen(request: HttpRequest, ref: str) -> HttpResponse:
    """Back to the desk."""
    ticket, version = _ticket(request, ref), request.POST.get("version", "")
    if not (version.isascii() and version.isdecimal() and len(version) < 10):
        raise Invalid({"version": ["The page has lost its version; reload it."]})
    services.reopen_ticket(
        ticket=ticket, version=int(version), reason=request.POST.get("text", ""), by=signed_in(request)
    )
    messages.success(request, f"{ticket.ref} is at the desk again, with its old place in the queue.")
    return redirect("tickets:detail", ref=ticket.ref)


@require_GET
@login_required
def scores(request: HttpRequest) -> HttpResponse:
    """Scores by pillar with their n, the newest words, and claims beside what telemetry saw."""
    person, days = signed_in_infra(request), request.GET.get("days", "90")
    unknown = sorted(set(request.GET) - {"days"})
    if unknown or days not in PERIODS:
        raise Invalid({unknown[0] if unknown else "days": [f"Known: days of {', '.join(PERIODS)}."]})
    until = now()
    since = until - timedelta(days=int(days))
    newest = Outcome.objects.visible_to(person).filter(changed_at__gte=since).exclude(words="")
    context = {
        "scores": queries.scores(since, until),
        "words": newest.select_related("person", "ticket__team").order_by("-changed_at")[:NEWEST],
        "impacts": impacts(since, until),
        "periods": PERIODS,
        "days": days,
    }
    return render_page(request, PAGE, context)
