"""Which relations can two requests have, and which would go round in a circle? Pure: numbers in, answers out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import StrEnum


class Kind(StrEnum):
    """How one request stands to another, read from the first to the second."""

    BLOCKED_BY = "blocked_by"
    RELATES_TO = "relates_to"
    DUPLICATE_OF = "duplicate_of"
    REPLACED_BY = "replaced_by"


FORWARDS: dict[str, str] = {
    Kind.BLOCKED_BY: "blocked by",
    Kind.RELATES_TO: "relates to",
    Kind.DUPLICATE_OF: "duplicate of",
    Kind.REPLACED_BY: "replaced by",
}
BACKWARDS: dict[str, str] = {
    Kind.BLOCKED_BY: "blocks",
    Kind.RELATES_TO: "relates to",
    Kind.DUPLICATE_OF: "has the duplicate",
    Kind.REPLACED_BY: "replaces",
}
BY_HAND = (Kind.BLOCKED_BY, Kind.RELATES_TO, Kind.REPLACED_BY)
"""What a person sets; a duplicate comes with a merge."""

DIRECTED = frozenset({Kind.BLOCKED_BY, Kind.DUPLICATE_OF, Kind.REPLACED_BY})
"""Kinds in which a circle makes no sense."""

FARTHEST = 50


def leads_to(start: int, goal: int, step: Callable[[Iterable[int]], Iterable[int]]) -> bool:
    """True when `goal` is reached from `start` by following `step`, which answers for a whole front at once.

    `step` maps rows to the rows after them. At most FARTHEST steps: longer chains are held to be circles.
    """
    seen, front = {start}, {start}
    for _ in range(FARTHEST):
        if goal in front:
            return True
        front = set(step(front)) - seen
        if not front:
            return False
        seen |= front
    return True


def closes_circle(
    kind: str, source: int, target: int, step: Callable[[Iterable[int]], Iterable[int]]
) -> bool:
    """True when `source → target` of `kind` would let something be blocked by itself, or replaced by itself."""
    if source == target:
        return True
    return kind in DIRECTED and leads_to(target, source, step)
