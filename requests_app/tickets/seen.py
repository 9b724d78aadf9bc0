"""Which version of a ticket did a client look at, and what has happened since?"""

from __future__ import annotations

from typing import Any

from rest_framework.request import Request

from portal.accounts.models import User
from portal.accounts.signed_in import signed_in
from portal.kernel.errors import Stale
from portal.kernel.versions import seen_version
from portal.ledger.models import Event
from requests_app.tickets.models import Ticket
from requests_app.tickets.sentences import HIDDEN_FROM_TEAMS, SHOWN_OTHERWISE, say

NEWEST = 3


def seen_by(request: Request, ticket: Ticket, body: dict[str, Any]) -> int:
    """The version the caller looked at, by If-Match or by `version` of the body, which is taken out.

    Stale (412) says the current tag, the state, and what happened last; NotSeen (428) when neither was sent.
    """
    try:
        return seen_version(request.headers, body, ticket.version)
    except Stale as problem:
        problem.data.update(state=ticket.status, changed=happened_last(ticket, signed_in(request)))
        raise


def happened_last(ticket: Ticket, user: User) -> list[dict[str, Any]]:
    """The newest events of the ticket that `user` may see, newest first."""
    hidden = SHOWN_OTHERWISE if user.is_infra else SHOWN_OTHERWISE | HIDDEN_FROM_TEAMS
    rows = Event.objects.filter(subject=ticket.ref).exclude(name__in=hidden).select_related("actor")
    return [
        {
            "what": event.name,
            "says": say(event.name, event.payload).title,
            "at": event.at.isoformat(),
            "by": None if event.actor is None else event.actor.username,
        }
        for event in rows.order_by("-id")[:NEWEST]
    ]
