"""Under which name does a workaround appear elsewhere: in quota ledgers and in orders?"""

from __future__ import annotations

from requests_app.workarounds.models import Workaround


def source_of(workaround: Workaround) -> str:
    """Names it in quota ledgers: `T-12/W-7`. The ticket comes first, so that the ticket's story tells it."""
    return f"{workaround.ticket.ref}/{workaround.ref}"
