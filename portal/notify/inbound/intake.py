"""What becomes of a mail that came in? A comment, an answer, a note of a bounce, nothing, or it waits for an admin. Once."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from email.utils import parseaddr

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from portal.accounts.models import User
from portal.kernel.clock import now
from portal.kernel.errors import PortalError
from portal.ledger.services import record
from portal.notify import bouncing, events
from portal.notify.inbound.reading import Incoming, Part, read
from portal.notify.models import Notification, ReceivedMail, Verdict
from portal.notify.outgoing import reply_key
from portal.notify.reply_tokens import Reply, find
from requests_app.catalogue import texts
from requests_app.conversation.services import comment
from requests_app.tickets.access import Doing, may
from requests_app.tickets.models import Comment, Ticket
from requests_app.tickets.queries import standing_of
from requests_app.tickets.services import answer_ticket

logger = logging.getLogger(__name__)

MOST_IN_A_WHILE, A_WHILE = 5, timedelta(minutes=5)
KEPT_TEXT = 5000


@dataclass(frozen=True)
class Found:
    """What was decided about a mail."""

    verdict: Verdict
    reason: str = ""
    ticket: Ticket | None = None
    user: User | None = None


class _File:
    """A part of a mail as attachments take it."""

    def __init__(self, part: Part) -> None:
        self.name: str | None = part.name
        self.size: int | None = len(part.content)
        self._content = part.content

    def chunks(self) -> Iterator[bytes]:
        """All of it."""
        yield self._content


def take(raw: bytes) -> ReceivedMail:
    """Take one mail in. The same mail again changes nothing: whoever brought it may delete it when this returns."""
    mail = read(raw)
    known = ReceivedMail.objects.filter(key=mail.key).first()
    if known is not None:
        return known
    try:
        with transaction.atomic():
            row = ReceivedMail.objects.create(
                key=mail.key,
                message_id=mail.message_id[:300],
                sender=", ".join(mail.senders)[:320],
                subject=mail.subject,
                verdict=Verdict.QUARANTINED,
            )
            found = _decide(mail)
            _keep(row, mail, found)
            return row
    except IntegrityError:  # another worker brought the same mail
        return ReceivedMail.objects.get(key=mail.key)


def _keep(row: ReceivedMail, mail: Incoming, found: Found) -> None:
    row.verdict, row.reason = found.verdict, found.reason[:300]
    row.ticket, row.user = found.ticket, found.user
    if found.verdict is Verdict.QUARANTINED:
        row.text = mail.text[:KEPT_TEXT]
        if mail.files:
            row.text += f"\n\n({len(mail.files)} files came with it and were not kept.)"
    row.save()
    if found.verdict is Verdict.QUARANTINED:
        payload = {"mail": row.pk, "address": row.sender[:100] or "nobody", "reason": row.reason}
        record(events.MAIL_QUARANTINED, subject="mail", payload=payload, by=None)


def _decide(mail: Incoming) -> Found:
    if mail.damage:
        return Found(Verdict.QUARANTINED, mail.damage)
    if mail.bounce is not None:
        return _bounced(mail)
    reason = _not_by_a_person(mail)
    if reason:
        return Found(Verdict.IGNORED, reason)
    reply = find(mail.recipients, what="reply", key=reply_key())
    if reply is None:
        return Found(Verdict.QUARANTINED, "it answers no mail of the portal")
    person = _person(mail, reply)
    if person is None:
        return Found(Verdict.QUARANTINED, "its sender is not the person whose reply address it used")
    ticket = Ticket.objects.visible_to(person).for_pages().filter(pk=reply.ticket).first()
    if ticket is None:
        return Found(Verdict.QUARANTINED, "its sender may not see the request any more", user=person)
    return _said(mail, reply, ticket, person)


def _not_by_a_person(mail: Incoming) -> str:
    own = parseaddr(settings.MAIL_FROM)[1].lower()
    if own in mail.senders or any(each.startswith(("reply+", "bounce+")) for each in mail.senders):
        return "it is the portal's own"
    if own in mail.loops:
        return "it went in a circle (X-Loop)"
    return f"no person wrote it ({mail.automatic})" if mail.automatic else ""


def _person(mail: Incoming, reply: Reply) -> User | None:
    """The token AND the sender: a forwarded mail's token in other hands says nothing, and neither does a bare From."""
    person = User.objects.filter(pk=reply.user, is_active=True).first()
    if person is None or not person.email or len(mail.senders) != 1:
        return None
    return person if mail.senders[0] == person.email.lower() else None


