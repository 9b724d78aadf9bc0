"""How good and how fast is a cluster that runs in step? As its worst node, and as its slowest; the rest is lost."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from statistics import median

from provisioning.contracts import VerdictValue

_WORST_FIRST = (VerdictValue.UNFIT, VerdictValue.DEGRADED, VerdictValue.NOT_MEASURED, VerdictValue.FIT)


@dataclass(frozen=True, kw_only=True)
class ClusterSpeed:
    """`speed` is min over nodes of node/baseline; lost GPU-hours a day are (1 - slowest/median)·GPUs·24 (design.md 6)."""

    speed: float
    slowest_node: str
    gpu_hours_lost_per_day: float


def cluster_speed(speeds: Mapping[str, float | None], *, gpus: int) -> ClusterSpeed | None:
    """The speed of nodes that work in step; None when one of them was never measured, or there is none.

    `speeds` are node/baseline by name; of equally slow nodes the first by name is named.
    """
    known = {name: speed for name, speed in speeds.items() if speed is not None}
    if not known or len(known) < len(speeds):
        return None
    slowest = min(sorted(known), key=lambda name: known[name])
    middle = median(known.values())
    lost = 0.0 if middle <= 0 else max(0.0, 1 - known[slowest] / middle) * gpus * 24
    return ClusterSpeed(speed=known[slowest], slowest_node=slowest, gpu_hours_lost_per_day=lost)


def worst(verdicts: Collection[VerdictValue]) -> VerdictValue:
    """The verdict that counts for all of them; of nothing, nothing was measured."""
    return next((one for one in _WORST_FIRST if one in verdicts), VerdictValue.NOT_MEASURED)
