"""Which reports may this person read, what was measured beside them, and where is the evidence?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.db.models import QuerySet

from portal.accounts.models import User
from portal.kernel.errors import NotFound
from provisioning.fleet.models import Node
from provisioning.jobs.models import HostResult
from provisioning.validation.evidence import Evidence, read_probe
from provisioning.validation.models import ClusterReport, Kind, Report

PAGE = 25
HEAVY = ("scores", "references", "stratum", "versions")
"""Columns that only the page of one report reads."""
LARGEST_ID = 2**63 - 1
Row = Mapping[str, Any]


def reports_of(user: User | AnonymousUser, node: Node) -> QuerySet[Report]:
    """The reports of one node that this person may see, newest first, without their heavy columns."""
    found = Report.objects.visible_to(user).filter(node=node)
    return found.select_related("job", "node").defer(*HEAVY).order_by("-id")


def newest_of(user: User | AnonymousUser, node: Node) -> Report | None:
    """The last report of a node that this person may see."""
    return reports_of(user, node).first()


def report_by_id(user: User | AnonymousUser, node: Node, report_id: int) -> Report:
    """One report with all it holds; NotFound when there is none of this node that this person may see."""
    found = Report.objects.visible_to(user).filter(node=node, pk=min(report_id, LARGEST_ID))
    report = found.select_related("job", "node__sku", "node__rack", "baseline").first()
    if report is None:
        raise NotFound("There is no such report.")
    return report


def source_of(report: Report) -> Report:
    """The sweep that a report tells of: itself, or for a rerun the sweep that raised the suspicion."""
    if report.kind == Kind.SWEEP:
        return report
    earlier = Report.objects.filter(node=report.node_id, kind=Kind.SWEEP, pk__lt=report.pk)
    return earlier.select_related("job", "node").defer(*HEAVY).order_by("-pk").first() or report


def peers_of(source: Report, metric: str) -> list[dict[str, float]]:
    """What the other nodes of the same kind in the same sweep reached in one metric: a mapping by device each."""
    found = (
        Report.objects.filter(job=source.job_id, kind=Kind.SWEEP, node__sku=source.node.sku_id)
        .exclude(pk=source.pk)
        .order_by("node__name")
        .values_list(f"scores__{metric}__by_device", flat=True)
    )
    return [dict(by_device) for by_device in found if by_device]


def evidence_of(report: Report) -> list[Evidence]:
    """What the report's own job brought home from the node, one row a run of a tool, without its output."""
    return list(read_probe(_probe(report, lambda row: {**row, "stdout": ""})).evidence)


def evidence_with_output(report: Report, evidence_id: str, run: int) -> Evidence:
    """One run of one tool with what it printed; NotFound for one that the node did not send."""
    probe = _probe(
        report, lambda row: row if row.get("id") == evidence_id and row.get("run", 1) == run else None
    )
    found = read_probe(probe).evidence
    if not found:
        raise NotFound("The node sent no such evidence.")
    return found[0]


def _probe(report: Report, kept: Callable[[Row], Row | None]) -> dict[str, Any]:
    """The probe behind a report, every piece of evidence passed through `kept`, so that only what is shown is unpacked."""
    rows = HostResult.objects.filter(job=report.job_id, node=report.node_id, attempt=report.job.attempt)
    probe = rows.values_list("data__probe", flat=True).first()
    if not isinstance(probe, dict) or not isinstance(probe.get("evidence"), list):
        return {}
    passed = (kept(row) for row in probe["evidence"] if isinstance(row, dict))
    return {**probe, "evidence": [row for row in passed if row is not None]}


def newest_by_node(user: User | AnonymousUser, names: Iterable[str]) -> dict[str, Report]:
    """The last report that this person may see of each of these nodes, by the node's name, in one query."""
    found = Report.objects.visible_to(user).filter(node__name__in=list(names))
    newest = found.order_by("node_id", "-pk").distinct("node_id").select_related("node", "job")
    return {report.node.name: report for report in newest.defer(*HEAVY)}


def newest_collective(cluster_id: int) -> ClusterReport | None:
    """The last time that the nodes of a cluster were measured as one; ask only for a cluster the person may see."""
    return ClusterReport.objects.filter(cluster=cluster_id).select_related("job").order_by("-pk").first()
