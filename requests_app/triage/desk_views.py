"""The desk as an inbox: a list, the ticket under the cursor, verdicts that bring the next one, and what can be taken back."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from portal.accounts.models import User
from portal.accounts.signed_in import signed_in
from portal.kernel.errors import NotFound
from portal.kernel.keyset import Page, page_of, pager_links
from portal.kernel.pages import is_fragment, render_page
from requests_app.tickets.models import Ticket
from requests_app.triage import inbox, presence, undo
from requests_app.triage.acts import Done, act
from requests_app.triage.claiming import claim_next
from requests_app.triage.desk_forms import read_verdict
from requests_app.triage.doors import for_triagers
from requests_app.triage.duty import duty_now
from requests_app.triage.filters import RANKED, VIEWS, Filters, read_filters
from requests_app.triage.pane import Pane, pane_of
from requests_app.triage.rows import rows_of
from requests_app.triage.saved_views import address, views_for
from requests_app.triage.snoozing import wake_ticket

DESK = "requests_app/triage/desk.html"
SIZE = 50
LONGEST_SHOWN = 1_000
"""Characters that fifty numbers of tickets take, and some to spare."""


@dataclass(frozen=True)
class Look:
    """One look at the desk: the filters, the page of the list, and the ticket under the cursor."""

    filters: Filters
    page: Page[Ticket]
    pane: Pane | None
    chosen: bool


def look(by: User, query: QueryDict, *, wanted: str = "", otherwise: str = "") -> Look:
    """The list as `query` asks for it, with `wanted` under the cursor, else `otherwise`, else its first row.

    A ticket that is asked for by the address is shown even when the list doesn't hold it: a link is a link.
    """
    filters = read_filters({name: query.get(name, "") for name in query})
    inbox.known_names(filters)
    page = page_of(
        inbox.listed(inbox.desk(by, filters)),
        order=inbox.order_of(filters.view),
        cursor=query.get("cursor", ""),
        scope=filters.scope,
        size=SIZE,
    )
    asked = query.get("open", "")
    refs = [row.ref for row in page.rows]
    ref = next((each for each in (wanted, otherwise) if each in refs), "")
    ref = ref or (asked if not (wanted or otherwise) else "") or (refs[0] if refs else "")
    if not ref:
        return Look(filters, page, None, chosen=False)
    ticket = Ticket.objects.visible_to(by).for_pages().by_ref(ref)
    after = refs[refs.index(ref) + 1 :] if ref in refs else refs
    before = refs[: refs.index(ref)][-1:] if ref in refs else []
    then = next(iter([*after, *before]), "")
    return Look(filters, page, pane_of(ticket, by, then=then), chosen=bool(asked or wanted))


def show(request: HttpRequest, seen: Look, *, partial: str, said: Done | None = None) -> HttpResponse:
    """The page, or the part that htmx asked for, with everything around it."""
    by = signed_in(request)
    people, duty = cache(inbox.deciders), cache(duty_now)
    ranked = seen.filters.view in RANKED
    context: dict[str, Any] = {
        "look": seen,
        "page": seen.page,
        "filters": seen.filters,
        "query": address(seen.filters),
        "row_url": _row_url(seen.filters),
        "heading": VIEWS[seen.filters.view],
        "shown": "" if seen.page.previous else ",".join(str(row.pk) for row in seen.page.rows),
        "said": said,
        # What follows is read by the part of the page that shows it, and for no other.
        "undo": cache(lambda: undo.newest_undo(by)),
        "duty": duty,
        "rows": lambda: rows_of(
            seen.page.rows,
            ranked=ranked,
            open_one=seen.pane.ticket.pk if seen.pane else None,
            on_duty=duty().person,
        ),
        "deciders": people,
        "tabs": lambda: inbox.tabs(by),
        "saved": cache(lambda: views_for(by)),
        "choices": cache(lambda: inbox.choices(people())),
        **pager_links(request, seen.page),
    }
    return render_page(request, DESK, context, partial=partial)


def _row_url(filters: Filters) -> str:
    """The address of a row, but for its ref at the end."""
    query = address(filters)
    return f"{reverse('desk:queue')}?{query}{'&' if query else ''}open="


@require_GET
@for_triagers
def queue(request: HttpRequest) -> HttpResponse:
    """The list and the ticket under the cursor; `open` says which one."""
    seen = look(signed_in(request), request.GET)
    target = request.headers.get("HX-Target", "")
    return show(request, seen, partial={"pane": "pane", "desk-list": "list"}.get(target, "work"))


@require_GET
@for_triagers
def fresh(request: HttpRequest) -> HttpResponse:
    """What has come since the list was drawn, by number; the list itself stays as it is until its reader wants it anew."""
    given = request.GET.dict()
    shown = {int(each) for each in given.pop("shown", "")[:LONGEST_SHOWN].split(",") if each.isdecimal()}
    filters = read_filters(given)
    new = inbox.unseen(signed_in(request), filters, shown, SIZE)
    return render_page(request, "requests_app/triage/fresh.html", {"new": new})


@require_POST
@for_triagers
def verdict(request: HttpRequest, ref: str, verb: str) -> HttpResponse:
    """Do one verb to one ticket; the next one comes under the cursor."""
    by = signed_in(request)
    ticket = Ticket.objects.visible_to(by).by_ref(ref)
    version, given = read_verdict(verb, request.POST, by)
    done = act(verb=verb, ticket=ticket, version=version, given=given, by=by)
    return _went_on(request, done.says, wanted=ref, otherwise=request.POST.get("then", ""), done=done)


@require_POST
@for_triagers
def take_next(request: HttpRequest) -> HttpResponse:
    """Claim the most urgent ticket that nobody has."""
    ticket = claim_next(by=signed_in(request))
    if ticket is None:
        return _went_on(request, "Nobody waits: every request has somebody, or sleeps.")
    return _went_on(request, f"{ticket.ref} is yours.", wanted=ticket.ref)


@require_POST
@for_triagers
def take_back(request: HttpRequest, number: int) -> HttpResponse:
    """Undo the newest act."""
    ticket = undo.take_back(undo_id=number, by=signed_in(request))
    return _went_on(request, f"{ticket.ref} is as it was.", wanted=ticket.ref)


@require_POST
@for_triagers
def wake(request: HttpRequest, ref: str) -> HttpResponse:
    """Bring a snoozed ticket back."""
    by = signed_in(request)
    ticket = Ticket.objects.visible_to(by).by_ref(ref)
    version, _ = read_verdict("wake", request.POST, by)
    wake_ticket(ticket=ticket, version=version, by=by)
    return _went_on(
        request, f"{ref} is back in the inbox.", wanted=ref, otherwise=request.POST.get("then", "")
    )


@require_POST
@for_triagers
def watch(request: HttpRequest, ref: str) -> HttpResponse:
    """The page says that it is still open, and hears who else looks."""
    by = signed_in(request)
    ticket = Ticket.objects.visible_to(by).by_ref(ref)
    presence.leave(by=by, but=ticket)
    context = {"ticket": ticket, "watching": presence.beat(ticket=ticket, by=by)}
    if not is_fragment(request):
        return redirect("tickets:detail", ref=ref)
    return render_page(request, "requests_app/triage/presence.html", context)


def _went_on(
    request: HttpRequest, said: str, *, wanted: str = "", otherwise: str = "", done: Done | None = None
) -> HttpResponse:
    """The desk after something was done; without htmx its address, where what was said is read from the messages."""
    query = QueryDict(request.POST.get("back", "")[:2000], mutable=True)
    by = signed_in(request)
    if not is_fragment(request):
        messages.success(request, said)
        seen = look(by, query, wanted=wanted, otherwise=otherwise)
        query["open"] = seen.pane.ticket.ref if seen.pane else ""
        return redirect(f"{reverse('desk:queue')}?{query.urlencode()}")
    try:
        seen = look(by, query, wanted=wanted, otherwise=otherwise)
    except NotFound:  # what the address asked for is out of sight now
        query.pop("open", None)
        seen = look(by, query)
    response = show(request, seen, partial="work", said=done)
    response["HX-Trigger"] = json.dumps({"desk:said": {"text": said}})
    if seen.pane:
        query["open"] = seen.pane.ticket.ref
    response["HX-Replace-Url"] = f"{reverse('desk:queue')}?{query.urlencode()}"
    return response
