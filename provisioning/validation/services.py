"""How does a job's result become a verdict that is kept? Judge by the rules, store once, tell the fleet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from portal.ledger.services import record
from provisioning import events
from provisioning.contracts import OrderKind, VerdictValue
from provisioning.fleet.models import Cluster, Node
from provisioning.fleet.services import note_verdict
from provisioning.fleet.sku_data import Sku, known_skus
from provisioning.jobs.models import HostResult, Job
from provisioning.validation import history, judge, storing
from provisioning.validation.expectation import Expectation, ExpectedMount
from provisioning.validation.models import Baseline, ClusterReport, Kind, Report
from provisioning.validation.report import NodeReport, SweepReport
from provisioning.validation.reruns import split_runs, steady_policy
from provisioning.validation.stragglers import Confirmation, Screened


@dataclass(frozen=True)
class Probed:
    """The nodes that a job measured and what they sent."""

    nodes: Mapping[str, Node]
    probes: Mapping[str, object]


@transaction.atomic
def judge_sweep(*, job: Job) -> dict[str, Report]:
    """Reports by node of a `validate_node` job with every probe; judged once, read ever after."""
    kept = {report.node.name: report for report in job.reports.select_related("node")}
    if kept:
        return kept
    probed = probes_of(job)
    reports: dict[str, Report] = {}
    for slug in sorted({node.sku.slug for node in probed.nodes.values()}):
        baseline = history.baseline_now(slug)
        for name, judged in _sweep(job, probed, slug, baseline).nodes.items():
            reports[name] = _keep(job, probed.nodes[name], judged, baseline, Kind.SWEEP)
    return reports


@transaction.atomic
def judge_reruns(*, job: Job, control: str) -> dict[str, Report]:
    """Reports by node of a rerun of what suspects were suspected of, beside the node `control` ("" for none)."""
    kept = {report.node.name: report for report in job.reports.select_related("node")}
    if kept:
        return kept
    probed = probes_of(job)
    good = split_runs(probed.probes[control]) if control in probed.probes else []
    reports: dict[str, Report] = {}
    for name, node in sorted(probed.nodes.items()):
        last = Report.objects.filter(node=node, kind=Kind.SWEEP).select_related("job", "baseline").first()
        if name == control or last is None:
            continue
        judged = _judged_before(last, node)
        ends = _confirmations(judged, probed.probes[name], good, node)
        reports[name] = _keep(job, node, judge.settle(judged, ends), last.baseline, Kind.CONFIRM)
    return reports


@transaction.atomic
def judge_cluster(*, cluster: Cluster, job: Job) -> ClusterReport:
    """The report of a `validate_cluster` job; a low one blames no node."""
    kept = ClusterReport.objects.filter(job=job).first()
    if kept is not None:
        return kept
    results = HostResult.objects.filter(job=job, attempt=job.attempt).order_by("node__name")
    probe = next((row.data["probe"] for row in results if row.data.get("probe")), None)
    members = Node.objects.filter(reservations__cluster=cluster, reservations__released_at=None)
    gpus = sum(node.sku.gpus_per_node for node in members.select_related("sku"))
    judged = judge.judge_collective(probe, _sku(cluster.sku.slug), gpus=gpus)
    report = ClusterReport.objects.create(
        cluster=cluster,
        job=job,
        verdict=judged.value.value,
        reasons=list(judged.reasons),
        busbw_gbps=judged.busbw_gbps,
        expected_gbps=judged.expected_gbps,
        runs=judged.runs,
        spread=judged.spread,
        correct=judged.correct,
    )
    payload = {
        "job": job.ref,
        "verdict": report.verdict,
        "reasons": report.reasons,
        "busbw_gbps": report.busbw_gbps,
    }
    record(events.VERDICT_GIVEN, subject=cluster.ref, payload=payload, by=None)
    return report


def probes_of(job: Job) -> Probed:
    """What the last attempt of a job brought home; nodes that sent nothing are left out."""
    rows = HostResult.objects.filter(job=job, attempt=job.attempt).select_related("node__sku", "node__rack")
    sent = [row for row in rows if row.data.get("probe")]
    return Probed(
        nodes={row.node.name: row.node for row in sent},
        probes={row.node.name: row.data["probe"] for row in sent},
    )


def _sweep(job: Job, probed: Probed, slug: str, baseline: Baseline) -> SweepReport:
    mine = {name: node for name, node in probed.nodes.items() if node.sku.slug == slug}
    return judge.judge_sweep(
        {name: probed.probes[name] for name in mine},
        known_skus().get(slug),
        expectations=_expectation(job),
        baseline_set=history.read(baseline),
        domains={name: node.rack.name for name, node in mine.items() if node.rack},
    )


def _judged_before(report: Report, node: Node) -> NodeReport:
    """The sweep of `report` judged again from its raw evidence: the same evidence and baseline give the same report."""
    again = _sweep(report.job, probes_of(report.job), node.sku.slug, report.baseline)
    return again.nodes[node.name]


def _confirmations(
    judged: NodeReport, rerun: object, control: list[object], node: Node
) -> list[Confirmation]:
    return [
        judge.judge_confirmation(
            suspicion,
            split_runs(rerun),
            control=control,
            gpu_count=node.sku.gpus_per_node,
            policy=steady_policy(),
        )
        for suspicion in judged.suspicions
        if suspicion.screened is Screened.SUSPECT
    ]


def _expectation(job: Job) -> Expectation:
    """What the order promised; a node on its way back to the pool has no mounts to show."""
    spec: dict[str, Any] = job.order.spec if job.order is not None else {}
    building = job.order is not None and job.order.kind in (OrderKind.BUILD, OrderKind.RESIZE)
    mounts = spec.get("storage_mounts", ()) if building else ()
    return Expectation(
        driver=str(spec.get("driver_version", "")) if building else "",
        mounts=tuple(
            ExpectedMount(path=mount["path"], source=mount["source"], fstype=mount["fstype"])
            for mount in mounts
        ),
    )


def _sku(slug: str) -> Sku:
    return known_skus()[slug]


def _keep(job: Job, node: Node, judged: NodeReport, baseline: Baseline, kind: Kind) -> Report:
    report = storing.store(job=job, node=node, judged=judged, baseline=baseline, kind=kind)
    note_verdict(
        node=node,
        verdict=VerdictValue(report.verdict),
        speed=report.speed,
        at=report.judged_at,
        facts=report.versions,
    )
    payload = {
        "job": job.ref,
        "verdict": report.verdict,
        "reasons": report.reasons[:5],
        "speed": report.speed,
    }
    record(events.VERDICT_GIVEN, subject=f"node:{node.name}", payload=payload, by=None)
    return report
