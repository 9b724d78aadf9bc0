"""May this message still go to this person? Asked at the moment of sending, because much may have changed since."""

from __future__ import annotations

from portal.kernel.clock import now
from portal.ledger.models import Event
from portal.notify.kinds import KINDS, Channel
from portal.notify.models import Bouncing, Notification
from portal.notify.states import MessageState
from requests_app.tickets.models import Comment, Ticket
from requests_app.tickets.states import TicketState


def why_not(message: Notification) -> str | None:
    """Why it may not be sent any more; None when it may."""
    if message.recipient is None:
        return _no_longer_true(message)
    return _not_theirs(message) or _no_longer_true(message) or _no_address(message)


def _not_theirs(message: Notification) -> str | None:
    person = message.recipient
    assert person is not None
    if not person.is_active:
        return "the account has ended"
    if message.staff_only and not person.is_infra:
        return "it is for infra staff alone"
    if message.ticket_id is not None:
        if not Ticket.objects.visible_to(person).filter(pk=message.ticket_id).exists():
            return "they may not see the request any more"
        if message.comment_id is not None:
            seen = Comment.objects.visible_to(person).filter(pk=message.comment_id)
            if not seen.exists():
                return "they may not read the comment any more"
    return None


def _no_longer_true(message: Notification) -> str | None:
    ticket, kind = message.ticket, KINDS.get(message.kind)
    if ticket is None or kind is None:
        return None
    if ticket.status == TicketState.MERGED and message.kind != "ticket.merged":
        return "another request took it over"
    if kind.while_in and ticket.status not in kind.while_in:
        return f"it was taken back: the request is {ticket.status}"
    undone = Event.objects.filter(
        name="ticket.undone", subject=ticket.ref, payload__undoes__contains=[message.event_id]
    )
    if undone.exists():
        return "it was taken back"
    if kind.while_in and _said_again(message):
        return "it was said again since"
    return None


def _said_again(message: Notification) -> bool:
    """A decision that was taken back and made anew is told once, as it stands."""
    later = Notification.objects.filter(
        ticket=message.ticket,
        recipient=message.recipient,
        channel=message.channel,
        target=message.target,
        kind=message.kind,
        status=MessageState.PENDING,
        pk__gt=message.pk,
    )
    return later.exists()


def _no_address(message: Notification) -> str | None:
    if message.channel != Channel.MAIL:
        return None
    person = message.recipient
    assert person is not None
    if not person.email:
        return "the person has no mail address"
    if Bouncing.objects.filter(user=person, address__iexact=person.email).exists():
        return "mail to this address comes back"
    if message.digest and _read_already(message):
        return "it was read in the inbox"
    return None


def _read_already(message: Notification) -> bool:
    twin = Notification.objects.filter(
        event_id=message.event_id, recipient=message.recipient, channel=Channel.INBOX
    )
    return twin.filter(read_at__lte=now()).exists()
