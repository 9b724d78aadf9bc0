"""What does the search do when something was said or decided? It reads the ticket again."""

from __future__ import annotations

from portal.kernel.refs import parse_ref
from portal.ledger.models import Event
from requests_app.search.services import index_tickets


def index_ticket(event: Event) -> None:
    """The words of a ticket have changed."""
    if event.subject.startswith("T-"):
        index_tickets([parse_ref(event.subject, "T")])
