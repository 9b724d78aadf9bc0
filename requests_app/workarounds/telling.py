"""What is told of a workaround in the ledger? The same few facts every time, under its ticket's name."""

from __future__ import annotations

from typing import Any

from portal.accounts.models import User
from portal.ledger.models import Event
from portal.ledger.services import record
from requests_app.workarounds.models import Workaround


def tell(name: str, workaround: Workaround, *, by: User | None, **more: Any) -> Event:
    """Record an event of a workaround, in the caller's transaction."""
    ticket = workaround.ticket
    payload = {
        "team": ticket.team.slug,
        "workaround": workaround.ref,
        "kind": workaround.kind,
        "summary": workaround.summary,
        "owner": workaround.owner_id,
        "owner_name": workaround.owner.username,
        "until": workaround.expires_at.isoformat(),
        "replacement": workaround.replacement.ref if workaround.replacement else "",
        **more,
    }
    return record(name, subject=ticket.ref, payload=payload, by=by)
