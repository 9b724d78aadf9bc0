"""What does a block cost? GPU-hours and people-hours of facts that change with time, counted once however often they are told.

Source: the portal's rule for gaming resistance: hours of one resource of one team are lost once, a person is split over the
open requests that name them, and a measurement counts in place of a claim.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

SECONDS_PER_HOUR = 3600.0


@dataclass(frozen=True, kw_only=True)
class Level:
    """From `since` on, `amount` of something is lost at any moment: idle GPUs, or people who can't work."""

    since: datetime
    amount: float


@dataclass(frozen=True, kw_only=True)
class Loss:
    """What one block loses of one resource of one team, until `until`. Levels in any order."""

    team: str
    resource: str
    levels: tuple[Level, ...]
    until: datetime


def hours(levels: Sequence[Level], until: datetime) -> float:
    """The integral of `levels` until `until`, in amount-hours; a level counts until the next one begins."""
    steps = sorted((level for level in levels if level.since < until), key=lambda level: level.since)
    ends = [step.since for step in steps[1:]] + [until]
    return sum(
        step.amount * (end - step.since).total_seconds() / SECONDS_PER_HOUR
        for step, end in zip(steps, ends, strict=False)
    )


def measured_over_claimed(claimed: Sequence[Level], measured: Sequence[Level]) -> tuple[Level, ...]:
    """The levels that count: what was claimed until the first measurement, what was measured from then on."""
    if not measured:
        return tuple(claimed)
    first = min(level.since for level in measured)
    return (*(level for level in claimed if level.since < first), *measured)


def hours_once(losses: Iterable[Loss]) -> float:
    """Hours of all losses together; where losses of one (team, resource) overlap, the largest alone counts."""
    groups: dict[tuple[str, str], list[Loss]] = defaultdict(list)
    for loss in losses:
        groups[(loss.team, loss.resource)].append(loss)
    return sum(_largest_at_any_time(group) for group in groups.values())


def _largest_at_any_time(losses: Sequence[Loss]) -> float:
    moments = sorted(
        {level.since for loss in losses for level in loss.levels} | {loss.until for loss in losses}
    )
    return sum(
        max(_amount_at(loss, start) for loss in losses) * (end - start).total_seconds() / SECONDS_PER_HOUR
        for start, end in zip(moments, moments[1:], strict=False)
    )


def _amount_at(loss: Loss, at: datetime) -> float:
    if at >= loss.until:
        return 0.0
    begun = [level for level in loss.levels if level.since <= at]
    return max(begun, key=lambda level: level.since).amount if begun else 0.0


def parts_of_one_loss(claims: Mapping[int, float]) -> dict[int, float]:
    """Each claim's part in [0, 1] where several claim the same resource at once: together they make the largest."""
    total = sum(claims.values())
    if total <= 0:
        return dict.fromkeys(claims, 1.0)
    part = max(claims.values()) / total
    return dict.fromkeys(claims, part)


def part_of_a_person(*, half: bool, named_in: int) -> float:
    """What one person counts in one block: 1, or 0.5 at half speed, split over the open blocks that name them."""
    return (0.5 if half else 1.0) / max(1, named_in)


def claim_ratio(records: Iterable[tuple[float, float]]) -> float:
    """Measured over claimed GPU-hours of (claimed, measured) pairs, within [0.5, 1]; 1 while nothing is known."""
    pairs = [(claimed, measured) for claimed, measured in records if claimed > 0]
    claimed = sum(pair[0] for pair in pairs)
    return max(0.5, min(1.0, sum(pair[1] for pair in pairs) / claimed)) if claimed > 0 else 1.0
