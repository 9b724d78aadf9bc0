"""What may speak against closing a ticket? Rooms above this one, each named here; a refusal of any is a refusal."""

from __future__ import annotations

from django.utils.module_loading import import_string

from requests_app.tickets.models import Ticket

SPEAK: tuple[str, ...] = ("requests_app.workarounds.closing.refuse_unsettled",)


def check_may_close(ticket: Ticket) -> None:
    """Raises what the first of them raises."""
    for name in SPEAK:
        import_string(name)(ticket)
