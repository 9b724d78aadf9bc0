"""A ticket's conversation: say, edit, preview, keep what is half-written, name people, follow."""

from __future__ import annotations

import json

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from portal.accounts.models import User
from portal.accounts.signed_in import signed_in
from portal.kernel.errors import Invalid, LostRace, NotFound, PortalError
from portal.kernel.pages import is_fragment, render_page
from requests_app.catalogue import texts
from requests_app.conversation import drafts, services, watching
from requests_app.conversation.prose import comment_html
from requests_app.conversation.readers import people_like
from requests_app.conversation.thread import Story
from requests_app.tickets.models import Comment, Ticket
from requests_app.tickets.queries import ticket_view

DETAIL = "requests_app/tickets/detail.html"
ROOM = "requests_app/conversation"


def ticket_of(user: User, ref: str) -> Ticket:
    """The ticket, if `user` may see it."""
    return Ticket.objects.visible_to(user).for_pages().by_ref(ref)


def comment_of(user: User, ref: str, number: int) -> Comment:
    """The comment, found through its ticket; NotFound when `user` may not read it."""
    said = Comment.objects.visible_to(user).filter(ticket=ticket_of(user, ref), pk=number)
    found = said.select_related("author", "ticket__team").first()
    if found is None:
        raise NotFound("There is no such comment.")
    return found


@require_POST
@login_required
def comment(request: HttpRequest, ref: str) -> HttpResponse:
    """Say something; infra people may keep it among themselves. What can't be sent is kept as a draft."""
    person = signed_in(request)
    ticket, internal = ticket_of(person, ref), request.POST.get("internal") == "1"
    text, token = request.POST.get("text", ""), request.POST.get("token", "")
    files = request.FILES.getlist("files")
    try:
        made = services.comment(
            ticket=ticket, body=text, internal=internal, token=token or None, files=files, by=person
        )
    except Invalid:
        drafts.save_draft(ticket=ticket, text=text, token=token, internal=internal, by=person)
        raise
    if not is_fragment(request):
        messages.success(request, "Your comment is there.")
        return redirect(f"{reverse('tickets:detail', args=[ref])}#comment-{made.pk}")
    ticket = ticket_of(person, ref)
    seen = request.POST.get("version", "")
    context = {
        "view": ticket_view(ticket, person),
        "ticket": ticket,
        "stale": seen not in ("", str(ticket.version)),
    }
    response = render_page(request, DETAIL, context, partial="polled")
    response["HX-Trigger"] = json.dumps(
        {
            "toast": {"text": "Your comment is there.", "level": "success"},
            "commented": {"internal": internal, "token": drafts.new_token()},
        }
    )
    return response


@require_POST
@login_required
def draft(request: HttpRequest, ref: str) -> HttpResponse:
    """Keep what is half-written."""
    person = signed_in(request)
    kept = drafts.save_draft(
        ticket=ticket_of(person, ref),
        text=request.POST.get("text", ""),
        token=request.POST.get("token", ""),
        internal=request.POST.get("internal") == "1",
        by=person,
    )
    return JsonResponse({"kept": kept is not None})


@require_POST
@login_required
def preview(request: HttpRequest, ref: str) -> HttpResponse:
    """How a text will look."""
    ticket = ticket_of(signed_in(request), ref)
    text = request.POST.get("text", "")[: texts.LONG]
    context = {"ticket": ticket, "html": comment_html(text), "text": text}
    return render_page(request, f"{ROOM}/preview.html", context, partial="shown")


@require_GET
@login_required
def people(request: HttpRequest, ref: str) -> JsonResponse:
    """Who can be named: `?q=` begins their name, `&internal=1` for a note. Only who may read what is being written."""
    person = signed_in(request)
    internal = request.GET.get("internal") == "1" and person.is_infra
    found = people_like(ticket_of(person, ref), request.GET.get("q", ""), internal=internal)
    return JsonResponse(
        {"people": [{"username": each.username, "name": each.get_full_name()} for each in found]}
    )


