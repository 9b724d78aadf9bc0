"""What are sentences made of? A title with its tone, and careful looks into a payload that may hold anything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

Payload = Mapping[str, Any]
LONGEST = 10**10


@dataclass(frozen=True)
class Said:
    """A sentence, its tone, and longer words below it."""

    title: str
    tone: str = ""
    body: str = ""


def text(payload: Payload, name: str) -> str:
    """A text of a payload; empty for what is none."""
    value = payload.get(name)
    return value if isinstance(value, str) else ""


def span(payload: Payload, name: str) -> timedelta | None:
    """Seconds of a payload as a span; None for what can't be one."""
    seconds = payload.get(name)
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not abs(seconds) < LONGEST:
        return None
    return timedelta(seconds=seconds)


def number(payload: Payload, name: str) -> float:
    """A number of a payload; 0 for what is none."""
    value = payload.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < LONGEST:
        return 0.0
    return float(value)
