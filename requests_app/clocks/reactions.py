"""Something happened to a ticket: its clocks are read anew. Running twice changes nothing."""

from __future__ import annotations

from portal.kernel.refs import parse_ref
from portal.ledger.models import Event
from requests_app.clocks import services
from requests_app.tickets.models import Ticket


def follow(event: Event) -> None:
    """Keep the summary of the ticket's clocks true."""
    if not event.subject.startswith("T-"):
        return
    rows = Ticket.objects.select_related("team", "offering_version__offering")
    ticket = rows.filter(pk=parse_ref(event.subject, "T")).first()
    if ticket is not None:
        services.follow(ticket)
