"""What does validation say of the nodes that a job measured? The one seam between orders and validation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from provisioning.contracts import VerdictValue
from provisioning.fleet.models import Cluster
from provisioning.jobs.models import Job
from provisioning.validation import services
from provisioning.validation.metrics import METRICS
from provisioning.validation.models import Report


@dataclass(frozen=True, kw_only=True)
class NodeVerdict:
    """The verdict on a node, or on a cluster as one, in a sentence and with the numbers that decided."""

    value: VerdictValue
    reason: str = ""
    evidence: Mapping[str, Any] = field(default_factory=dict)
    speed: float | None = None


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """Verdicts by node name, and for nodes that look slow beside their peers the probes to run again."""

    verdicts: Mapping[str, NodeVerdict]
    suspects: Mapping[str, Sequence[str]] = field(default_factory=dict)


class Judge(Protocol):
    """Whoever turns a job's results into verdicts, and keeps them."""

    def judge_nodes(self, *, job: Job) -> Sweep:
        """After `validate_node` with every probe. A suspect's verdict is the one it has aside of the suspicion."""

    def judge_confirmation(self, *, job: Job, control: str) -> Mapping[str, NodeVerdict]:
        """After `validate_node` on suspects and the node `control`, "" when there was none to compare with."""

    def judge_cluster(self, *, cluster: Cluster, job: Job) -> NodeVerdict:
        """After `validate_cluster`; evidence `busbw_gbps` is what the nodes reached together."""


def judge() -> Judge:
    """The validation room."""
    return _ValidationRoom()


class _ValidationRoom:
    def judge_nodes(self, *, job: Job) -> Sweep:
        reports = services.judge_sweep(job=job)
        return Sweep(
            verdicts={name: _told(report, aside=True) for name, report in reports.items()},
            suspects={
                name: sorted({METRICS[metric].evidence for metric in report.suspected_of})
                for name, report in reports.items()
                if report.suspected_of
            },
        )

    def judge_confirmation(self, *, job: Job, control: str) -> Mapping[str, NodeVerdict]:
        reports = services.judge_reruns(job=job, control=control)
        return {name: _told(report, aside=False) for name, report in reports.items()}

    def judge_cluster(self, *, cluster: Cluster, job: Job) -> NodeVerdict:
        report = services.judge_cluster(cluster=cluster, job=job)
        return NodeVerdict(
            value=VerdictValue(report.verdict),
            reason="; ".join(report.reasons),
            evidence={"job": job.ref, "busbw_gbps": report.busbw_gbps, "expected_gbps": report.expected_gbps},
        )


def _told(report: Report, *, aside: bool) -> NodeVerdict:
    return NodeVerdict(
        value=VerdictValue(report.verdict_aside if aside else report.verdict),
        reason="; ".join(report.reasons[:3]),
        evidence={
            "job": report.job.ref,
            "report": report.pk,
            "verdict": report.verdict,
            "reasons": report.reasons[:10],
            "speed": report.speed,
            "share of its reference, by metric": {
                metric: round(ratio, 4) for metric, ratio in report.ratios.items()
            },
            "policy": report.policy_version,
        },
        speed=report.speed,
    )
