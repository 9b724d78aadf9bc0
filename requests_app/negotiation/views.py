"""Offers and promises on the page of a ticket, and the list of what is promised."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_POST

from portal.accounts.signed_in import signed_in
from portal.kernel.clock import now
from portal.kernel.errors import Invalid, NotFound
from portal.kernel.keyset import page_of, pager_links
from portal.kernel.pages import render_page
from requests_app.negotiation import forms, services
from requests_app.negotiation.due import overdue_promises
from requests_app.negotiation.models import Offer, Promise
from requests_app.tickets.access import Doing, fits
from requests_app.tickets.models import LineVerdict, Ticket

TABS = {"open": "To come", "overdue": "Overdue"}


def _ticket(request: HttpRequest, ref: str) -> Ticket:
    return Ticket.objects.visible_to(signed_in(request)).by_ref(ref)


def _offer(request: HttpRequest, ref: str, revision: int) -> Offer:
    return Offer.objects.filter(ticket=_ticket(request, ref)).of_revision(revision)


def _promise(request: HttpRequest, number: int) -> Promise:
    rows = Promise.objects.visible_to(signed_in(request)).select_related("line__ticket__team")
    found = rows.filter(pk=number).first()
    if found is None:
        raise NotFound("There is no such promise.")
    return found


def _back(request: HttpRequest, ref: str, said: str) -> HttpResponse:
    messages.success(request, said)
    return redirect("tickets:detail", ref=ref)


@require_GET
@login_required
def new(request: HttpRequest, ref: str) -> HttpResponse:
    """The desk's form of an offer: a page of its own, or its fields for where it is folded away."""
    person = signed_in(request)
    ticket = Ticket.objects.visible_to(person).for_pages().by_ref(ref)
    if not person.is_triager or not fits(Doing.OFFER, ticket.status):
        return redirect("tickets:detail", ref=ref)
    return render_page(request, "requests_app/negotiation/offer.html", {"ticket": ticket}, partial="fields")


@require_POST
@login_required
def propose(request: HttpRequest, ref: str) -> HttpResponse:
    """The desk offers something for every undecided line."""
    ticket = _ticket(request, ref)
    pending = ticket.lines.filter(verdict=LineVerdict.PENDING).values_list("position", flat=True)
    made = services.propose_offer(
        ticket=ticket,
        version=forms.read_version(request.POST),
        lines=forms.read_proposals(request.POST, pending),
        expires_at=forms.read_expiry(request.POST),
        note=request.POST.get("note", ""),
        by=signed_in(request),
    )
    return _back(request, ref, f"The team has offer {made.revision}; the clock of {ref} is paused.")


@require_POST
@login_required
def withdraw(request: HttpRequest, ref: str) -> HttpResponse:
    """The desk takes its offer back."""
    services.withdraw_offer(
        ticket=_ticket(request, ref),
        version=forms.read_version(request.POST),
        reason=request.POST.get("reason", ""),
        by=signed_in(request),
    )
    return _back(request, ref, "The offer is withdrawn; what it held is free.")


@require_POST
@login_required
def answer(request: HttpRequest, ref: str) -> HttpResponse:
    """The desk answers what the team asked about its offer."""
    services.answer_about_offer(
        ticket=_ticket(request, ref),
        version=forms.read_version(request.POST),
        answer=request.POST.get("answer", ""),
        by=signed_in(request),
    )
    return _back(request, ref, "The team has your answer; the offer goes on.")


@require_POST
@login_required
def reply(request: HttpRequest, ref: str, revision: int) -> HttpResponse:
    """The team accepts, counters or drops, line by line."""
    offer = _offer(request, ref, revision)
    said = forms.read_reply(request.POST, offer.lines.values_list("line__position", flat=True))
    services.reply_to_offer(
        offer=offer,
        revision=revision,
        accept=said.accept,
        counter=said.counter,
        drop=said.drop,
        words=said.words,
        by=signed_in(request),
    )
    return _back(request, ref, "The desk has your answer.")


@require_POST
@login_required
def ask(request: HttpRequest, ref: str, revision: int) -> HttpResponse:
    """The team asks something about an offer first."""
    services.ask_about_offer(
        offer=_offer(request, ref, revision),
        revision=revision,
        question=request.POST.get("question", ""),
        by=signed_in(request),
    )
    return _back(request, ref, "The desk has your question; the offer stays open until it has answered.")


@require_GET
@login_required
def promises(request: HttpRequest) -> HttpResponse:
    """What is promised to the teams one sees: what is to come, or what is overdue."""
    person, view = signed_in(request), request.GET.get("view", "open")
    unknown = set(request.GET) - {"view", "cursor"}
    if view not in TABS or unknown:
        raise Invalid({"view": [f"Choose one of: {', '.join(TABS)}."]})
    rows = overdue_promises(person) if view == "overdue" else Promise.objects.visible_to(person).living()
    page = page_of(
        rows.select_related("line__ticket__team"),
        order=("due_on", "id"),
        cursor=request.GET.get("cursor", ""),
        scope=f"promises|{view}",
    )
    context = {
        "page": page,
        "tabs": TABS,
        "view": view,
        "today": now().date(),
        "overdue": overdue_promises(person).count(),
        **pager_links(request, page),
    }
    return render_page(request, "requests_app/negotiation/promises.html", context, partial="rows")


@require_POST
@login_required
def keep(request: HttpRequest, number: int) -> HttpResponse:
    """Place the order, make the grant, or hand it over."""
    promise = _promise(request, number)
    services.keep_promise(
        promise=promise,
        version=forms.read_version(request.POST),
        note=request.POST.get("note", ""),
        by=signed_in(request),
    )
    return _back(request, promise.line.ticket.ref, "It is under way.")


@require_POST
@login_required
def move(request: HttpRequest, number: int) -> HttpResponse:
    """Promise another day, with a reason."""
    promise = _promise(request, number)
    services.move_promise(
        promise=promise,
        version=forms.read_version(request.POST),
        due_on=forms.read_day(request.POST, "due_on"),
        reason=request.POST.get("reason", ""),
        by=signed_in(request),
    )
    return _back(request, promise.line.ticket.ref, "The team reads the new day and your reason.")


@require_POST
@login_required
def cancel(request: HttpRequest, number: int) -> HttpResponse:
    """Take a promise back, with a reason."""
    promise = _promise(request, number)
    services.cancel_promise(
        promise=promise,
        version=forms.read_version(request.POST),
        reason=request.POST.get("reason", ""),
        by=signed_in(request),
    )
    return _back(request, promise.line.ticket.ref, "The promise is taken back; what it held is free.")
