"""What does the ticket's page ask of its clocks? The card asks; the page needn't know."""

from __future__ import annotations

from typing import Any

from django import template
from django.utils import timezone

from requests_app.clocks.card import hours_in_words, row_of
from requests_app.clocks.queries import clocks_of
from requests_app.tickets.models import Ticket

register = template.Library()


@register.simple_tag
def ticket_clocks(ticket: Ticket) -> dict[str, Any]:
    """Rows of the card, whose hours count, and in which zone the reader sees times."""
    clocks = clocks_of(ticket)
    return {
        "rows": [row_of(reading) for reading in clocks.readings],
        "hours": hours_in_words(clocks.calendar),
        "reader_zone": timezone.get_current_timezone_name(),
    }
