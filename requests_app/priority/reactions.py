"""Who is ranked when something happened? Whose facts it changed; each reaction may run twice and then changes nothing."""

from __future__ import annotations

from portal.kernel.refs import parse_ref
from portal.ledger.models import Event
from requests_app.blocks.queries import affected_tickets
from requests_app.priority.overrides import unexpedite_ticket
from requests_app.priority.services import rank_tickets
from requests_app.tickets.models import Ticket


def rank_ticket(event: Event) -> None:
    """Facts of one ticket changed."""
    ticket = _ticket_id(event)
    if ticket is not None:
        rank_tickets([ticket])


def rank_affected(event: Event) -> None:
    """A block changed: what its team claims elsewhere and whom it names counts anew."""
    ticket = _ticket_id(event)
    if ticket is not None:
        rank_tickets(affected_tickets(ticket))


def leave_lane(event: Event) -> None:
    """What is over gives its place in the expedite lane back."""
    ticket = _ticket_id(event)
    found = None if ticket is None else Ticket.objects.select_related("team").filter(pk=ticket).first()
    if found is not None:
        unexpedite_ticket(ticket=found, by=None)


def _ticket_id(event: Event) -> int | None:
    return parse_ref(event.subject, "T") if event.subject.startswith("T-") else None
