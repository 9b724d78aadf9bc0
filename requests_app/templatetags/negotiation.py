"""What do the page of a ticket and the desk's panel need of offers and promises?"""

from __future__ import annotations

from typing import Any

from django import template

from portal.accounts.models import User
from requests_app.negotiation import queries
from requests_app.negotiation.models import Offer
from requests_app.negotiation.queries import OfferCard, OfferForm, offer_card, offer_form
from requests_app.tickets.models import Ticket

register = template.Library()


@register.simple_tag(takes_context=True)
def offers_of(context: dict[str, Any], ticket: Ticket) -> OfferCard | None:
    """Offers and promises of a ticket for whoever reads; None when there are none."""
    user = context["request"].user
    return offer_card(ticket, user) if isinstance(user, User) else None


@register.simple_tag
def open_offer(ticket: Ticket) -> Offer | None:
    """The offer that is open now, if there is one."""
    return queries.open_offer(ticket)


@register.simple_tag
def offer_to_make(ticket: Ticket) -> OfferForm:
    """The desk's form of an offer."""
    return offer_form(ticket)
