"""What do the cards of a rank and of a crunch show? They load their own; the pages around them needn't know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django import template

from portal.accounts.models import User, named
from requests_app.priority.bargains import suggestions
from requests_app.priority.crunch import Ask
from requests_app.priority.models import CrunchWarning
from requests_app.priority.queries import expedited
from requests_app.priority.telling import RankTold, rank_of
from requests_app.tickets.models import Ticket
from requests_app.tickets.states import QUEUED

register = template.Library()


@dataclass(frozen=True, kw_only=True)
class Crunch:
    """The alarm and what could be offered instead."""

    warning: CrunchWarning
    asks: list[Ask]


@register.simple_tag(takes_context=True)
def rank_card(context: dict[str, Any], ticket: Ticket) -> RankTold | None:
    """The rank of a ticket that waits for a decision, or that is overruled; None otherwise."""
    user = context["request"].user
    if not isinstance(user, User) or (ticket.status not in QUEUED and ticket.expedited_at is None):
        return None
    return rank_of(ticket, user)


@register.simple_tag(takes_context=True)
def crunch(context: dict[str, Any]) -> Crunch | None:
    """The crunch for infra people while it lasts; one query while there is none."""
    user = context["request"].user
    if not isinstance(user, User) or not user.is_infra:
        return None
    warning = CrunchWarning.objects.filter(ended_at=None).first()
    return None if warning is None else Crunch(warning=warning, asks=suggestions())


@register.simple_tag(takes_context=True)
def expedite_lane(context: dict[str, Any]) -> list[Ticket]:
    """What is in the expedite lane, for infra people; one query."""
    user = context["request"].user
    if not isinstance(user, User) or not user.is_infra:
        return []
    rows = expedited().select_related("team", "assignee")
    return list(rows.only("title", "expedited_at", "team__name", *named("assignee")))
