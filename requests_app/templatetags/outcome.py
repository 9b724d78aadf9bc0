"""What does the ticket's page ask about how it went?"""

from __future__ import annotations

from typing import Any

from django import template

from portal.accounts.models import User
from requests_app.outcome.queries import Card, card_of
from requests_app.outcome.rules import EFFORT, SATISFACTION
from requests_app.tickets.models import Ticket

register = template.Library()


@register.simple_tag(takes_context=True)
def outcome_card(context: dict[str, Any], ticket: Ticket) -> dict[str, Any] | None:
    """The card of the reader with its scales, None when there is nothing to show."""
    user = context["request"].user
    standing = getattr(context.get("view"), "standing", None)
    card: Card | None = card_of(ticket, user, standing) if isinstance(user, User) else None
    if card is None or not card.shows:
        return None
    return {"card": card, "satisfaction": SATISFACTION, "effort": EFFORT}
