"""What does the portal tell when something happened? Rows first: who, by which way, and when it is due. Twice does no harm."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import F
from django.db.models.functions import Greatest, Least

from portal.accounts.models import User
from portal.kernel.clock import now
from portal.kernel.errors import NotFound
from portal.kernel.refs import parse_ref
from portal.ledger.models import Event
from portal.notify.audience import is_staff_only, people_told, ticket_of
from portal.notify.chat import rooms_for
from portal.notify.kinds import KINDS, Audience, Channel, Kind, Topic, When, sentence
from portal.notify.models import DigestHour, Notification
from portal.notify.preferences import chosen_by_all
from portal.notify.schedule import next_digest, zone_of
from portal.notify.states import MessageState
from requests_app.conversation import watching
from requests_app.conversation.models import Why
from requests_app.tickets.models import Comment, Ticket
from requests_app.tickets.sentences import say

GATHERS = 4
"""How many delays a message waits at most for others of the same request, to go with them in one mail."""


def tell(event: Event) -> None:
    """Make the rows of one event."""
    kind = KINDS.get(event.name)
    if kind is None:
        return
    ticket = ticket_of(event)
    _let_follow(event, ticket)
    rows = [*_to_people(event, kind, ticket), *_to_chat(event, kind, ticket)]
    _forget_undone(event)
    if not rows:
        return
    Notification.objects.bulk_create(rows, ignore_conflicts=True)
    _gather(rows)


def _forget_undone(event: Event) -> None:
    """What was taken back before somebody read of it vanishes from their inbox."""
    undoes = event.payload.get("undoes") if event.name == "ticket.undone" else None
    if isinstance(undoes, list):
        Notification.objects.filter(event__in=undoes, channel=Channel.INBOX, read_at=None).delete()


def _let_follow(event: Event, ticket: Ticket | None) -> None:
    """Who files, takes or is given a request follows it; who followed one that was taken over follows the other."""
    if ticket is None:
        return
    if event.name == "ticket.submitted":
        watching.begin(ticket=ticket, people=[ticket.requester_id], why=Why.REQUESTER)
    if ticket.assignee_id is not None:
        watching.begin(ticket=ticket, people=[ticket.assignee_id], why=Why.ASSIGNEE)
    if event.name == "ticket.merged":
        try:
            target = Ticket.objects.filter(pk=parse_ref(str(event.payload.get("into", "")), "T")).first()
        except NotFound:
            return
        if target is not None:
            watching.follow(ticket, target)


def _to_people(event: Event, kind: Kind, ticket: Ticket | None) -> Iterator[Notification]:
    told = people_told(event, kind, ticket)
    people = {each.pk: each for each in User.objects.filter(pk__in=told)}
    chosen = chosen_by_all(list(people))
    hours = dict(DigestHour.objects.filter(user__in=people).values_list("user_id", "hour"))
    comment = _comment(event)
    for pk, person in people.items():
        named = told[pk] is Audience.NAMED
        topic = Topic.NAMED if named else kind.topic
        for channel in (Channel.INBOX, Channel.MAIL):
            when = chosen[pk][(topic, channel)]
            if when is When.OFF:
                continue
            due = _due(person, when, hours.get(pk, settings.DIGEST_HOUR))
            yield _row(
                event, kind, ticket, comment, topic=topic, named=named, channel=channel, recipient=person
            )(due, digest=when is When.DIGEST)


class _row:  # noqa: N801 - a function with two helpings of arguments
    """A message about to be: everything but when it is due."""

    def __init__(
        self,
        event: Event,
        kind: Kind,
        ticket: Ticket | None,
        comment: Comment | None,
        *,
        topic: Topic,
        channel: Channel,
        named: bool = False,
        recipient: User | None = None,
        target: str = "",
    ) -> None:
        title, body = _words(event, ticket, named=named)
        self.made = Notification(
            event=event,
            kind=event.name,
            ticket=ticket,
            comment=comment,
            recipient=recipient,
            channel=channel,
            target=target,
            topic=topic,
            named=named,
            staff_only=is_staff_only(event),
            title=title[:300],
            body=body[:2000],
            status=MessageState.SENT if channel is Channel.INBOX else MessageState.PENDING,
        )

    def __call__(self, due: datetime, *, digest: bool = False) -> Notification:
        self.made.due_at, self.made.digest = due, digest
        return self.made


def _words(event: Event, ticket: Ticket | None, *, named: bool) -> tuple[str, str]:
    """The sentence and the longer words. What a comment says isn't copied: it is read when the message leaves."""
    who = (event.actor.get_full_name() or event.actor.get_username()) if event.actor else "Quartermaster"
    own = sentence(event.name, event.subject, event.payload)
    if own:
        return own, str(event.payload.get("now", ""))
    if event.name in ("ticket.commented", "ticket.comment_edited"):
        what = "a note for infra" if event.payload.get("internal") is True else "a comment"
        return (f"{who} named you in {what}" if named else f"{who} wrote {what}"), ""
    said = say(event.name, event.payload)
    return (f"{said.title} ({who})" if event.actor else said.title), said.body


def _comment(event: Event) -> Comment | None:
    number = event.payload.get("comment")
    return Comment.objects.filter(pk=number).first() if isinstance(number, int) else None


def _due(person: User, when: When, hour: int) -> datetime:
    if when is When.DIGEST:
        return next_digest(now(), zone_of(person.time_zone, settings.TIME_ZONE), hour)
    return now() + timedelta(seconds=settings.NOTIFY_DELAY_SECONDS)


def _to_chat(event: Event, kind: Kind, ticket: Ticket | None) -> Iterator[Notification]:
    """Chat rooms hear facts that any member may hear, and no comments."""
    if not kind.to_chat or is_staff_only(event):
        return
    due = now() + timedelta(seconds=settings.NOTIFY_DELAY_SECONDS)
    for room in rooms_for(ticket):
        yield _row(event, kind, ticket, None, topic=kind.topic, channel=Channel.CHAT, target=room)(due)


def _gather(rows: list[Notification]) -> None:
    """Mails about the same request that wait for the same person leave together, a little later, in one."""
    delay = timedelta(seconds=settings.NOTIFY_DELAY_SECONDS)
    waiting = [
        row for row in rows if row.channel == Channel.MAIL and not row.digest and row.ticket_id is not None
    ]
    if not waiting:
        return
    Notification.objects.filter(
        channel=Channel.MAIL,
        status=MessageState.PENDING,
        digest=False,
        ticket=waiting[0].ticket,
        recipient__in=[row.recipient_id for row in waiting],
    ).update(due_at=Greatest("due_at", Least(waiting[0].due_at, F("created_at") + GATHERS * delay)))
