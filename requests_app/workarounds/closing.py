"""May a ticket be closed? Not while a workaround stands in for a solution that nobody means to build."""

from __future__ import annotations

from portal.kernel.errors import Refused
from requests_app.tickets.families import family_of
from requests_app.tickets.models import Ticket
from requests_app.workarounds.models import Workaround
from requests_app.workarounds.states import WorkaroundState


def unsettled(ticket: Ticket) -> list[Workaround]:
    """Workarounds of the ticket, and of those that it took over, that are there, and that neither a project replaces nor anybody called proper."""
    rows = Workaround.objects.filter(ticket__in=family_of(ticket)).exclude(status=WorkaroundState.ENDED)
    rows = rows.select_related("replacement")
    return [row for row in rows if not row.is_settled]


def refuse_unsettled(ticket: Ticket) -> None:
    """Refused while one is unsettled, with what would settle it."""
    found = unsettled(ticket)
    if not found:
        return
    names = ", ".join(row.ref for row in found)
    raise Refused(
        f"{ticket.ref} works by a workaround ({names}) that nothing replaces. It can be closed when infra has made a "
        "project of its replacement, has recorded why the workaround is the proper solution, or has ended it.",
        code="workaround-without-project",
        data={
            "ticket": ticket.ref,
            "workarounds": [row.ref for row in found],
            "settle_by": ["make a project", "say why it is the proper solution", "end the workaround"],
        },
    )
