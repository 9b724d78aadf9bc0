"""Where does the rank learn w? The one place that asks the room of workarounds."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from requests_app.workarounds import queries


def residuals_of(ticket_ids: Collection[int], at: datetime) -> dict[int, float]:
    """w by ticket id; 1.0 for whoever isn't there."""
    return queries.residuals_of(ticket_ids, at)
