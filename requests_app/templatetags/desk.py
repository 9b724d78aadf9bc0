"""What does a decider need beside a ticket? The desk's panel asks; the page of the ticket needn't know."""

from __future__ import annotations

from typing import Any

from django import template

from portal.accounts.models import User
from requests_app.tickets.models import Ticket
from requests_app.triage.queries import Panel, panel_of

register = template.Library()


@register.simple_tag(takes_context=True)
def desk_panel(context: dict[str, Any], ticket: Ticket) -> Panel | None:
    """The facts of the panel, None for whom the desk isn't there."""
    user = context["request"].user
    return panel_of(ticket, user) if isinstance(user, User) and user.is_infra else None
