"""The inbox, what a person wants to hear of, a team's chat, and the mail room of admins."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from portal.accounts.models import Team, User
from portal.accounts.signed_in import signed_in
from portal.kernel.errors import Invalid, NotFound
from portal.kernel.keyset import page_of, pager_links
from portal.kernel.pages import render_page
from portal.notify import bouncing, chat, preferences, queries, sending, services
from portal.notify.forms import chosen_in, rows_of
from portal.notify.models import ChatRoom, Notification
from portal.notify.states import MessageState
from portal.notify.writing import place_of

ROOM = "portal/notify"


@require_GET
@login_required
def inbox(request: HttpRequest) -> HttpResponse:
    """What there is to know, newest first; `?show=unread` narrows it."""
    person = signed_in(request)
    show = request.GET.get("show", "")
    if show not in ("", "unread"):
        raise Invalid({"show": ["Use unread, or leave it away."]})
    page = page_of(
        queries.inbox_of(person, unread=show == "unread"),
        order=("-id",),
        cursor=request.GET.get("cursor", ""),
        scope=f"inbox|{show}",
    )
    context = {"page": page, "show": show, **pager_links(request, page)}
    return render_page(request, f"{ROOM}/inbox.html", context, partial="rows")


@require_GET
@login_required
def open_message(request: HttpRequest, number: int) -> HttpResponse:
    """Go to what a message is about."""
    message = queries.inbox_of(signed_in(request)).filter(pk=number).first()
    if message is None:
        raise NotFound("There is no such message.")
    if message.ticket is not None and message.comment_id is not None:
        return redirect("tickets:comment-at", ref=message.ticket.ref, number=message.comment_id)
    return redirect(place_of(message))


@require_POST
@login_required
def read(request: HttpRequest) -> HttpResponse:
    """One message has been read (and is opened, when asked so), or all of them."""
    person, text = signed_in(request), request.POST.get("message", "")
    if text and not (text.isascii() and text.isdecimal() and len(text) < 19):
        raise Invalid({"message": ["This is no message."]})
    services.mark_read(numbers=[int(text)] if text else None, by=person)
    if text and request.POST.get("open") == "1":
        return redirect("notify:open", number=int(text))
    return redirect("notify:inbox")


@login_required
@require_http_methods(["GET", "POST"])
def choices(request: HttpRequest) -> HttpResponse:
    """What to hear of, by which way, how soon."""
    person = signed_in(request)
    problems: list[str] = []
    if request.method == "POST":
        hour = request.POST.get("digest_hour", "")
        try:
            if not (hour.isascii() and hour.isdecimal() and len(hour) < 3):
                raise Invalid({"digest_hour": ["An hour of the day, 0 to 23."]})
            preferences.choose(choices=chosen_in(request.POST), hour=int(hour), by=person)
        except Invalid as problem:
            problems = [text for said in problem.fields.values() for text in said]
        else:
            messages.success(request, "Your choice is kept.")
            return redirect("notify:choices")
    context = {
        "rows": rows_of(preferences.chosen_by(person)),
        "hour": preferences.digest_hour(person),
        "hours": range(24),
        "problems": problems,
        "bouncing": bouncing.is_bouncing(person),
        "led": Team.objects.filter(memberships__user=person, memberships__role="lead"),
    }
    return render_page(request, f"{ROOM}/choices.html", context, status=422 if problems else 200)


@require_POST
@login_required
def try_again(request: HttpRequest) -> HttpResponse:
    """Mail to one's own address once more."""
    person = signed_in(request)
    bouncing.try_again(user=person, by=person)
    messages.success(request, "Mail goes to your address again.")
    return redirect("notify:choices")


@login_required
@require_http_methods(["GET", "POST"])
def team_chat(request: HttpRequest, slug: str) -> HttpResponse:
    """Where a team is told in its own chat; the address itself is never shown again."""
    person = signed_in(request)
    team = get_object_or_404(Team.objects.visible_to(person), slug=slug)
    problem = ""
    if request.method == "POST":
        try:
            chat.set_room(team=team, url=request.POST.get("url", ""), by=person)
        except Invalid as said:
            problem = " ".join(text for texts in said.fields.values() for text in texts)
        else:
            messages.success(request, "The team's chat is set." if request.POST.get("url") else "It is off.")
            return redirect("notify:team-chat", slug=slug)
    context = {"team": team, "problem": problem, "room": ChatRoom.objects.filter(team=team).first()}
    return render_page(request, f"{ROOM}/team_chat.html", context, status=422 if problem else 200)


@require_GET
@login_required
def mail_room(request: HttpRequest) -> HttpResponse:
    """Mail that waits, was given up or put aside; for admins."""
    services.only_admins(signed_in(request))
    return render_page(request, f"{ROOM}/mail_room.html", {"room": queries.mail_room()})


@require_POST
@login_required
def send_again(request: HttpRequest, number: int) -> HttpResponse:
    """Try a message again that was given up."""
    person = signed_in(request)
    services.only_admins(person)
    message = get_object_or_404(Notification, pk=number, status=MessageState.DEAD)
    sending.retry(message=message, by=person)
    messages.success(request, "It is tried again.")
    return redirect("notify:mail-room")


@require_POST
@login_required
def put_away(request: HttpRequest, number: int) -> HttpResponse:
    """Forget a mail that was put aside."""
    services.put_away(number=number, by=signed_in(request))
    messages.success(request, "The mail is put away.")
    return redirect("notify:mail-room")


@require_POST
@login_required
def resume(request: HttpRequest, username: str) -> HttpResponse:
    """Mail to somebody's address once more."""
    person = signed_in(request)
    services.only_admins(person)
    bouncing.try_again(user=get_object_or_404(User, username=username), by=person)
    messages.success(request, "Mail goes there again.")
    return redirect("notify:mail-room")
