"""What do the workarounds of a ticket look like beside it? The ticket's page asks, and needn't know the rest."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Any

from django import template

from portal.accounts.models import User
from portal.kernel.clock import now
from requests_app.tickets.families import family_of
from requests_app.tickets.models import Ticket
from requests_app.tickets.states import OPEN
from requests_app.workarounds.models import Workaround
from requests_app.workarounds.projects import Milestone
from requests_app.workarounds.queries import weeks_of
from requests_app.workarounds.states import WORKAROUND, WorkaroundState

register = template.Library()


@dataclass(frozen=True, kw_only=True)
class Card:
    """One workaround as a ticket's page shows it. `remains` is the share of the loss that counts now."""

    row: Workaround
    may: frozenset[str]
    milestones: tuple[Milestone, ...]
    weeks_late: int
    key: str


@register.simple_tag(takes_context=True)
def workaround_cards(context: dict[str, Any], ticket: Ticket) -> list[Card]:
    """Those of the ticket, newest first, with what the reader may do; asked for once a request."""
    request = context["request"]
    kept: dict[int, list[Card]] = request.__dict__.setdefault("workaround_cards", {})
    if ticket.pk not in kept:
        kept[ticket.pk] = _cards(ticket, request.user)
    return kept[ticket.pk]


def _cards(ticket: Ticket, user: object) -> list[Card]:
    if not isinstance(user, User):
        return []
    mine = Workaround.objects.visible_to(user).filter(ticket__in=family_of(ticket))
    if not mine.exists():
        return []  # most have none, and what follows is a long question
    rows = list(mine.for_pages().prefetch_related("replacement__milestones").order_by("-id"))
    at = now()
    return [
        Card(
            row=row,
            may=_may(row, user, ticket),
            milestones=tuple(row.replacement.milestones.all()) if row.replacement else (),
            weeks_late=weeks_of(row, at),
            key=secrets.token_urlsafe(12),
        )
        for row in rows
    ]


def _may(row: Workaround, user: User, ticket: Ticket) -> frozenset[str]:
    actions = {str(action) for action in WORKAROUND.actions(row.status)}
    found: set[str] = set()
    if "ask_renewal" in actions and (user.is_infra or user.belongs_to(ticket.team)):
        found.add("ask-renewal")
    if user.is_triager:
        found |= {"renew", "refuse-renewal"} & {each.replace("_", "-") for each in actions}
        if not row.proper_because and row.status != WorkaroundState.ENDED:
            found.add("proper")
    if user.is_triager or (user.is_infra and row.owner_id == user.pk):
        found |= _handling(row)
    if user.is_infra and row.active_at is not None:
        found.add("interest")
    return frozenset(found)


def _handling(row: Workaround) -> set[str]:
    """What its owner and triagers do with it as it stands."""
    by_hand = row.kind == "manual"
    state = WorkaroundState
    if row.status in (state.ACTIVE, state.RENEWAL_ASKED, state.PLANNED):
        return {"end"}
    if row.status == state.APPLYING:
        return {"applied", "end"} if by_hand else set()
    if row.status == state.REVERTING:
        return {"reverted"} if by_hand else set()
    return {"try-again", "reverted"} if row.in_trouble else set()


@register.simple_tag(takes_context=True)
def may_give_workaround(context: dict[str, Any], ticket: Ticket) -> bool:
    """True for triagers, while somebody still works on the ticket."""
    user = context["request"].user
    return isinstance(user, User) and user.is_triager and ticket.status in OPEN
