"""May this ask be approved without a person? Small asks within quota and capacity; what was seen is kept."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What an offering lets pass by itself; None means that this offering sets no such limit, 0 that none passes.

    `max_gpus` GPUs asked at once; `max_share_of_free` of the free healthy GPUs, in [0, 1]; `max_days` of lease or boost;
    `max_open` other asks of the team for the same offering that are open.
    """

    enabled: bool = False
    max_gpus: int | None = None
    max_share_of_free: float | None = None
    max_days: int | None = None
    max_open: int | None = None


@dataclass(frozen=True, kw_only=True)
class Seen:
    """The numbers a policy decided on. Quantities are GPUs; None is unknown or unlimited."""

    gpus: int = 0
    quota_left: int | None = 0
    needs_quota: bool = True
    free_gpus: int | None = None
    days: int | None = None
    open_asks: int = 0


@dataclass(frozen=True, kw_only=True)
class Decision:
    """Yes or a person decides; `reasons` says why, each as a sentence."""

    approved: bool
    reasons: tuple[str, ...]
    seen: Seen
    limits: Limits

    def as_data(self) -> dict[str, Any]:
        """For the ledger: everything that was looked at."""
        return asdict(self)


def decide(limits: Limits, seen: Seen) -> Decision:
    """Approve only if every rule passes; otherwise name every rule that did not."""
    if not limits.enabled:
        reasons = ["this offering is always decided by a person"]
    else:
        reasons = [*_too_big(limits, seen), *_no_room(limits, seen), *_too_many(limits, seen)]
    if reasons:
        return Decision(approved=False, reasons=tuple(reasons), seen=seen, limits=limits)
    passed = ("it is small, within the quota, and healthy nodes are free",)
    return Decision(approved=True, reasons=passed, seen=seen, limits=limits)


def _too_big(limits: Limits, seen: Seen) -> list[str]:
    found = []
    if limits.max_gpus is not None and seen.gpus > limits.max_gpus:
        found.append(f"{seen.gpus} GPUs are more than the {limits.max_gpus} that pass by themselves")
    if limits.max_days is not None and (seen.days is None or seen.days > limits.max_days):
        asked = "no end" if seen.days is None else f"{seen.days} days"
        found.append(f"{asked} is longer than the {limits.max_days} days that pass by themselves")
    return found


def _no_room(limits: Limits, seen: Seen) -> list[str]:
    found = []
    if seen.needs_quota and seen.quota_left is not None and seen.gpus > seen.quota_left:
        found.append(f"{seen.gpus} GPUs don't fit in the {seen.quota_left} left of the quota")
    if limits.max_share_of_free is None:
        return found
    if seen.free_gpus is None:
        found.append("the free capacity is not known")
    elif seen.gpus > limits.max_share_of_free * seen.free_gpus:
        found.append(
            f"{seen.gpus} GPUs are more than {limits.max_share_of_free:.0%} of the {seen.free_gpus} that are free"
        )
    return found


def _too_many(limits: Limits, seen: Seen) -> list[str]:
    if limits.max_open is not None and seen.open_asks > limits.max_open:
        return [f"the team has {seen.open_asks} other open asks of this kind"]
    return []
