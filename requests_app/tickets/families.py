"""Which requests did a request take over? What they lose and what relieves them counts where they went on."""

from __future__ import annotations

from collections.abc import Collection

from requests_app.tickets.models import Ticket

FARTHEST = 50
"""Merges that follow one another; nobody merges that far, and a circle is refused."""


def absorbed_by(numbers: Collection[int]) -> dict[int, int]:
    """Number of a request that was taken over -> the one of `numbers` where it went on, directly or through others."""
    found: dict[int, int] = {}
    front = {number: number for number in numbers}
    for _ in range(FARTHEST):
        rows = Ticket.objects.filter(merged_into__in=front).order_by("pk")
        front = {pk: front[into] for pk, into in rows.values_list("pk", "merged_into_id") if into}
        if not front:
            break
        found.update(front)
    return found


def family_of(ticket: Ticket) -> list[int]:
    """The request itself and all that it took over."""
    return [ticket.pk, *absorbed_by([ticket.pk])]


def where_it_goes_on(ticket: Ticket) -> Ticket:
    """The request at the end of the chain of those that took one another over; merges never make a circle."""
    for _ in range(FARTHEST):
        if ticket.merged_into is None:
            break
        ticket = ticket.merged_into
    return ticket
