"""What does a healthy node of this kind, with these versions, reach? Learned from the fleet, leaning on the SKU at first."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median
from typing import Any

from provisioning.fleet.sku_data import FigureKind, Sku
from provisioning.validation.metrics import METRICS
from provisioning.validation.policy import Policy
from provisioning.validation.robust import cut_of, moderated_scale, robust_scale, share_of

Stratum = tuple[str, ...]
"""SKU, profile, driver, VBIOS, kernel, cooling class: the rightmost is dropped to reach the parent."""

ESTIMATE_WEIGHT = 2.0
"""An estimated SKU figure counts as two nodes, a measured mean as `Policy.shrink_weight`: a guess must yield early."""


@dataclass(frozen=True, kw_only=True)
class ScoreRow:
    """One score of one node that was healthy."""

    node: str
    stratum: Stratum
    metric: str
    value: float


@dataclass(frozen=True, kw_only=True)
class Level:
    """What the nodes of one stratum reached: `log_median`, `scale` of the logs, and how many nodes they are."""

    stratum: Stratum
    metric: str
    nodes: int
    log_median: float
    scale: float


@dataclass(frozen=True, kw_only=True)
class BaselineSet:
    """All baselines of one moment. Never edited: another content has another id, and a verdict keeps the id."""

    levels: tuple[Level, ...]

    @cached_property
    def _known(self) -> Mapping[tuple[Stratum, str], Level]:
        return {(one.stratum, one.metric): one for one in self.levels}

    @cached_property
    def id(self) -> str:
        told = json.dumps(self.to_dict(), sort_keys=True, separators=(",", ":"))
        return "baseline-" + hashlib.sha256(told.encode()).hexdigest()[:16]

    def to_dict(self) -> dict[str, Any]:
        """For storing as JSON."""
        return {
            "schema": 1,
            "levels": [
                [list(one.stratum), one.metric, one.nodes, one.log_median, one.scale] for one in self.levels
            ],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> BaselineSet:
        """The way back. Raises ValueError for a schema it does not know."""
        if data.get("schema") != 1:
            raise ValueError("baselines of an unknown schema")
        levels = (
            Level(stratum=tuple(key), metric=metric, nodes=nodes, log_median=log_median, scale=scale)
            for key, metric, nodes, log_median, scale in data["levels"]
        )
        return cls(levels=tuple(sorted(levels, key=lambda one: (one.stratum, one.metric))))

    def chain(self, stratum: Stratum, metric: str) -> tuple[Level, ...]:
        """The levels of a stratum from the widest to its own. One that adds no node to its parent adds nothing."""
        found: list[Level] = []
        for length in range(1, len(stratum) + 1):
            level = self._known.get((stratum[:length], metric))
            if level is not None and (not found or level.nodes < found[-1].nodes):
                found.append(level)
        return tuple(found)


NO_BASELINES = BaselineSet(levels=())


@dataclass(frozen=True, kw_only=True)
class Reference:
    """What one metric of one node is compared with. `cut` is a share: slower than `value` by more is suspect.

    `provisional` says that the fleet has not told its own figure yet; `origin` is fleet, peers or sku. `base` is what
    the speed of the node is a share of, where that is another figure: one for all nodes of a sweep.
    """

    metric: str
    value: float
    cut: float
    scale: float
    nodes: int
    provisional: bool
    origin: str
    pass_line: float | None = None
    base: float | None = None

    @property
    def basis(self) -> float:
        return self.value if self.base is None else self.base


def build_baselines(rows: Iterable[ScoreRow]) -> BaselineSet:
    """From scores of healthy nodes, in any order. A node counts once, by the median of its scores."""
    by_node: dict[tuple[Stratum, str], dict[str, list[float]]] = {}
    for row in rows:
        if not (row.value > 0 and math.isfinite(row.value)):
            raise ValueError(f"a score of {row.value!r} can't be in a baseline")
        for length in range(1, len(row.stratum) + 1):
            nodes = by_node.setdefault((row.stratum[:length], row.metric), {})
            nodes.setdefault(row.node, []).append(math.log(row.value))
    levels = []
    for (stratum, metric), nodes in sorted(by_node.items()):
        logs = [median(values) for values in nodes.values()]
        made = Level(
            stratum=stratum, metric=metric, nodes=len(logs), log_median=median(logs), scale=robust_scale(logs)
        )
        levels.append(made)
    return BaselineSet(levels=tuple(levels))


def reference(
    metric: str,
    stratum: Stratum,
    sku: Sku,
    *,
    baselines: BaselineSet,
    peers: Sequence[float] = (),
    policy: Policy,
) -> Reference | None:
    """The fleet's figure; before there is one, the peers of the sweep; before there are peers, the SKU's figure.

    `peers` are scores of other nodes, without the judged one's own.

    None where there is nothing at all to compare with.
    """
    expected = sku.expected.get(metric)
    pass_line = expected.pass_line if expected is not None else None
    prior = METRICS[metric].prior_scale
    chain = baselines.chain(stratum, metric)
    nodes = max((level.nodes for level in chain), default=0)
    if nodes >= policy.provisional_below:
        value, scale = _shrunk(chain, sku, metric, policy)
        return _made(metric, value, scale, nodes, "fleet", pass_line, policy)
    if len(peers) >= policy.min_peers:
        return _from_peers(metric, peers, pass_line, policy)
    if expected is None:
        return None
    return _made(metric, expected.value, prior, nodes, "sku", pass_line, policy)


def _from_peers(metric: str, peers: Sequence[float], pass_line: float | None, policy: Policy) -> Reference:
    logs = [math.log(value) for value in peers]
    prior = METRICS[metric].prior_scale
    scale = moderated_scale(robust_scale(logs), len(logs), prior=prior, freedom=policy.prior_freedom)
    # The middle of a few nodes is itself uncertain: the variance of a median is pi/2 of that of a mean.
    scale *= math.sqrt(1 + math.pi / 2 / len(logs))
    return _made(metric, math.exp(median(logs)), scale, len(logs), "peers", pass_line, policy)


def _shrunk(chain: tuple[Level, ...], sku: Sku, metric: str, policy: Policy) -> tuple[float, float]:
    """Every level leans on its parent with weight n/(n+10); the widest leans on the SKU's figure."""
    expected = sku.expected.get(metric)
    at = math.log(expected.value) if expected is not None else None
    weight = policy.shrink_weight
    if expected is not None and expected.kind is FigureKind.ESTIMATE:
        weight = ESTIMATE_WEIGHT
    scale = METRICS[metric].prior_scale
    for level in chain:
        share = level.nodes / (level.nodes + weight)
        at = level.log_median if at is None else share * level.log_median + (1 - share) * at
        scale = moderated_scale(level.scale, level.nodes, prior=scale, freedom=policy.prior_freedom)
        weight = policy.shrink_weight
    return math.exp(at if at is not None else 0.0), scale


def _made(
    metric: str, value: float, scale: float, nodes: int, origin: str, pass_line: float | None, policy: Policy
) -> Reference:
    least = policy.provisional_cut if origin == "sku" else policy.screen_cut
    cut = share_of(-max(cut_of(least), policy.screen_scales * scale))
    if METRICS[metric].quantised and origin != "sku":
        cut = 0.0
    return Reference(
        metric=metric,
        value=value,
        cut=cut,
        scale=scale,
        nodes=nodes,
        provisional=origin != "fleet",
        origin=origin,
        pass_line=pass_line,
    )
