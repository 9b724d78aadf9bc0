"""What is the middle of some numbers and how wide do they spread, when some of them may be wild?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

NORMAL = 1.4826
"""Scales the median absolute deviation to the standard deviation of a normal distribution."""


EFFICIENCY = 0.37
"""A median absolute deviation tells as much of a normal spread as a standard deviation of 37 % as many values."""


def robust_scale(values: Sequence[float]) -> float:
    """1.4826 · median absolute deviation; 0 for one value or for values that repeat exactly."""
    if not values:
        return 0.0
    middle = median(values)
    return NORMAL * median(abs(value - middle) for value in values)


def moderated_scale(scale: float, count: int, *, prior: float, freedom: float) -> float:
    """sqrt((d0·s0² + d·s²)/(d0+d)): few nodes lean on the prior, many on themselves (Smyth 2004).

    d is n−1 times the efficiency of the robust scale: counted in full, eight nodes would believe their own noise.
    """
    own = EFFICIENCY * max(count - 1, 0)
    return math.sqrt((freedom * prior**2 + own * scale**2) / (freedom + own))


def robust_z(value: float, values: Sequence[float]) -> float | None:
    """(x − median) / robust scale; None where the values repeat exactly, since then only equality says anything."""
    scale = robust_scale(values)
    return (value - median(values)) / scale if scale > 0 else None


def relative_spread(values: Sequence[float]) -> float:
    """Robust spread of repeats as a share of their median, so that one dip among three does not count as noise."""
    middle = median(values)
    return robust_scale(values) / middle if middle > 0 else math.inf


def log_ratio(value: float, reference: float) -> float:
    """ln(x/B): −0.051 is 5 % slower. Both must be above 0."""
    return math.log(value / reference)


def cut_of(share: float) -> float:
    """A share as a distance in logs: 3 % below is ln(1 − 0.03)."""
    return -math.log1p(-share)


def share_of(ratio: float) -> float:
    """The way back: how much slower, as a share, a log ratio is (0.05 for 5 % slower)."""
    return -math.expm1(ratio)
