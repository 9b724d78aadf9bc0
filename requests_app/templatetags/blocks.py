"""What does the card of a ticket's blocks show? It loads its own; the page of the ticket needn't know."""

from __future__ import annotations

from typing import Any

from django import template

from portal.accounts.models import User
from requests_app.blocks.telling import BlocksCard, card_of
from requests_app.tickets.models import Ticket

register = template.Library()


@register.simple_tag(takes_context=True)
def blocks_card(context: dict[str, Any], ticket: Ticket) -> BlocksCard | None:
    """The card for who is signed in."""
    user = context["request"].user
    if not isinstance(user, User):
        return None
    view = context.get("view")
    return card_of(ticket, user, getattr(view, "standing", None))
