"""What does the "now" of a ticket's page ask about its near future?"""

from __future__ import annotations

from django import template

from requests_app.outlook.queries import Outlook, outlook_of
from requests_app.tickets.models import Ticket

register = template.Library()


@register.simple_tag
def ticket_outlook(ticket: Ticket) -> Outlook:
    """When, what meanwhile, and what it costs."""
    return outlook_of(ticket)
