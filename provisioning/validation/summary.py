"""How did the nodes of a cluster measure, alone and together, and what does the slowest of them cost?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.contrib.auth.models import AnonymousUser

from portal.accounts.models import User
from portal.kernel.refs import parse_ref
from portal.kernel.units import say_share
from provisioning.contracts import ClusterView, NodeView
from provisioning.validation import queries
from provisioning.validation.metrics import METRICS
from provisioning.validation.models import ClusterReport, Report
from provisioning.validation.telling import slowest_metric

HOURS = 24


@dataclass(frozen=True, kw_only=True)
class MemberRow:
    """One node of a cluster. `metric_id` is its slowest one, `metric` the title; `report` None where nobody measured it."""

    name: str
    verdict: str | None
    speed: float | None
    metric_id: str
    metric: str
    tone: str
    report: Report | None


@dataclass(frozen=True, kw_only=True)
class ClusterSummary:
    """A cluster as its validation found it; `words` are the sentence about speed and what it costs."""

    rows: tuple[MemberRow, ...]
    collective: ClusterReport | None
    words: str

    @property
    def is_known(self) -> bool:
        """True when anything was ever measured."""
        return self.collective is not None or any(row.report is not None for row in self.rows)


def summary_of(user: User | AnonymousUser, cluster: ClusterView) -> ClusterSummary:
    """Of a cluster that this person may see; two queries however many nodes it has."""
    reports = queries.newest_by_node(user, [node.name for node in cluster.nodes])
    return ClusterSummary(
        rows=_rows(cluster.nodes, reports, cluster.slowest_node),
        collective=queries.newest_collective(parse_ref(cluster.ref, "C")),
        words=_words(cluster, reports),
    )


def _rows(nodes: Sequence[NodeView], reports: Mapping[str, Report], slowest: str) -> tuple[MemberRow, ...]:
    rows = [_row(node, reports.get(node.name), slowest) for node in nodes]
    return tuple(sorted(rows, key=lambda row: (row.speed is not None, row.speed or 0.0, row.name)))


def _row(node: NodeView, report: Report | None, slowest: str) -> MemberRow:
    metric = slowest_metric(report.ratios) if report is not None else None
    return MemberRow(
        name=node.name,
        verdict=node.verdict.value if node.verdict is not None else None,
        speed=node.speed,
        metric_id=metric or "",
        metric=METRICS[metric].title if metric is not None else "",
        tone="warn" if node.name == slowest else "ok",
        report=report,
    )


def _words(cluster: ClusterView, reports: Mapping[str, Report]) -> str:
    if cluster.speed is None or not cluster.slowest_node:
        return "Its speed is not known: not every node was measured."
    report = reports.get(cluster.slowest_node)
    metric = slowest_metric(report.ratios) if report is not None else None
    by = f" in {METRICS[metric].title}" if metric is not None else ""
    told = f"{cluster.name} runs at {say_share(cluster.speed)} of its baseline: {cluster.slowest_node} is its slowest node{by}"
    lost = cluster.gpu_hours_lost_per_day
    if len(cluster.nodes) == 1 or lost is None:
        return f"{told}."
    if lost < 0.05:
        return f"{told}, and no slower than the others."
    return f"{told}. While it stays, {lost:.1f} of {cluster.gpus * HOURS} GPU-hours a day are lost to waiting for it."
