"""A team can work again, or a request was closed: what was claimed is held against what was measured."""

from __future__ import annotations

from portal.kernel.refs import parse_ref
from portal.ledger.models import Event
from requests_app.blocks.queries import affected_tickets
from requests_app.outcome.impact import compare_blocks
from requests_app.priority.services import rank_tickets
from requests_app.tickets.models import Ticket


def compare(event: Event) -> None:
    """Once per block; twice does no harm."""
    if not event.subject.startswith("T-"):
        return
    ticket = Ticket.objects.select_related("team").filter(pk=parse_ref(event.subject, "T")).first()
    if ticket is not None and compare_blocks(ticket):
        rank_tickets(affected_tickets(ticket.pk))  # what the team claims elsewhere counts by its new record
