"""Can these constants be a policy? Bounds wide enough for deliberate choices, narrow enough for slips of the keyboard."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

LONGEST_REASON = 2000


@dataclass(frozen=True, kw_only=True)
class Constant:
    """One number of a policy: its bounds, and what it decides."""

    name: str
    label: str
    unit: str
    least: float
    most: float
    says: str


CONSTANTS = (
    Constant(
        name="half_life_hours",
        label="H",
        unit="hours",
        least=1,
        most=240,
        says="Head start that one doubling of what is lost buys. More favors the costly, less favors who came first.",
    ),
    Constant(
        name="person_day",
        label="Person-day",
        unit="GPU-hours",
        least=1,
        most=10_000,
        says="What a day of a blocked person is worth: cost of a person-day over the cost of a GPU-hour.",
    ),
    Constant(
        name="median_ratio",
        label="Usual ticket",
        unit="GPU-hours a day per infra-hour",
        least=0.01,
        most=1_000_000,
        says="The median of last quarter. It keeps both ends off the limits; it changes nobody's order within them.",
    ),
    Constant(
        name="share_half_life_days",
        label="Memory of shares",
        unit="days",
        least=1,
        most=180,
        says="How fast what a team was granted is forgotten, by half.",
    ),
    Constant(
        name="flood_hours",
        label="Step back",
        unit="hours",
        least=0,
        most=72,
        says="How far each further ticket of one team steps back when work is picked.",
    ),
)


def complaints(given: Mapping[str, Any]) -> dict[str, list[str]]:
    """What is wrong with the constants and their `reason`, by name; empty when nothing is."""
    found = {constant.name: _number(given.get(constant.name), constant) for constant in CONSTANTS}
    found["reason"] = _reason(given.get("reason"))
    return {name: [said] for name, said in found.items() if said is not None}


def _number(value: object, constant: Constant) -> str | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        return "A number is expected."
    if not constant.least <= value <= constant.most:
        return f"From {constant.least:g} to {constant.most:g} {constant.unit}."
    return None


def _reason(value: object) -> str | None:
    if not isinstance(value, str) or not value.strip():
        return "Say why: whoever is overtaken by it can read this."
    return None if len(value) <= LONGEST_REASON else f"At most {LONGEST_REASON} characters."
