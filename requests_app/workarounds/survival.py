"""How long do workarounds live until they are replaced? Kaplan and Meier's estimate, with those that still live counted.

S(t) = Π over replacement times t_i ≤ t of (1 − d_i / n_i), where d_i were replaced at t_i and n_i were still there just
before. What ended otherwise, or lives, leaves the count at its age (censored) and never pulls the estimate down.
Source: E. L. Kaplan, P. Meier, Nonparametric Estimation from Incomplete Observations, JASA 53 (1958).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Life:
    """One workaround: its age in days, and whether it was replaced at that age or only seen so old."""

    days: float
    replaced: bool


@dataclass(frozen=True)
class Step:
    """From `days` on the share `share` is still there; `at_risk` were there just before, `replaced` went."""

    days: float
    share: float
    at_risk: int
    replaced: int


def survival(lives: Iterable[Life]) -> tuple[Step, ...]:
    """The falling steps, by age; empty when nothing was ever replaced. Ages below 0 count as 0."""
    ages = [(max(0.0, life.days), life.replaced) for life in lives]
    steps: list[Step] = []
    share = 1.0
    for days in sorted({days for days, replaced in ages if replaced}):
        # Who was seen last at exactly this age was still there: a tie goes to the living.
        at_risk = sum(1 for age, _ in ages if age >= days)
        gone = sum(1 for age, replaced in ages if replaced and age == days)
        share *= 1 - gone / at_risk
        steps.append(Step(days=days, share=share, at_risk=at_risk, replaced=gone))
    return tuple(steps)


def half_life(steps: Iterable[Step]) -> float | None:
    """The first age in days at which at most half are left; None while more than half are."""
    return next((step.days for step in steps if step.share <= 0.5 + 1e-12), None)


def share_at(steps: Iterable[Step], days: float) -> float:
    """S(days): the share still there at that age."""
    share = 1.0
    for step in steps:
        if step.days > days:
            break
        share = step.share
    return share
