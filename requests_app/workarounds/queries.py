"""What remains of a ticket's loss while a workaround holds? The share that the rank counts with."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from requests_app.tickets.models import Ticket
from requests_app.workarounds.ageing import aged, weeks_begun
from requests_app.workarounds.models import Workaround
from requests_app.workarounds.states import ReplacementState

WHOLE = 1.0


def residual_of(ticket: Ticket, at: datetime) -> float:
    """w: 1.0 without a workaround that holds; the best of those that do, grown by 10 % per overdue week, up to 1.5."""
    return residuals_of([ticket.pk], at).get(ticket.pk, WHOLE)


def residuals_of(ticket_ids: Collection[int], at: datetime) -> dict[int, float]:
    """The same for many tickets by their numbers, in one query; those without a workaround are not there."""
    rows = Workaround.objects.holding().filter(ticket__in=ticket_ids).select_related("replacement")
    found: dict[int, float] = {}
    for row in rows:
        share = aged(row.residual, weeks=weeks_of(row, at))
        found[row.ticket_id] = min(share, found.get(row.ticket_id, share))
    return found


def weeks_of(workaround: Workaround, at: datetime) -> int:
    """Overdue weeks of its replacement that have begun. A dropped project goes on being late; a proper solution never is."""
    project = workaround.replacement
    if project is None or workaround.proper_because or project.status == ReplacementState.DONE:
        return 0
    return weeks_begun(due_on=project.target_on, at=at)
