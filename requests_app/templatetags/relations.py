"""What belongs to a ticket, beside it on its page? The card asks; the page of the ticket needn't know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django import template

from portal.accounts.models import User
from requests_app.relations.queries import Relations, relations_of
from requests_app.relations.rules import BY_HAND, FORWARDS
from requests_app.search.similar import Similar, similar_to
from requests_app.tickets.models import Ticket
from requests_app.tickets.states import MACHINE, TicketAction
from requests_app.triage.presence import others
from requests_app.triage.replies import Reply, replies_for

register = template.Library()


@dataclass(frozen=True, kw_only=True)
class Card:
    """The card; what only infra people see is empty for everybody else."""

    relations: Relations
    similar: list[Similar]
    watching: list[User]
    replies: list[Reply]
    kinds: list[tuple[str, str]]
    infra: bool
    may: bool
    can_merge: bool

    @property
    def shows(self) -> bool:
        """True when there is something to show."""
        return self.infra or self.relations.any


@register.simple_tag(takes_context=True)
def relations_card(context: dict[str, Any], ticket: Ticket) -> Card:
    """Relations for everybody; for infra people who else looks, likely duplicates and canned texts too."""
    user = context["request"].user
    can_merge = user.is_triager and TicketAction.MERGE in MACHINE.actions(ticket.status)
    return Card(
        relations=relations_of(ticket, user),
        similar=similar_to(ticket, user) if can_merge else [],
        watching=others(ticket=ticket, by=user) if user.is_infra else [],
        replies=[each for each in replies_for(ticket, user) if each.use == "comment"]
        if user.is_triager
        else [],
        kinds=[(kind.value, FORWARDS[kind]) for kind in BY_HAND],
        infra=user.is_infra,
        may=user.is_triager,
        can_merge=can_merge,
    )
