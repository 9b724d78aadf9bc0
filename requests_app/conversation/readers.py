"""Who may read a comment on this ticket? The people who may be named in it, and nobody else."""

from __future__ import annotations

from collections.abc import Iterable

from django.db.models import Q, QuerySet

from portal.accounts.access import Action, StaffRole, may
from portal.accounts.models import User
from requests_app.tickets.models import Ticket

STAFF = tuple(role.value for role in StaffRole if may(role, Action.SEE_ALL_TEAMS))
MOST_OFFERED = 8


def readers_of(ticket: Ticket, *, internal: bool) -> QuerySet[User]:
    """Infra staff, and the ticket's team unless it is an internal note."""
    staff = Q(staff_role__in=STAFF)
    team = Q(pk__in=User.objects.filter(memberships__team_id=ticket.team_id).values("pk"))
    return User.objects.filter(staff if internal else staff | team, is_active=True)


def people_like(ticket: Ticket, typed: str, *, internal: bool) -> list[User]:
    """Readers whose user name or name begins with what was typed, at most 8."""
    typed = typed.strip().lstrip("@")[:60]
    begins = (
        Q(username__istartswith=typed) | Q(first_name__istartswith=typed) | Q(last_name__istartswith=typed)
    )
    return list(readers_of(ticket, internal=internal).filter(begins).order_by("username")[:MOST_OFFERED])


def readers_named(ticket: Ticket, names: Iterable[str], *, internal: bool) -> list[User]:
    """Readers with these user names; a name of nobody, or of somebody who may not read it, is just a word."""
    return list(readers_of(ticket, internal=internal).filter(username__in=list(names)).order_by("username"))
