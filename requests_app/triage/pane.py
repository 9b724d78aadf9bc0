"""What does a decider see of the ticket under the cursor? Enough for a verdict, in a handful of queries."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, time, timedelta

from django.utils import timezone

from portal.accounts.models import User, named
from portal.kernel.clock import now
from requests_app.priority.queries import ahead_of, is_in_queue
from requests_app.relations.queries import Relations, relations_of
from requests_app.search.similar import Similar, similar_to
from requests_app.tickets.models import Comment, Ticket
from requests_app.tickets.queries import answers_in_words
from requests_app.tickets.states import QUEUED
from requests_app.triage.acts import VERBS, Verb
from requests_app.triage.presence import others
from requests_app.triage.queries import Panel, panel_of
from requests_app.triage.replies import Reply, replies_for

LAST_COMMENTS = 4
MORNING = time(9)


@dataclass(frozen=True, kw_only=True)
class Sleep:
    """One choice of a snooze: its key, its value in the form, and its words."""

    key: int
    value: str
    title: str
    at: datetime | None


@dataclass(frozen=True, kw_only=True)
class Pane:
    """One ticket at the desk. `then` is the ref of the one after it, where the cursor goes next."""

    ticket: Ticket
    ahead: int | None
    panel: Panel
    verbs: dict[str, Verb]
    answers: tuple[tuple[str, str], ...]
    comments: list[Comment]
    similar: list[Similar]
    relations: Relations
    watching: list[User]
    replies: list[Reply]
    sleeps: tuple[Sleep, ...]
    then: str


def pane_of(ticket: Ticket, by: User, *, then: str = "") -> Pane:
    """Gather the pane; whoever calls got the ticket from `visible_to(by)`."""
    panel = panel_of(ticket, by)
    queued = ticket.status in QUEUED
    said = Comment.objects.visible_to(by).filter(ticket=ticket).select_related("author").order_by("-id")
    said = said.only("body", "internal", "at", *named("author"))
    return Pane(
        ticket=ticket,
        ahead=ahead_of(ticket)[0] if is_in_queue(ticket) else None,
        panel=panel,
        verbs={name: verb for name, verb in VERBS.items() if _fits(name, panel, by, queued=queued)},
        answers=answers_in_words(ticket),
        comments=list(said[:LAST_COMMENTS])[::-1],
        similar=similar_to(ticket, by) if queued else [],
        relations=relations_of(ticket, by),
        watching=others(ticket=ticket, by=by),
        replies=replies_for(ticket, by) if by.is_triager else [],
        sleeps=sleeps(now()),
        then=then,
    )


_NEEDS = {"accept": "approve", "offer": "offer", "decline": "decline", "ask": "ask_back", "assign": "take"}


def _fits(verb: str, panel: Panel, by: User, *, queued: bool) -> bool:
    """True when the verb makes sense now and this person may do it; what is in the queue can sleep or be merged."""
    if verb == "offer" and not panel.lines:
        return False
    needed = _NEEDS.get(verb)
    return needed in panel.may if needed else queued and by.is_triager


def sleeps(at: datetime) -> tuple[Sleep, ...]:
    """What people choose when they snooze, in the zone of who reads."""
    local = timezone.localtime(at)
    zone = timezone.get_current_timezone()
    tomorrow = datetime.combine(local.date() + timedelta(days=1), MORNING, zone)
    monday = datetime.combine(local.date() + timedelta(days=7 - local.weekday()), MORNING, zone)
    return (
        Sleep(key=1, value="4h", title="For four hours", at=at + timedelta(hours=4)),
        Sleep(key=2, value="tomorrow", title="Until tomorrow morning", at=tomorrow),
        Sleep(key=3, value="monday", title="Until Monday morning", at=monday),
        Sleep(key=4, value="activity", title="Until somebody says something", at=None),
    )


def sleep_until(value: str, typed: datetime | None) -> tuple[bool, datetime | None]:
    """Whether the choice exists, and its moment; `at` is the moment that was typed."""
    if value == "at":
        return typed is not None, typed
    for sleep in sleeps(now()):
        if sleep.value == value:
            return True, sleep.at
    return False, None
