"""How is a report told to people? Its verdict in words, metrics as rows, findings grouped by what they say."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.urls import reverse

from provisioning.contracts import VerdictValue
from provisioning.validation.checks import CHECKS
from provisioning.validation.evidence import Evidence, Outcome
from provisioning.validation.finding import FindingLevel, badness
from provisioning.validation.metrics import METRICS
from provisioning.validation.models import Finding, Kind, Report
from provisioning.validation.reading import NODE, device_key
from provisioning.validation.shown import visible

_VERDICTS = {
    VerdictValue.FIT: "Fit: everything that must be checked was measured, and passed.",
    VerdictValue.DEGRADED: "Degraded: work runs on it, and runs slower than it should.",
    VerdictValue.UNFIT: "Unfit: work on it would fail or give wrong results.",
    VerdictValue.NOT_MEASURED: "Not measured: nobody knows yet whether it is fit, so it isn't called fit.",
}
_LEVELS = (
    (FindingLevel.FAIL, "Failed"),
    (FindingLevel.WARN, "Warnings"),
    (FindingLevel.NOT_MEASURED, "Not measured"),
    (FindingLevel.PASS, "Passed"),
)

_OUTCOMES = {
    Outcome.MISSING: "not installed",
    Outcome.TIMED_OUT: "did not answer in time",
    Outcome.FAILED_TO_START: "could not be started",
    Outcome.UNREADABLE: "unreadable",
}
_LINKABLE = re.compile(r"[a-zA-Z0-9_-]{1,80}")
NAMED = 3
"""Devices named one by one; of more, the first and how many."""


@dataclass(frozen=True, kw_only=True)
class EvidenceRow:
    """One run of one tool. `url` leads to its output, empty where there can be none."""

    ref: str
    url: str
    command: str
    outcome: str
    tone: str
    seconds: float | None


@dataclass(frozen=True, kw_only=True)
class MetricRow:
    """One metric of a report. `value` is that of the worst GPU, None where it was not measured; then `why` says why.

    `limit` is where the reference's cut lies; `ratio` is value/basis of the reference, None where there is none.
    """

    metric: str
    title: str
    unit: str
    state: str
    value: float | None = None
    device: str = ""
    spread: float | None = None
    runs: int = 0
    by_device: tuple[tuple[str, float], ...] = ()
    reference: float | None = None
    cut: float | None = None
    limit: float | None = None
    origin: str = ""
    origin_words: str = ""
    provisional: bool = False
    ratio: float | None = None
    why: str = ""


@dataclass(frozen=True, kw_only=True)
class FindingRow:
    """What a check says, once for all devices of which it says the same. `evidence` are references and addresses."""

    check_id: str
    title: str
    level: str
    message: str
    devices: str
    observed: str
    expected: str
    evidence: tuple[tuple[str, str], ...]


@dataclass(frozen=True, kw_only=True)
class LevelGroup:
    """All findings of one level. `count` counts answers about devices, `rows` are what they say."""

    level: str
    title: str
    count: int
    rows: tuple[FindingRow, ...] = field(default=())


def verdict_words(verdict: str) -> str:
    """What a verdict means, in one sentence."""
    return _VERDICTS[VerdictValue(verdict)]


def kind_words(report: Report) -> str:
    """Why the node was measured."""
    return "measured again" if report.kind == Kind.CONFIRM else "whole sweep"


def evidence_rows(report: Report, evidence: Iterable[Evidence]) -> tuple[EvidenceRow, ...]:
    """What a report's job brought home, in the order of the tools."""
    return tuple(_evidence_row(report, one) for one in evidence)


def _evidence_row(report: Report, one: Evidence) -> EvidenceRow:
    ran = one.outcome is Outcome.RAN
    words = _OUTCOMES.get(one.outcome, f"exit status {one.rc}" if one.rc else "ran")
    url = ""
    if _LINKABLE.fullmatch(one.id):
        url = reverse("validation:evidence", args=[report.node.name, report.pk, one.id])
        url += f"?run={one.run}"
    return EvidenceRow(
        ref=visible(f"{one.id}#{one.run}"),
        url=url,
        command=visible(" ".join(one.command)),
        outcome=words,
        tone=("warn" if one.rc else "ok") if ran else "unknown",
        seconds=one.seconds,
    )


