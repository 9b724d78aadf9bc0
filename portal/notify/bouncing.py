"""Whose mail comes back? Nothing is mailed there until the address changes or somebody tries again."""

from __future__ import annotations

from django.db import transaction

from portal.accounts.models import User
from portal.kernel.clock import now
from portal.ledger.services import record
from portal.notify import events
from portal.notify.models import Bouncing


class NoSuchAddress(Exception):
    """The mail server says that nobody has this address."""


@transaction.atomic
def note(*, user: User, reason: str) -> Bouncing:
    """Mail to this person's address came back for good. Noting it again tells nobody a second time."""
    found = {"address": user.email, "reason": reason[:1000]}
    known = Bouncing.objects.filter(user=user, address__iexact=user.email).first()
    if known is not None:
        return known
    made, _ = Bouncing.objects.update_or_create(user=user, defaults={**found, "since": now()})
    payload = {"address": user.email, "reason": reason[:300], "owner": user.pk}
    record(events.ADDRESS_BOUNCED, subject=f"person:{user.pk}", payload=payload, by=None)
    return made


@transaction.atomic
def try_again(*, user: User, by: User) -> None:
    """Mail there again: the person themselves, or an admin."""
    gone, _ = Bouncing.objects.filter(user=user).delete()
    if gone:
        record(events.ADDRESS_TRIED_AGAIN, subject=f"person:{user.pk}", payload={}, by=by)


def is_bouncing(user: User) -> bool:
    """True while nothing is mailed to this person."""
    return bool(user.email) and Bouncing.objects.filter(user=user, address__iexact=user.email).exists()
