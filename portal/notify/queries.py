"""What stands in a person's inbox, and what does an admin have to look at?"""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings
from django.db.models import QuerySet

from portal.accounts.models import User
from portal.notify.kinds import Channel
from portal.notify.models import Bouncing, Notification, NotificationQuerySet, ReceivedMail, Verdict
from portal.notify.states import MessageState

MANY = 100


def inbox_of(user: User, *, unread: bool = False) -> NotificationQuerySet:
    """Messages of `user`, with what a page shows beside them."""
    found = Notification.objects.visible_to(user).select_related("ticket", "comment", "event__actor")
    return found.unread() if unread else found


def unread_count(user: User) -> int:
    """How many are unread, counted up to 100: more is "99+" anyway."""
    return Notification.objects.visible_to(user).unread().order_by()[:MANY].count()


@dataclass(frozen=True, kw_only=True)
class MailRoom:
    """What an admin looks at: mail that waits, that was given up, that was put aside, and addresses it comes back from."""

    configured: bool
    receives: bool
    waiting: int
    dead: list[Notification]
    aside: list[ReceivedMail]
    bouncing: list[Bouncing]


def mail_room() -> MailRoom:
    """The newest 100 of each."""
    return MailRoom(
        configured=bool(settings.MAIL_URL),
        receives=bool(settings.MAIL_IN_URL),
        waiting=waiting_mail().count(),
        dead=list(
            Notification.objects.filter(status=MessageState.DEAD).select_related("recipient", "ticket")[:MANY]
        ),
        aside=list(
            ReceivedMail.objects.filter(verdict=Verdict.QUARANTINED, put_away_at=None).select_related(
                "user", "ticket"
            )[:MANY]
        ),
        bouncing=list(Bouncing.objects.select_related("user").order_by("-since")[:MANY]),
    )


def waiting_mail() -> QuerySet[Notification]:
    """Mail that has not left yet."""
    return Notification.objects.filter(channel=Channel.MAIL, status=MessageState.PENDING)
