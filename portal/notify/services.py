"""What can be done with messages? Read them, and for admins: put a mail away that was put aside."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from portal.accounts.access import Action
from portal.accounts.models import User
from portal.kernel.clock import now
from portal.kernel.errors import NotFound
from portal.notify.models import Notification, ReceivedMail, Verdict

KEPT_ASIDE = timedelta(days=90)
"""A mail that was put aside is an admin's to read for so long; then its text goes, and the row says that it came."""


def put_away_old() -> int:
    """Let go the texts of mails that nobody has put away; returns how many."""
    rows = ReceivedMail.objects.filter(
        verdict=Verdict.QUARANTINED, put_away_at=None, at__lt=now() - KEPT_ASIDE
    )
    return rows.update(put_away_at=now(), text="")


def mark_read(*, numbers: Sequence[int] | None, by: User) -> int:
    """These messages of one's own have been read, or all of them; how many were unread. Others' stay as they are."""
    mine = Notification.objects.visible_to(by).unread()
    return (mine if numbers is None else mine.filter(pk__in=numbers)).update(read_at=now())


def mark_unread(*, number: int, by: User) -> None:
    """Keep one for later."""
    Notification.objects.visible_to(by).filter(pk=number).update(read_at=None)


def only_admins(by: User) -> None:
    """The mail room is there for admins alone; for everybody else it isn't there."""
    if not by.can(Action.CONFIGURE):
        raise NotFound("There is nothing here.")


def put_away(*, number: int, by: User) -> ReceivedMail:
    """A mail that was put aside has been looked at; its text is forgotten."""
    only_admins(by)
    mail = ReceivedMail.objects.filter(pk=number, verdict=Verdict.QUARANTINED).first()
    if mail is None:
        raise NotFound("There is no such mail.")
    mail.put_away_at, mail.text = now(), ""
    mail.save(update_fields=["put_away_at", "text"])
    return mail
