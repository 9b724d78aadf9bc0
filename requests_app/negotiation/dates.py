"""Is it too late for what a line asked for? A decision looks at its dates once more."""

from __future__ import annotations

from portal.kernel.clock import now
from portal.kernel.errors import Refused
from requests_app.negotiation.windows import Window, asked_window
from requests_app.tickets.models import Line, Ticket


def window_of(ticket: Ticket, line: Line) -> Window | None:
    """From when until when a line was asked for."""
    return asked_window(
        fulfilment=line.fulfilment,
        filed_on=ticket.submitted_at.date(),
        wanted_by=line.wanted_by,
        days=line.days,
    )


def refuse_passed_window(ticket: Ticket, line: Line) -> None:
    """Refused when no day is left of what was asked for, with the same length from today on as the nearest yes."""
    window, today = window_of(ticket, line), now().date()
    if window is None or not window.has_passed(today):
        return
    shifted = window.shifted(today)
    raise Refused(
        f"{line.label}: it was asked for {window.start} to {window.end}, which has passed. Offer it with other dates: "
        f"{shifted.start} to {shifted.end}.",
        code="window-passed",
        data={
            "line": line.position,
            "asked_from": window.start.isoformat(),
            "asked_until": window.end.isoformat(),
            "shift_from": shifted.start.isoformat(),
            "shift_until": shifted.end.isoformat(),
        },
    )
