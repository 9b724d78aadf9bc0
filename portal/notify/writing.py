"""What do the messages of one person become? One letter, written from how things stand when it leaves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from django.conf import settings

from portal.accounts.models import User
from portal.notify.letters import Fact, Letter, digest, letter
from portal.notify.models import Notification
from portal.shell.addresses import page_of
from requests_app.conversation.models import Watch
from requests_app.conversation.prose import comment_html


def write(messages: Sequence[Notification], person: User) -> Letter:
    """The letter. A comment is quoted as it reads now; whoever calls has asked at the gate."""
    if messages[0].digest:
        return _digest(messages)
    first = messages[0]
    facts = [_fact(message) for message in messages]
    ticket = first.ticket
    return letter(
        ref=ticket.ref if ticket else "",
        title=ticket.title if ticket else first.title,
        facts=facts,
        url=absolute(place_of(first)),
        why=_why(first, person),
        settings_url=absolute("/account/notifications/"),
        can_reply=ticket is not None,
    )


def place_of(message: Notification) -> str:
    """The path of what it is about; the inbox for what has no page."""
    return page_of(message.about) or "/inbox/"


def absolute(path: str) -> str:
    """An address for people outside the browser."""
    return settings.PUBLIC_URL.rstrip("/") + path


def _digest(messages: Iterable[Notification]) -> Letter:
    def about(message: Notification) -> tuple[int, str, str]:
        ticket = message.ticket
        if ticket is None:
            return 0, "Your account, your teams and the fleet", absolute("/inbox/")
        return ticket.pk, f"{ticket.ref} {ticket.title}", absolute(place_of(message))

    ordered = sorted(messages, key=lambda message: (about(message)[0], message.pk))
    groups = [
        (heading, url, [_fact(message) for message in group])
        for (_, heading, url), group in groupby(ordered, key=about)
    ]
    return digest(groups=groups, settings_url=absolute("/account/notifications/"))


def _fact(message: Notification) -> Fact:
    if message.comment is not None:
        return Fact(title=message.title, body=message.comment.body, html=comment_html(message.comment.body))
    return Fact(title=message.title, body=message.body)


def _why(message: Notification, person: User) -> str:
    if message.named:
        return "You are named in it."
    watch = Watch.objects.filter(ticket=message.ticket, user=person).first() if message.ticket else None
    reasons = {
        "requester": "You filed this request.",
        "assignee": "This request is with you.",
        "commented": "You take part in this request.",
        "mentioned": "You were named in this request.",
        "merged": "You followed a request that became part of this one.",
    }
    if watch is None:
        return "It concerns you or your team."
    return reasons.get(watch.why, "You follow this request.")
