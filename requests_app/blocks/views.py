"""Blocks as people work with them: the ten-second claim, one-click words of people and desk, and what is owed on a day."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from portal.accounts.models import User
from portal.accounts.signed_in import signed_in
from portal.kernel.errors import Invalid, NotAllowed, NotFound
from portal.kernel.pages import render_page
from requests_app.blocks import commitments, services
from requests_app.blocks.forms import BlockedForm, OwedForm
from requests_app.blocks.models import BlockInterval, Commitment
from requests_app.tickets.models import Ticket


def _ticket(request: HttpRequest, ref: str) -> Ticket:
    return Ticket.objects.visible_to(signed_in(request)).for_pages().by_ref(ref)


def _member(request: HttpRequest, ticket: Ticket) -> User:
    person = signed_in(request)
    if not person.belongs_to(ticket.team):
        raise NotAllowed(f"Only members of {ticket.team.name} speak for it.")
    return person


def _done(request: HttpRequest, ref: str, said: str) -> HttpResponse:
    messages.success(request, said)
    return redirect("tickets:detail", ref=ref)


@require_http_methods(["GET", "POST"])
@login_required
def blocked(request: HttpRequest, ref: str) -> HttpResponse:
    """Say that the team is blocked, or correct what was said. Infra people read the form; the team alone fills it."""
    ticket = _ticket(request, ref)
    block = BlockInterval.objects.filter(ticket=ticket, ended_at=None).first()
    if request.method != "POST":
        return _blocked_page(request, ticket, BlockedForm(team=ticket.team, block=block))
    person = _member(request, ticket)
    form = BlockedForm(request.POST, team=ticket.team, block=block)
    if form.is_valid():
        try:
            if block is None:
                services.open_block(ticket=ticket, claim=form.claim, by=person)
                return _done(
                    request, ticket.ref, "Your block is noted; its clock runs until you say that it is over."
                )
            seen = _version(request)
            services.amend_block(ticket=ticket, version=seen, claim=form.claim, by=person)
            return _done(request, ticket.ref, "The facts of your block are corrected.")
        except Invalid as problem:
            for name, said in problem.fields.items():
                form.add_error(name if name in form.fields else None, said)
    return _blocked_page(request, ticket, form, status=422)


def _blocked_page(
    request: HttpRequest, ticket: Ticket, form: BlockedForm, *, status: int = 200
) -> HttpResponse:
    context = {"ticket": ticket, "form": form, "is_member": signed_in(request).belongs_to(ticket.team)}
    return render_page(request, "requests_app/blocks/blocked.html", context, status=status)


def _version(request: HttpRequest) -> int:
    text = request.POST.get("version", "")
    if not text.isascii() or not text.isdecimal() or len(text) > 9:
        raise Invalid({"version": ["The page has lost its version; reload it."]})
    return int(text)


@require_POST
@login_required
def speak(request: HttpRequest, ref: str) -> HttpResponse:
    """A person's own click: blocked, at half speed, or not."""
    ticket, person = _ticket(request, ref), signed_in(request)
    answer = request.POST.get("answer", "")
    if answer == "no":
        services.refuse_person(ticket=ticket, by=person)
        return _done(request, ticket.ref, "Good to know: you are not counted.")
    if answer not in ("yes", "half"):
        raise Invalid({"answer": ["Say yes, half or no."]})
    services.confirm_person(ticket=ticket, half=answer == "half", by=person)
    return _done(request, ticket.ref, "Thank you. Your word counts more than a number somebody typed.")


@require_POST
@login_required
def found(request: HttpRequest, ref: str) -> HttpResponse:
    """The desk looked and found it so."""
    ticket = _ticket(request, ref)
    services.find_blocked(ticket=ticket, by=signed_in(request))
    return _done(request, ticket.ref, "Confirmed; the claim counts 80 % now.")


@require_http_methods(["GET", "POST"])
@login_required
def owed(request: HttpRequest, ref: str) -> HttpResponse:
    """Say what the team owes on a day, and who vouches for it."""
    ticket = _ticket(request, ref)
    form = OwedForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        try:
            made = commitments.commit(
                ticket=ticket, owed=commitments.Owed(**form.cleaned_data), by=_member(request, ticket)
            )
            return _done(request, ticket.ref, f"{made.sponsor.username} is asked; it counts with their yes.")
        except Invalid as problem:
            for name, said in problem.fields.items():
                form.add_error(name if name in form.fields else None, said)
    context = {"ticket": ticket, "form": form, "is_member": signed_in(request).belongs_to(ticket.team)}
    status = 422 if form.errors else 200
    return render_page(request, "requests_app/blocks/owed.html", context, status=status)


@require_GET
@login_required
def vouching(request: HttpRequest) -> HttpResponse:
    """What others ask this person to vouch for, latest first."""
    rows = Commitment.objects.filter(sponsor=signed_in(request), dropped_at=None)
    rows = rows.select_related("ticket__team", "asked_by").order_by("-id")[:100]
    return render_page(request, "requests_app/blocks/vouching.html", {"commitments": list(rows)})


def _commitment(request: HttpRequest, number: int) -> Commitment:
    found = Commitment.objects.visible_to(signed_in(request)).filter(pk=number).first()
    if found is None:
        raise NotFound("There is no such commitment.")
    return found


@require_POST
@login_required
def vouch(request: HttpRequest, number: int) -> HttpResponse:
    """The sponsor's yes."""
    commitments.confirm_commitment(commitment=_commitment(request, number), by=signed_in(request))
    messages.success(request, "You vouch for it; it counts now.")
    return redirect("owed:vouching")


@require_POST
@login_required
def drop(request: HttpRequest, number: int) -> HttpResponse:
    """The team, or the sponsor, takes it back."""
    person = signed_in(request)
    dropped = commitments.drop_commitment(commitment=_commitment(request, number), by=person)
    messages.success(request, "It counts no more.")
    if dropped.sponsor_id == person.pk:
        return redirect("owed:vouching")
    return redirect("tickets:detail", ref=dropped.ticket.ref)
