"""Who else has this ticket open? Only names, for half a minute after the page last asked; it locks nothing."""

from __future__ import annotations

from datetime import timedelta

from django.db.models import QuerySet

from portal.accounts.models import User, named
from portal.kernel.clock import now
from requests_app.tickets.models import Ticket
from requests_app.triage.models import Presence

EXPIRES = timedelta(seconds=30)


def beat(*, ticket: Ticket, by: User) -> list[User]:
    """Say that `by` looks at the ticket, and hear who else does."""
    Presence.objects.update_or_create(ticket=ticket, person=by, defaults={"seen_at": now()})
    return others(ticket=ticket, by=by)


def others(*, ticket: Ticket, by: User) -> list[User]:
    """Everybody else who looks at it, by name."""
    rows: QuerySet[Presence] = Presence.objects.filter(ticket=ticket, seen_at__gt=now() - EXPIRES)
    seen = rows.exclude(person=by).select_related("person").only(*named("person"))
    return [row.person for row in seen.order_by("person__username")[:20]]


def leave(*, by: User, but: Ticket | None = None) -> None:
    """The person has gone on to another ticket, and looks at the old one no more."""
    rows = Presence.objects.filter(person=by)
    (rows.exclude(ticket=but) if but is not None else rows).delete()


def forget_old() -> int:
    """Delete what expired an hour ago and longer; returns how many rows."""
    gone, _ = Presence.objects.filter(seen_at__lt=now() - timedelta(hours=1)).delete()
    return gone
