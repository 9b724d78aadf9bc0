"""Had a team more or less than its share lately? φ from decayed use against entitlement, per kind of resource.

φ = 2^(1 − U/S) within [1/4, 4]: 1 at a team's fair share, like Slurm's classic factor. Use is forgotten by half in
`half_life` days. A kind of resource stands alone: who had too much of one is not behind for another.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import exp2, log, log2

LEAST, MOST = 0.25, 4.0
LEAP = 0.25
SECONDS_PER_HOUR = 3600.0
SECONDS_PER_DAY = 86_400.0


@dataclass(frozen=True, kw_only=True)
class Use:
    """`amount` of `resource` held by `team` from `start` to `end`, both in seconds since the epoch."""

    team: str
    resource: str
    amount: float
    start: float
    end: float


@dataclass(frozen=True, kw_only=True)
class Share:
    """A team's part U of what was used and its part S of what it is entitled to, of one resource."""

    used: float
    entitled: float

    @property
    def fairness(self) -> float:
        """φ of this share."""
        return fairness(self.used, self.entitled)


def decayed_hours(use: Use, *, at: float, half_life_days: float) -> float:
    """Amount-hours of `use` until `at`, each weighed 2^(−age/half-life)."""
    end = min(use.end, at)
    if end <= use.start:
        return 0.0
    half = half_life_days * SECONDS_PER_DAY
    weight = exp2((end - at) / half) - exp2((use.start - at) / half)
    return use.amount * weight * half / log(2) / SECONDS_PER_HOUR


def fairness(used: float, entitled: float) -> float:
    """φ. A team that is entitled to nothing and had nothing stands at 1."""
    if entitled <= 0:
        return 1.0 if used <= 0 else LEAST
    return max(LEAST, min(MOST, exp2(1.0 - used / entitled)))


def shares(
    uses: Iterable[Use], entitlements: Mapping[tuple[str, str], float], *, at: float, half_life_days: float
) -> dict[tuple[str, str], Share]:
    """Share by (team, resource) for all who are entitled or had some. Of a resource that nobody used nobody had too little."""
    used: dict[tuple[str, str], float] = defaultdict(float)
    for use in uses:
        used[(use.team, use.resource)] += decayed_hours(use, at=at, half_life_days=half_life_days)
    all_used, all_entitled = _sums(used), _sums(entitlements)
    found: dict[tuple[str, str], Share] = {}
    for key in used.keys() | entitlements.keys():
        total, due = all_used.get(key[1], 0.0), all_entitled.get(key[1], 0.0)
        entitled = entitlements.get(key, 0.0) / due if due > 0 else 0.0
        found[key] = Share(used=used.get(key, 0.0) / total if total > 0 else entitled, entitled=entitled)
    return found


def _sums(amounts: Mapping[tuple[str, str], float]) -> dict[str, float]:
    totals: dict[str, float] = defaultdict(float)
    for (_, resource), amount in amounts.items():
        totals[resource] += amount
    return totals


def has_leapt(stored: float, computed: float) -> bool:
    """True when φ moved by more than 2^±0.25 since ranks last read it: smaller moves re-rank nobody."""
    return abs(log2(computed / stored)) > LEAP
