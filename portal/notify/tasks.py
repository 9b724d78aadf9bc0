"""Celery shells of what is told."""

from __future__ import annotations

from celery import shared_task

from portal.notify import services
from portal.notify.inbound import mailboxes
from portal.notify.sending import deliver_due


@shared_task(name="notify.deliver", acks_late=True)
def deliver() -> int:
    """Send what is due."""
    return deliver_due()


@shared_task(name="notify.receive")
def receive() -> int:
    """Take in what lies in the mailbox."""
    return mailboxes.receive()


@shared_task(name="notify.put_away")
def put_away() -> int:
    """Let go what was put aside and nobody wanted."""
    return services.put_away_old()