def _bounced(mail: Incoming) -> Found:
    """Only a report to an envelope that we signed counts: anybody can write a report."""
    bounce = mail.bounce
    assert bounce is not None
    sent = find(mail.recipients, what="bounce", key=reply_key())
    person = User.objects.filter(pk=sent.user).first() if sent else None
    if person is None:
        return Found(Verdict.IGNORED, "a delivery report about no mail of the portal")
    if not bounce.lasting:
        return Found(Verdict.IGNORED, f"mail was late ({bounce.status})", user=person)
    if bounce.recipient and bounce.recipient != person.email.lower():
        return Found(Verdict.IGNORED, "a delivery report about an address they have no more", user=person)
    bouncing.note(user=person, reason=f"{bounce.status} {bounce.recipient}")
    return Found(Verdict.BOUNCED, bounce.status, user=person)


def _said(mail: Incoming, reply: Reply, ticket: Ticket, person: User) -> Found:
    text = _storable(mail.text)
    if not text and not mail.files:
        return Found(Verdict.IGNORED, "nothing new was written in it", ticket, person)
    recent = Comment.objects.filter(ticket=ticket, author=person, by_mail=True, at__gte=now() - A_WHILE)
    if recent.filter(body=text).exists():
        return Found(Verdict.IGNORED, "it says the same again", ticket, person)
    if recent.count() >= MOST_IN_A_WHILE:
        return Found(Verdict.QUARANTINED, "too many mails on one request in a short time", ticket, person)
    told = Notification.objects.filter(message_id__in=mail.answers, recipient=person, ticket=ticket)
    internal = reply.internal or _answers_a_note(told)
    try:
        with transaction.atomic():
            if not internal and text and _is_the_answer(ticket, person, told):
                answer_ticket(ticket=ticket, version=ticket.version, answer=text, by=person)
                return Found(Verdict.ANSWERED, "", ticket, person)
            files = [_File(part) for part in mail.files]
            comment(ticket=ticket, body=text, internal=internal, files=files, by_mail=True, by=person)
            return Found(Verdict.COMMENTED, "", ticket, person)
    except PortalError as problem:
        logger.info("a mail to %s was put aside: %s", ticket.ref, problem.message)
        return Found(Verdict.QUARANTINED, problem.message, ticket, person)


def _answers_a_note(told: QuerySet[Notification]) -> bool:
    """A reply inherits the visibility of what it answers, as that is now."""
    return any(
        each.staff_only or (each.comment is not None and each.comment.internal)
        for each in told.select_related("comment")[:10]
    )


def _is_the_answer(ticket: Ticket, person: User, told: QuerySet[Notification]) -> bool:
    """True when the desk asked, this person may answer, and it is that mail they answered (or no other)."""
    if not may(Doing.ANSWER, standing=standing_of(ticket, person), state=ticket.status):
        return False
    known = list(told.values_list("kind", flat=True))
    return not known or "ticket.asked_back" in known


def _storable(text: str) -> str:
    """What a comment may hold: without characters that can't be seen, and not longer than one may be."""
    tidy = texts.tidy(text[: 2 * texts.LONG], limit=texts.LONG)
    kept = "".join(each for each in tidy if texts.complaint(each, limit=1, lines=True) is None)
    if len(kept) <= texts.LONG:
        return kept
    return kept[: texts.LONG - 20].rstrip() + "\n\n(cut here)"