def groups_of(findings: Iterable[Finding], evidence: Iterable[EvidenceRow]) -> tuple[LevelGroup, ...]:
    """Findings by level, the worst first; every level is there, an empty one with no rows."""
    urls = {row.ref: row.url for row in evidence}
    rows: dict[str, dict[tuple[str, ...], list[Finding]]] = {level: {} for level, _ in _LEVELS}
    for found in findings:
        rows[found.level].setdefault(_sameness(found), []).append(found)
    return tuple(
        LevelGroup(
            level=level.value,
            title=title,
            count=sum(len(group) for group in rows[level].values()),
            rows=tuple(_row(group, urls) for group in rows[level].values()),
        )
        for level, title in _LEVELS
    )


def _sameness(found: Finding) -> tuple[str, ...]:
    sentence = found.message.replace(found.device, "\0") if found.device else found.message
    return (found.check_id, sentence, found.observed, found.expected)


def _row(group: Sequence[Finding], urls: Mapping[str, str]) -> FindingRow:
    first = group[0]
    devices = sorted({found.device for found in group}, key=device_key)
    some = ", ".join(devices) if len(devices) <= NAMED else f"{devices[0]} and {len(devices) - 1} more"
    message = first.message.replace(first.device, some) if len(devices) > 1 else first.message
    refs = sorted({visible(ref) for found in group for ref in found.evidence})
    return FindingRow(
        check_id=first.check_id,
        title=title_of(first.check_id),
        level=first.level,
        message=visible(message),
        devices="the node" if devices == [NODE] else visible(some),
        observed=visible(first.observed),
        expected=visible(first.expected),
        evidence=tuple((ref, urls.get(ref, "")) for ref in refs),
    )


def title_of(check_id: str) -> str:
    """The name of a check; its id where the check is gone since."""
    return CHECKS[check_id].title if check_id in CHECKS else check_id


def metric_rows(report: Report, findings: Sequence[Finding]) -> tuple[MetricRow, ...]:
    """Every metric that the node's SKU has, measured or not; one it can't have is left out."""
    told: dict[str, list[Finding]] = {metric: [] for metric in METRICS}
    for found in findings:
        if found.check_id in told:
            told[found.check_id].append(found)
    return tuple(
        _metric_row(report, metric, told[metric])
        for metric in METRICS
        if told[metric] or metric in report.scores
    )


def _metric_row(report: Report, metric: str, findings: Sequence[Finding]) -> MetricRow:
    rule = METRICS[metric]
    score = report.scores.get(metric)
    worst = max(
        (FindingLevel(found.level) for found in findings), key=badness, default=FindingLevel.NOT_MEASURED
    )
    if score is None:
        why = _why(findings)
        return MetricRow(metric=metric, title=rule.title, unit=rule.unit, state=worst.value, why=why)
    against = report.references.get(metric)
    return MetricRow(
        metric=metric,
        title=rule.title,
        unit=rule.unit,
        state=worst.value,
        value=score["value"],
        device=visible(score["device"]),
        spread=score["spread"],
        runs=score["runs"],
        by_device=tuple((visible(device), value) for device, value in score["by_device"]),
        ratio=report.ratios.get(metric),
        **(_compared(against) if against is not None else {}),
    )


def _why(findings: Sequence[Finding]) -> str:
    """Why a metric has no value: the sentence of the most devices."""
    silent: dict[tuple[str, ...], list[Finding]] = {}
    for found in findings:
        if found.level == FindingLevel.NOT_MEASURED:
            silent.setdefault(_sameness(found), []).append(found)
    most = max(silent.values(), key=len, default=None)
    return "was not measured" if most is None else _row(most, {}).message


def _compared(against: dict[str, Any]) -> dict[str, Any]:
    nodes = against["nodes"]
    words = {
        "fleet": f"the fleet's baseline, from {nodes} healthy nodes",
        "peers": f"{nodes} other nodes of the same sweep",
        "sku": "the SKU's published figure, until the fleet has its own",
    }
    by_cut = against["value"] * (1 - against["cut"])
    line = against["pass_line"]
    return {
        "reference": against["value"],
        "cut": against["cut"],
        "limit": by_cut if line is None else max(by_cut, line),
        "origin": against["origin"],
        "origin_words": words[against["origin"]],
        "provisional": against["provisional"],
    }


def binding(report: Report, rows: Sequence[MetricRow]) -> MetricRow | None:
    """The metric to look at first: the one that sets the speed, else the first that was measured."""
    measured = [row for row in rows if row.value is not None]
    first = slowest_metric(report.ratios)
    return next((row for row in measured if row.metric == first), measured[0] if measured else None)


def slowest_metric(ratios: Mapping[str, float]) -> str | None:
    """The metric that sets a node's speed: the lowest share among those that bound synchronised work."""
    bound = [
        (ratio, metric)
        for metric, ratio in ratios.items()
        if metric in METRICS and METRICS[metric].bounds_work
    ]
    return min(bound)[1] if bound else None
