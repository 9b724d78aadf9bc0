"""Which value do half of them stay below, and which do nine of ten? With the number they were taken from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Spread:
    """The middle and the ninth tenth of `n` values; None without any."""

    n: int
    p50: float | None
    p90: float | None


def percentile(values: Sequence[float], share: float) -> float | None:
    """The value at `share` of the sorted values, between neighbours in proportion (as percentile_cont); None of none."""
    if not 0 <= share <= 1:
        raise ValueError("a share is between 0 and 1")
    if not values:
        return None
    ordered = sorted(values)
    place = (len(ordered) - 1) * share
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def spread(values: Sequence[float]) -> Spread:
    """Both with their n."""
    return Spread(n=len(values), p50=percentile(values, 0.5), p90=percentile(values, 0.9))
