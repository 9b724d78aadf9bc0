"""How does what is due leave? Claimed with a lease, asked at the gate, sent in one mail per person and request, retried."""

from __future__ import annotations

import logging
import smtplib
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet

from portal.accounts.models import User
from portal.kernel.clock import now
from portal.kernel.errors import LostRace
from portal.kernel.moves import move
from portal.ledger.services import record
from portal.notify import bouncing, chat, events, outgoing
from portal.notify.gate import why_not
from portal.notify.kinds import Channel
from portal.notify.letters import message_id
from portal.notify.models import Notification
from portal.notify.schedule import pause_after
from portal.notify.states import MACHINE, MessageAction, MessageState
from portal.notify.writing import write
from requests_app.tickets.models import Ticket

logger = logging.getLogger(__name__)

LEASE = timedelta(minutes=5)
MOST_TOGETHER = 100
TOO_OLD = timedelta(days=3)


def deliver_due(limit: int = 200) -> int:
    """Send what is due, at most `limit` mails and chat lines; how many were tried."""
    _take_back_lost()
    tried = 0
    while tried < limit:
        claimed = _claim()
        if claimed is None:
            return tried
        if claimed:
            tried += 1
            _deliver(claimed)
    return tried


def _take_back_lost() -> None:
    """A sender that died left its messages claimed. They are sent again under the same Message-ID."""
    lost = Notification.objects.filter(status=MessageState.SENDING, leased_until__lt=now())
    for message in lost[:500]:
        try:
            move(
                message, MessageAction.PUT_OFF, machine=MACHINE, extra={"leased_until": None, "due_at": now()}
            )
        except LostRace:
            continue


def _due() -> QuerySet[Notification]:
    ways = [Channel.CHAT] if outgoing.post_office() is None else [Channel.CHAT, Channel.MAIL]
    return Notification.objects.filter(status=MessageState.PENDING, due_at__lte=now(), channel__in=ways)


@transaction.atomic
def _claim() -> list[Notification] | None:
    """The oldest that is due with all that go with it; empty when none of them may leave any more, None when nothing is due."""
    rows = (
        _due()
        .select_for_update(skip_locked=True, of=("self",))
        .select_related("recipient", "ticket__team", "comment__author", "event")
    )
    first = rows.order_by("due_at", "id").first()
    if first is None:
        return None
    together: Sequence[Notification] = [first]
    if first.channel == Channel.MAIL:
        same = Q(digest=True) if first.digest else Q(digest=False, ticket=first.ticket_id)
        if not first.digest and first.ticket_id is None:
            same = Q(pk=first.pk)
        mails = rows.filter(same, recipient=first.recipient_id, channel=Channel.MAIL)
        together = list(mails.order_by("id")[:MOST_TOGETHER])
    return [message for message in together if _claimed(message)]


def _claimed(message: Notification) -> bool:
    reason = "it is too old to be news" if now() - message.due_at > TOO_OLD else why_not(message)
    if reason is not None:
        move(message, MessageAction.DROP, machine=MACHINE, extra={"last_error": reason})
        return False
    extra: dict[str, Any] = {"leased_until": now() + LEASE, "attempts": message.attempts + 1}
    move(message, MessageAction.CLAIM, machine=MACHINE, extra=extra)
    return True


def _deliver(messages: list[Notification]) -> None:
    try:
        sent_as = _send(messages)
    except bouncing.NoSuchAddress as problem:
        for message in messages:
            extra: dict[str, Any] = {"leased_until": None, "last_error": f"refused: {problem}"[:2000]}
            move(message, MessageAction.DROP, machine=MACHINE, extra=extra)
    except Exception as problem:  # noqa: BLE001 - a server may fail in any way; the message waits, the others go on
        logger.warning("message %s was not sent: %s", messages[0].pk, problem)
        for message in messages:
            _put_off(message, problem)
    else:
        for message in messages:
            extra = {"sent_at": now(), "leased_until": None, "last_error": "", "message_id": sent_as}
            move(message, MessageAction.SEND, machine=MACHINE, extra=extra)


def _send(messages: list[Notification]) -> str:
    first = messages[0]
    if first.channel == Channel.CHAT:
        chat.send(first)
        return ""
    post, person = outgoing.post_office(), first.recipient
    assert post is not None
    assert person is not None
    alone: Ticket | None = None if first.digest else first.ticket
    ref = alone.ref if alone else ""
    identity = message_id(first.pk, ref, post.domain)
    try:
        outgoing.send(
            write(messages, person),
            to=person,
            ref=ref,
            ticket=alone.pk if alone else 0,
            internal=any(message.staff_only for message in messages),
            message_id=identity,
            post=post,
        )
    except smtplib.SMTPRecipientsRefused as problem:
        _refused(problem, person)
        raise
    return identity


def _refused(problem: smtplib.SMTPRecipientsRefused, person: User) -> None:
    for code, said in problem.recipients.values():
        if 500 <= code < 600:
            words = said.decode("utf-8", "replace")
            bouncing.note(user=person, reason=f"{code} {words}")
            raise bouncing.NoSuchAddress(words) from problem


@transaction.atomic
def _put_off(message: Notification, problem: Exception) -> None:
    said = f"{type(problem).__name__}: {problem}"[:2000]
    pause = pause_after(message.attempts)
    if pause is not None:
        extra = {"leased_until": None, "last_error": said, "due_at": now() + pause}
        move(message, MessageAction.PUT_OFF, machine=MACHINE, extra=extra)
        return
    move(message, MessageAction.GIVE_UP, machine=MACHINE, extra={"leased_until": None, "last_error": said})
    payload = {"message": message.pk, "kind": message.kind, "channel": message.channel, "error": said[:300]}
    if message.kind != events.MESSAGE_DEAD:
        record(events.MESSAGE_DEAD, subject="mail", payload=payload, by=None)


@transaction.atomic
def retry(*, message: Notification, by: User) -> Notification:
    """Try a dead message again."""
    move(message, MessageAction.RETRY, machine=MACHINE, extra={"attempts": 0, "due_at": now()})
    record(events.MESSAGE_RETRIED, subject="mail", payload={"message": message.pk}, by=by)
    return message
