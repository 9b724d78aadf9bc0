"""How fast is a cluster, which node holds it back, and what does that cost in GPU-hours a day?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median

from provisioning.validation.metrics import METRICS


@dataclass(frozen=True, kw_only=True)
class ClusterSpeed:
    """Shares of the baseline: `speed` of the slowest node, `median` of the middle one, in the metric that binds."""

    speed: float
    median: float
    slowest_node: str
    metric: str
    gpus: int
    gpu_hours_lost_per_day: float
    words: str


def node_speed(ratios: Mapping[str, float]) -> float | None:
    """A node's worst share among the metrics that bind synchronised work; None where none was measured."""
    bound = [ratio for metric, ratio in ratios.items() if METRICS[metric].bounds_work]
    return min(bound) if bound else None


def lost_per_day(slowest: float, middle: float, gpus: int) -> float:
    """GPU-hours a day that wait for the slowest node: (1 − slowest/median) · GPUs · 24, never below 0."""
    return max(0.0, (1 - slowest / middle) * gpus * 24) if middle > 0 else 0.0


def cluster_speed(ratios: Mapping[str, Mapping[str, float]], *, gpus: int) -> ClusterSpeed | None:
    """`ratios`: node to metric to node/reference; `gpus` of the whole cluster. None where nothing binding was measured.

    The metric that binds is the one whose slowest node is the slowest of all.
    """
    found = [
        (ratio, metric, node)
        for node, by_metric in ratios.items()
        for metric, ratio in by_metric.items()
        if METRICS[metric].bounds_work
    ]
    if not found:
        return None
    slowest, metric, node = min(found)
    middle = median(ratio for ratio, name, _ in found if name == metric)
    lost = lost_per_day(slowest, middle, gpus)
    return ClusterSpeed(
        speed=slowest,
        median=middle,
        slowest_node=node,
        metric=metric,
        gpus=gpus,
        gpu_hours_lost_per_day=lost,
        words=_words(slowest, middle, node, metric, gpus, lost),
    )


def _words(slowest: float, middle: float, node: str, metric: str, gpus: int, lost: float) -> str:
    told = f"The cluster runs at {slowest:.1%} of its baseline: {node} is its slowest node ({METRICS[metric].title})"
    behind = 1 - slowest / middle if middle > 0 else 0.0
    if behind < 0.001:
        return f"{told}, no slower than the others."
    return (
        f"{told}, {behind:.1%} behind the median. While it stays, "
        f"{lost:.1f} of {gpus * 24} GPU-hours a day are spent waiting for it."
    )
