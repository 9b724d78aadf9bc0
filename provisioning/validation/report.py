"""What is handed to the portal for storing: of a node, of a sweep, of the collective of a cluster?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from provisioning.contracts import VerdictValue
from provisioning.validation.baselines import Reference, Stratum
from provisioning.validation.finding import Finding
from provisioning.validation.reading import Reading
from provisioning.validation.scores import Score
from provisioning.validation.speed import ClusterSpeed
from provisioning.validation.stragglers import Confirmation, Screened, SharedCause, Suspicion
from provisioning.validation.verdict import Case, NodeVerdict


@dataclass(frozen=True, kw_only=True)
class Versions:
    """What ran on the node when it was measured; empty where it was not told."""

    driver: str
    cuda: str
    vbios: str
    kernel: str


@dataclass(frozen=True, kw_only=True)
class NodeReport:
    """One node, judged. `readings` are the measurements, `scores` what peers are compared by, `speed` node/baseline."""

    node: str
    boot_id: str
    taken_at: str
    simulated: bool
    sku: str
    stratum: Stratum
    versions: Versions
    readings: tuple[Reading, ...]
    scores: Mapping[str, Score]
    references: Mapping[str, Reference]
    ratios: Mapping[str, float]
    speed: float | None
    findings: tuple[Finding, ...]
    suspicions: tuple[Suspicion, ...]
    confirmations: tuple[Confirmation, ...]
    problems: tuple[str, ...]
    case: Case
    verdict: NodeVerdict

    @property
    def remeasure(self) -> tuple[str, ...]:
        """Metrics to measure again before there is a verdict."""
        ended = {one.suspicion.metric for one in self.confirmations if one.state.value != "rerun"}
        open_ones = {
            one.metric
            for one in self.suspicions
            if one.screened is Screened.SUSPECT and one.metric not in ended
        }
        return tuple(sorted(open_ones))


@dataclass(frozen=True, kw_only=True)
class SweepReport:
    """Nodes judged together. `shared` are causes that no single node is blamed for."""

    sku: str
    nodes: Mapping[str, NodeReport]
    suspicions: tuple[Suspicion, ...]
    shared: tuple[SharedCause, ...]
    speed: ClusterSpeed | None
    value: VerdictValue
    reasons: tuple[str, ...]
    policy_version: str
    baseline_id: str

    @property
    def remeasure(self) -> Mapping[str, tuple[str, ...]]:
        """Node to the metrics to measure again; nodes without any are left out."""
        return {node: report.remeasure for node, report in sorted(self.nodes.items()) if report.remeasure}


@dataclass(frozen=True, kw_only=True)
class CollectiveReport:
    """The collective over all nodes of a cluster. A low one belongs to the cluster: it blames no node."""

    busbw_gbps: float | None
    expected_gbps: float | None
    runs: int
    spread: float | None
    correct: bool | None
    value: VerdictValue
    reasons: tuple[str, ...]
    readings: tuple[Reading, ...]
