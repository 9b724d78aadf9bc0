"""Which tickets are still open? Asked by rooms that keep something as long as a ticket may need it."""

from __future__ import annotations

from collections.abc import Collection

from portal.kernel.errors import NotFound
from portal.kernel.refs import format_ref, parse_ref
from requests_app.tickets.models import Ticket
from requests_app.tickets.states import OPEN


def open_among(refs: Collection[str]) -> set[str]:
    """Those of `refs` that name an open ticket; what names no ticket is left out."""
    numbers = {number for ref in refs if (number := _number(ref)) is not None}
    found = Ticket.objects.filter(pk__in=numbers, status__in=OPEN).values_list("pk", flat=True)
    return {format_ref("T", number) for number in found}


def _number(ref: str) -> int | None:
    try:
        return parse_ref(ref, "T")
    except NotFound:
        return None
