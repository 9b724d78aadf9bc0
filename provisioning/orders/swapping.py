"""Some nodes of an order turned out bad: which are replaced, which stay, and when does a person decide? Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Ground(StrEnum):
    """What a node is blamed for. Only `degraded` may stay: work runs on it, slowly."""

    FAILED = "failed"  # a job failed on it, or could not reach it
    UNFIT = "unfit"
    HELD = "held"  # an operator opened a hold on it meanwhile
    DEGRADED = "degraded"
    UNMEASURED = "unmeasured"  # it gave no verdict; nothing says that it is broken


@dataclass(frozen=True, kw_only=True)
class Blame:
    """What speaks against a node, in one sentence and with its numbers. `speed` is node/baseline, None if unknown."""

    ground: Ground
    code: str
    reason: str
    evidence: Mapping[str, Any] = field(default_factory=dict)
    speed: float | None = None


@dataclass(frozen=True, kw_only=True)
class Swap:
    """Replace `must`, and `may` where a better node is free; `kept` stay, though degraded."""

    must: Mapping[str, Blame]
    may: Mapping[str, Blame]
    kept: Mapping[str, Blame]


@dataclass(frozen=True, kw_only=True)
class GiveUp:
    """Replace nothing, a person decides. `blamed` still leave the pool; it is empty where the cause is shared."""

    reason: str
    blamed: Mapping[str, Blame] = field(default_factory=dict)


def decide(blamed: Mapping[str, Blame], *, worked_on: int, swaps_used: int, limit: int) -> Swap | GiveUp:
    """What to do about the `blamed` among the `worked_on` nodes of one step.

    When a job failed on every one of several nodes, or none of them could be measured, something they share is the
    likelier cause: no node is accused (validation.md 2.7, stage D). A degraded node is no reason to fail an order: a
    team gets a slower cluster now rather than none, and is told.
    """
    shared = _shared(blamed, worked_on)
    if shared is not None:
        return shared
    must = {name: one for name, one in blamed.items() if one.ground != Ground.DEGRADED}
    if swaps_used + len(must) > limit:
        names = ", ".join(sorted(must))
        return GiveUp(
            reason=f"{names} can't be used, after {swaps_used} replaced already; an order replaces at most {limit} by "
            "itself. A person has to decide.",
            blamed={name: one for name, one in must.items() if one.ground != Ground.UNMEASURED},
        )
    degraded = sorted(
        (name for name in blamed if name not in must),
        key=lambda name: (_speed(blamed[name]), name),
    )
    room = limit - swaps_used - len(must)
    return Swap(
        must=must,
        may={name: blamed[name] for name in degraded[:room]},
        kept={name: blamed[name] for name in degraded[room:]},
    )


def _shared(blamed: Mapping[str, Blame], worked_on: int) -> GiveUp | None:
    for ground, words in (
        (Ground.FAILED, "The job failed on"),
        (Ground.UNMEASURED, "Nothing was measured on"),
    ):
        found = [one for one in blamed.values() if one.ground == ground]
        if len(found) == worked_on and worked_on >= 2:
            return GiveUp(
                reason=f"{words} all {worked_on} nodes, so the cause is most likely one they share. A person has to "
                f"look. First of them: {found[0].reason}"
            )
    return None


def _speed(blame: Blame) -> float:
    return 1.0 if blame.speed is None else blame.speed
