"""What may be said of how it went, by when, and when may a request be opened again?"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from requests_app.tickets.states import TicketState

SCALE = range(1, 6)
CHANGEABLE_FOR = timedelta(days=14)
REOPENED_WITHIN = timedelta(days=14)
ASKED_IN = frozenset({TicketState.READY, TicketState.CLOSED, TicketState.DECLINED})
REOPENED_FROM = frozenset({TicketState.READY, TicketState.CLOSED})

SATISFACTION = {1: "Bad", 2: "Poor", 3: "All right", 4: "Good", 5: "Very good"}
EFFORT = {1: "Very hard", 2: "Hard", 3: "So so", 4: "Easy", 5: "Very easy"}
"""How easy it was to get what was needed."""


def complaints(given: Mapping[str, object]) -> dict[str, list[str]]:
    """What is wrong with `satisfaction` and `effort`: each is a whole number from 1 to 5 or nothing, one of them is there."""
    wrong = {
        name: ["Choose from 1 to 5."]
        for name in ("satisfaction", "effort")
        if (value := given.get(name)) is not None and (isinstance(value, bool) or value not in SCALE)
    }
    if not wrong and given.get("satisfaction") is None and given.get("effort") is None:
        wrong["satisfaction"] = ["Say at least one of the two."]
    return wrong


def may_still_change(first_said: datetime, at: datetime) -> bool:
    """Two weeks from the first answer on."""
    return at < first_said + CHANGEABLE_FOR


def may_reopen(state: str, since: datetime, at: datetime) -> bool:
    """Two weeks from its delivery or its closing on."""
    return state in REOPENED_FROM and at < since + REOPENED_WITHIN


def claim_ratio(claimed: float, measured: float | None) -> float | None:
    """What telemetry saw of what was claimed, between 0.5 and 1; None where nothing was measured or claimed."""
    if measured is None or claimed <= 0:
        return None
    return min(1.0, max(0.5, measured / claimed))
