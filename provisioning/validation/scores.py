"""What is the one number of a node for each metric, and did it measure well enough to have one?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median

from provisioning.validation.metrics import METRICS, MetricRule
from provisioning.validation.policy import Policy
from provisioning.validation.reading import NODE, Reading, ReadingSet, ReadingState, device_key
from provisioning.validation.robust import relative_spread


@dataclass(frozen=True, kw_only=True)
class Score:
    """A node's value of one metric: the median of the repeats of its worst device.

    Worst, because synchronised work runs at the slowest GPU. `by_device` has the median of every device.
    """

    metric: str
    value: float
    unit: str
    device: str
    spread: float
    runs: int
    by_device: tuple[tuple[str, float], ...]
    evidence: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Unscored:
    """Why there is no score, per device, in words."""

    metric: str
    reasons: tuple[tuple[str, str], ...]
    evidence: tuple[str, ...] = ()


def node_scores(
    readings: ReadingSet, *, gpus: tuple[str, ...], policy: Policy
) -> Mapping[str, Score | Unscored]:
    """Every performance metric of a node, scored or not."""
    return {name: score(readings, rule, gpus=gpus, policy=policy) for name, rule in sorted(METRICS.items())}


def score(
    readings: ReadingSet, rule: MetricRule, *, gpus: tuple[str, ...], policy: Policy
) -> Score | Unscored:
    """One metric of a node. Every GPU that should be there must have measured, often enough and steadily."""
    wanted = gpus if rule.per_gpu else (NODE,)
    extra = tuple(device for device in readings.devices(rule.metric) if device not in wanted)
    reasons: list[tuple[str, str]] = []
    values: dict[str, tuple[float, float, int]] = {}
    seen: list[Reading] = []
    for device in (*wanted, *extra):
        found = readings.of(rule.metric, device=device)
        seen.extend(found)
        told = _device(found, policy)
        if isinstance(told, str):
            reasons.append((device, told))
        else:
            values[device] = told
    evidence = tuple(sorted({one.ref for one in seen}))
    if reasons or not values:
        return Unscored(metric=rule.metric, reasons=tuple(reasons), evidence=evidence)
    worst = min(values, key=lambda device: (values[device][0], device_key(device)))
    return Score(
        metric=rule.metric,
        value=values[worst][0],
        unit=rule.unit,
        device=worst,
        spread=max(spread for _, spread, _ in values.values()),
        runs=min(runs for _, _, runs in values.values()),
        by_device=tuple((device, values[device][0]) for device in sorted(values, key=device_key)),
        evidence=evidence,
    )


def _device(found: tuple[Reading, ...], policy: Policy) -> tuple[float, float, int] | str:
    """Median, spread and number of repeats of one device; or why it has none."""
    numbers = [one.number for one in found if one.number is not None and one.number > 0]
    if not numbers:
        failed = [one for one in found if one.state is ReadingState.FAILED]
        return (
            f"measuring failed: {failed[0].told('said') or 'no reason told'}"
            if failed
            else "was not measured"
        )
    if len(numbers) < policy.min_repeats:
        return f"measured {len(numbers)} times, {policy.min_repeats} are needed"
    spread = relative_spread(numbers)
    if spread > policy.max_spread:
        return f"noisy: repeats spread by {spread:.1%}, at most {policy.max_spread:.0%} is a measurement"
    return median(numbers), spread, len(numbers)
