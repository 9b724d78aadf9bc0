"""How is a judgement written down? Report, findings and measurements, in one go."""

from __future__ import annotations

from dataclasses import asdict, replace
from datetime import datetime

from portal.kernel.clock import now
from provisioning.contracts import VerdictValue
from provisioning.fleet.models import Node
from provisioning.jobs.caps import storable, storable_value
from provisioning.jobs.models import Job
from provisioning.validation.finding import Finding as Found
from provisioning.validation.metrics import METRICS
from provisioning.validation.models import Baseline, Finding, Kind, Measurement, Report
from provisioning.validation.node_judge import decided
from provisioning.validation.report import NodeReport
from provisioning.validation.stragglers import Confirmed

LONGEST_DEVICE = 60
YEARS = range(2000, 2200)
"""A node that says another year has no clock worth believing."""


def store(*, job: Job, node: Node, judged: NodeReport, baseline: Baseline, kind: Kind) -> Report:
    """Write one node's judgement; the caller's transaction makes it whole.

    Words of the node are in it, so everything is made such that the database can hold it.
    """
    report = Report.objects.create(
        job=job,
        node=node,
        kind=kind,
        taken_at=_moment(judged.taken_at),
        verdict=judged.verdict.value.value,
        reasons=storable_value(judged.verdict.reasons),
        speed=judged.speed,
        scores=storable_value({metric: asdict(score) for metric, score in judged.scores.items()}),
        references={metric: asdict(against) for metric, against in judged.references.items()},
        ratios=dict(judged.ratios),
        suspected_of=list(judged.remeasure),
        verdict_aside=_aside(judged).value,
        slow=any(end.state is Confirmed.CONFIRMED for end in judged.confirmations),
        stratum=storable_value(judged.stratum),
        versions=storable_value(asdict(judged.versions)),
        simulated=judged.simulated,
        baseline=baseline,
        policy_version=judged.verdict.policy_version,
    )
    _store_findings(report, judged)
    _store_measurements(report, judged)
    return report


def _store_findings(report: Report, judged: NodeReport) -> None:
    Finding.objects.bulk_create(_finding(report, found) for found in judged.findings)


def _store_measurements(report: Report, judged: NodeReport) -> None:
    Measurement.objects.bulk_create(
        Measurement(
            report=report,
            metric=reading.metric,
            device=storable(reading.device)[:LONGEST_DEVICE],
            run=reading.run,
            value=reading.number,
            unit=reading.unit,
        )
        for reading in judged.readings
        if reading.metric in METRICS and reading.number is not None
    )


def _finding(report: Report, found: Found) -> Finding:
    return Finding(
        report=report,
        check_id=found.check_id,
        device=storable(found.device)[:LONGEST_DEVICE],
        level=found.level.value,
        message=storable(found.message),
        observed=storable(found.observed),
        expected=storable(found.expected),
        evidence=storable_value(found.evidence),
    )


def _aside(judged: NodeReport) -> VerdictValue:
    """The verdict if nothing that is still suspected were so."""
    if not judged.remeasure:
        return judged.verdict.value
    calm = replace(judged, suspicions=(), case=replace(judged.case, suspicions=()))
    return decided(calm).verdict.value


def _moment(text: str) -> datetime:
    """When the node says that it measured; its arrival here where it says nothing usable."""
    try:
        told = datetime.fromisoformat(text)
    except ValueError:
        return now()
    return told if told.tzinfo is not None and told.year in YEARS else now()
