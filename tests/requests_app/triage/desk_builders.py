"""What the desk's tests put on the desk: many tickets, fast, ranked, without an order behind them."""

from __future__ import annotations

from typing import Any

from portal.accounts.models import Team, User
from portal.ledger.dispatch import deliver_all
from requests_app.catalogue.models import Offering, OfferingVersion
from requests_app.tickets.models import Line, Ticket
from requests_app.tickets.services import submit_ticket


def unblock_version() -> OfferingVersion:
    """The offering whose requests people fulfil by hand."""
    offering = Offering.objects.select_related("current").get(slug="unblock")
    assert offering.current is not None
    return offering.current


def an_ask(team: Team, by: User, headline: str = "Jobs hang", **answers: Any) -> Ticket:
    """Filed through the services, ranked and indexed."""
    given = {"headline": headline, "details": "Since noon.", "area": "unknown", **answers}
    ticket = submit_ticket(offering_version=unblock_version(), team=team, answers=given, by=by)
    deliver_all()
    ticket.refresh_from_db()
    return ticket


def many_asks(count: int, team: Team, by: User, **columns: Any) -> list[Ticket]:
    """Rows with one line each, the first the most urgent; no events."""
    version = unblock_version()
    rows = Ticket.objects.bulk_create(
        Ticket(
            team=team,
            requester=by,
            offering_version=version,
            **{
                "title": f"Ask number {number}",
                "answers": {"headline": f"Ask {number}"},
                "status": "submitted",
                "rank_key": number,
                **columns,
            },
        )
        for number in range(count)
    )
    Line.objects.bulk_create(
        Line(ticket=row, position=1, what="item", label="Unblock us", asked_qty=1) for row in rows
    )
    return rows
