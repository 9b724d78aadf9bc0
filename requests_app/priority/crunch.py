"""Does more come in than goes out? When it does no order helps: the desk has to offer less, or later.

Simulated: past full load every fair order decays towards first come, first served. Hence the alarm at two weeks of more
arrivals than completions, or at a 95th percentile of waiting beyond five H, and suggestions of what could be given now.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

WAIT_IN_HALF_LIVES = 5.0
FEWEST_ARRIVALS = 5
MOST_SUGGESTIONS = 5


@dataclass(frozen=True, kw_only=True)
class Flow:
    """Two weeks of the queue: tickets that came, tickets that left it, and the 95th percentile of waiting, in hours."""

    arrivals: int
    completions: int
    wait_p95_hours: float


@dataclass(frozen=True, kw_only=True)
class Ask:
    """A line that waits: `asked` pieces of a SKU; `room` is how many pieces would fit now, by capacity and quota."""

    ticket: str
    title: str
    label: str
    sku: str
    unit: str
    asked: int
    room: int


def reasons(flow: Flow, *, half_life_hours: float) -> list[str]:
    """Why this is a crunch, in plain words; empty when it isn't one. A handful of arrivals is no trend."""
    said: list[str] = []
    if flow.arrivals > flow.completions and flow.arrivals >= FEWEST_ARRIVALS:
        said.append(
            f"In two weeks {flow.arrivals} requests came and {flow.completions} were decided: the queue grows."
        )
    limit = WAIT_IN_HALF_LIVES * half_life_hours
    if flow.wait_p95_hours > limit:
        said.append(
            f"One in twenty waits longer than {flow.wait_p95_hours:.0f} h; the limit is {limit:.0f} h."
        )
    return said


def offer_less(asks: Iterable[Ask], *, most: int = MOST_SUGGESTIONS) -> list[Ask]:
    """The largest asks of which a smaller part would fit now, largest first. What fits whole needs no bargain."""
    fitting = [ask for ask in asks if 0 < ask.room < ask.asked]
    return sorted(fitting, key=lambda ask: (-ask.asked, ask.ticket))[:most]


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that `share` of `values` don't exceed; 0 of nothing."""
    if not values:
        return 0.0
    ordered = sorted(values)
    position = min(len(ordered) - 1, max(0, int(share * len(ordered) + 0.999999) - 1))
    return ordered[position]