@require_GET
@login_required
def story(request: HttpRequest, ref: str) -> HttpResponse:
    """The next entries between `?after=` and `?until=`; without htmx the page from there on."""
    person = signed_in(request)
    ticket = ticket_of(person, ref)
    after, until = request.GET.get("after", ""), request.GET.get("until", "")
    if not is_fragment(request):
        return redirect(f"{reverse('tickets:detail', args=[ref])}?story={after[:20]}")
    entries, left = Story(ticket, person, ticket.lines.all()).between(after, until)
    context = {"ticket": ticket, "entries": entries, "left": left, "until": until}
    return render_page(request, f"{ROOM}/middle.html", context)


@require_GET
@login_required
def permalink(request: HttpRequest, ref: str, number: int) -> HttpResponse:
    """The page of the ticket, opened at one comment however long the story is."""
    said = comment_of(signed_in(request), ref, number)
    return redirect(f"{reverse('tickets:detail', args=[ref])}?story=c{said.pk}#comment-{said.pk}")


@login_required
@require_http_methods(["GET", "POST"])
def edit(request: HttpRequest, ref: str, number: int) -> HttpResponse:
    """Say it better. A stale form shows both texts and loses neither."""
    person = signed_in(request)
    said = comment_of(person, ref, number)
    context = {
        "ticket": said.ticket,
        "said": said,
        "text": said.body,
        "version": said.version,
        "problem": None,
    }
    status = 200
    if request.method == "POST":
        text = request.POST.get("text", "")
        try:
            services.edit_comment(comment=said, version=_version(request), body=text, by=person)
        except (Invalid, LostRace) as problem:
            said.refresh_from_db()
            context |= {"text": text[: 4 * texts.LONG], "version": said.version, "problem": _words(problem)}
            context["theirs"] = said.body if isinstance(problem, LostRace) else ""
            status = problem.status
        else:
            messages.success(request, "Your comment says it better now.")
            return redirect("tickets:comment-at", ref=ref, number=number)
    return render_page(request, f"{ROOM}/edit.html", context, status=status)


def _words(problem: PortalError) -> str:
    if isinstance(problem, Invalid):
        return " ".join(text for said in problem.fields.values() for text in said)
    return problem.message


def _version(request: HttpRequest) -> int:
    text = request.POST.get("version", "")
    if not text.isascii() or not text.isdecimal() or len(text) > 9:
        raise Invalid({"version": ["The page has lost its version; reload it."]})
    return int(text)


@require_GET
@login_required
def history(request: HttpRequest, ref: str, number: int) -> HttpResponse:
    """The older wordings of a comment."""
    said = comment_of(signed_in(request), ref, number)
    context = {"ticket": said.ticket, "said": said, "revisions": said.revisions.order_by("-number")}
    return render_page(request, f"{ROOM}/history.html", context)


@require_POST
@login_required
def hide(request: HttpRequest, ref: str, number: int) -> HttpResponse:
    """Keep a comment among infra people from now on."""
    person = signed_in(request)
    services.hide_comment(comment=comment_of(person, ref, number), by=person)
    messages.success(request, "Only infra people read this comment now.")
    return redirect("tickets:comment-at", ref=ref, number=number)


@require_POST
@login_required
def watch(request: HttpRequest, ref: str) -> HttpResponse:
    """Follow the ticket, or with `follow=0` hear nothing of it any more."""
    person = signed_in(request)
    ticket = ticket_of(person, ref)
    if request.POST.get("follow") == "0":
        watching.unwatch(ticket=ticket, by=person)
    else:
        watching.watch(ticket=ticket, by=person)
    if is_fragment(request):
        return render_page(request, "portal/notify/watch.html", {"ticket": ticket})
    return redirect("tickets:detail", ref=ref)
