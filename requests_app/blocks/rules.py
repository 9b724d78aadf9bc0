"""Can what a team says about its block be true? Bounds on facts; they never make a priority."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from requests_app.catalogue import texts

MOST_PEOPLE = 10_000
MOST_GPUS = 1_000_000
LONGEST_WHAT = 500
OLDEST = timedelta(days=365)
LONGEST_RESOURCE = 60
MOST_NAMED = 200
FACTS = frozenset({"since", "people", "idle_gpus", "what", "resource", "who"})


def complaints(claim: Mapping[str, Any], *, now: datetime) -> dict[str, list[str]]:
    """What is wrong with `since`, `people`, `idle_gpus` and `what`, by name; empty when nothing is.

    `resource` (a text) and `who` (a list of user names) may be left out. Naming people says that they are blocked.
    """
    found = {
        "since": _since(claim.get("since"), now),
        "people": _count(claim.get("people"), MOST_PEOPLE, "people"),
        "idle_gpus": _count(claim.get("idle_gpus"), MOST_GPUS, "GPUs"),
        "what": _what(claim.get("what")),
        "resource": _resource(claim.get("resource", "")),
        "who": _who(claim.get("who", ())),
    }
    if not any(found.values()) and not (claim["people"] or claim["idle_gpus"] or claim.get("who")):
        found["people"] = "Somebody or some GPU is blocked: at least one of the two is above 0."
    return {name: [said] for name, said in found.items() if said is not None}


def _since(value: object, now: datetime) -> str | None:
    if not isinstance(value, datetime) or value.tzinfo is None:
        return "Say since when, with a time zone."
    if value > now + timedelta(minutes=1):
        return "This is still to come."
    return None if value >= now - OLDEST else "At most a year ago."


def _count(value: object, most: int, unit: str) -> str | None:
    if isinstance(value, bool) or not isinstance(value, int):
        return "A whole number is expected; 0 is one."
    return None if 0 <= value <= most else f"From 0 to {most} {unit}."


def _what(value: object) -> str | None:
    if not isinstance(value, str) or not value.strip():
        return "Say in a line what stops you."
    return texts.complaint(value, limit=LONGEST_WHAT, lines=True)


def _resource(value: object) -> str | None:
    if not isinstance(value, str) or len(value) > LONGEST_RESOURCE or not value.isprintable():
        return "Name a kind of node or a cluster."
    return None


def _who(value: object) -> str | None:
    if not isinstance(value, list | tuple) or not all(isinstance(name, str) for name in value):
        return "A list of user names is expected."
    return None if len(value) <= MOST_NAMED else f"At most {MOST_NAMED} people by name."
