"""Which of these nodes hold the others back, and what is wrong with so many at once that it is not the nodes?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import median

from provisioning.contracts import VerdictValue
from provisioning.fleet.sku_data import Sku
from provisioning.validation.baselines import NO_BASELINES, BaselineSet, Reference, Stratum, reference
from provisioning.validation.evidence import read_probe
from provisioning.validation.expectation import Context, Expectation
from provisioning.validation.finding import FindingLevel
from provisioning.validation.metrics import METRICS
from provisioning.validation.node_judge import Measured, decided, judge_measured, measure, unknown_sku
from provisioning.validation.policy import DEFAULT_POLICY, Policy
from provisioning.validation.report import NodeReport, SweepReport
from provisioning.validation.scores import Score
from provisioning.validation.speed import cluster_speed
from provisioning.validation.stragglers import SharedCause, screen, shared_causes
from provisioning.validation.verdict import Waiver

References = dict[str, dict[str, Reference]]
CROWD = 64
"""Up to here a node is compared with the others without itself: among four, a slow node would pull the middle towards
itself. In a larger crowd one node moves nothing, and all share one reference."""
_ORDER = (VerdictValue.UNFIT, VerdictValue.DEGRADED, VerdictValue.NOT_MEASURED, VerdictValue.FIT)


def judge_sweep(
    probes: Mapping[str, object],
    sku: Sku | None,
    *,
    expectations: Mapping[str, Expectation] | Expectation | None = None,
    baseline_set: BaselineSet | None = None,
    domains: Mapping[str, str] | None = None,
    waivers: Mapping[str, Sequence[Waiver]] | None = None,
    policy: Policy = DEFAULT_POLICY,
) -> SweepReport:
    """Nodes of one SKU measured in one window, judged among each other.

    `probes`: node name to what it sent; `domains`: node to its rack (or other shared domain), for the guard that many
    bad nodes at once are one cause. The order of nodes never matters.
    """
    known = baseline_set or NO_BASELINES
    wanted = {node: _expectation_of(node, expectations) for node in sorted(probes)}
    measured = {
        node: measure(replace(read_probe(probes[node]), node=node), sku, told, policy)
        for node, told in wanted.items()
    }
    if sku is None:
        lone = {node: unknown_sku(one, policy, known) for node, one in measured.items()}
        return _sweep("", lone, (), policy, known)
    cohorts = _cohorts(measured, domains or {})
    references, slow = _references(measured, sku, cohorts, known, policy)
    reports = {
        node: judge_measured(
            one,
            Context(one.gathered, sku, wanted[node], policy, references[node]),
            known,
            waivers=(waivers or {}).get(node, ()),
        )
        for node, one in measured.items()
    }
    shared = (*slow, *_shared_failures(reports, cohorts, policy))
    judged = {node: _with_shared(one, shared) for node, one in reports.items()}
    return _sweep(sku.slug, judged, shared, policy, known)


def _expectation_of(node: str, told: Mapping[str, Expectation] | Expectation | None) -> Expectation:
    if isinstance(told, Expectation):
        return told
    return (told or {}).get(node, Expectation())


def _cohorts(measured: Mapping[str, Measured], domains: Mapping[str, str]) -> dict[str, list[str]]:
    """Nodes by what they share: versions, and rack."""
    cohorts: dict[str, list[str]] = {}
    for node, one in measured.items():
        versions = ", ".join(part for part in one.stratum[2:5] if part) or "unknown versions"
        cohorts.setdefault(f"versions {versions}", []).append(node)
        if domains.get(node):
            cohorts.setdefault(f"rack {domains[node]}", []).append(node)
    return cohorts


def _references(
    measured: Mapping[str, Measured],
    sku: Sku,
    cohorts: Mapping[str, Sequence[str]],
    known: BaselineSet,
    policy: Policy,
) -> tuple[References, tuple[SharedCause, ...]]:
    """What every node is compared with, and the causes that slow many nodes at once.

    Nodes that are slow together are then compared among themselves, so that one bad node in a slow rack is still found.
    """
    references: References = {node: {} for node in measured}
    causes: list[SharedCause] = []
    for metric in sorted(METRICS):
        scores = {node: one.scores[metric] for node, one in measured.items() if metric in one.scores}
        _set_references(references, metric, measured, scores, sku, known, policy)
        slow = [node for node in scores if _is_slow(node, scores[node], references[node].get(metric), policy)]
        members = {name: [node for node in nodes if node in scores] for name, nodes in cohorts.items()}
        shared = shared_causes({metric: slow}, members, compared_within=True, policy=policy)
        causes.extend(shared)
        for cause in sorted(
            shared, key=lambda one: -one.cohort_size
        ):  # the smallest cohort has the last word
            values = {node: scores[node].value for node in cause.nodes}
            _compare_within(references, cause, values, sku, policy)
    return references, tuple(causes)


def _set_references(
    references: References,
    metric: str,
    measured: Mapping[str, Measured],
    scores: Mapping[str, Score],
    sku: Sku,
    known: BaselineSet,
    policy: Policy,
) -> None:
    """Peers are the other nodes of the same versions; where those are too few, of the whole sweep."""
    same: dict[Stratum, dict[str, float]] = {}
    for node, one in scores.items():
        same.setdefault(measured[node].stratum, {})[node] = one.value
    everyone = {node: one.value for node, one in scores.items()}
    crowds: dict[Stratum, Reference | None] = {}
    for node, told in measured.items():
        mine = same.get(told.stratum, {})
        group = mine if len(mine) > policy.min_peers else everyone
        if told.stratum in crowds and len(group) > CROWD:
            found = crowds[told.stratum]
        else:
            peers = list(group.values()) if len(group) > CROWD else _others(group, node)
            found = reference(metric, told.stratum, sku, baselines=known, peers=peers, policy=policy)
            if found is not None and found.origin == "peers":
                found = replace(found, base=median(group.values()))
            crowds[told.stratum] = found
        if found is not None:
            references[node][metric] = found


def _others(group: Mapping[str, float], node: str) -> list[float]:
    return [value for name, value in group.items() if name != node]


def _is_slow(node: str, scored: Score, against: Reference | None, policy: Policy) -> bool:
    return against is not None and screen(node, scored, against, policy=policy) is not None


def _compare_within(
    references: References, cause: SharedCause, values: Mapping[str, float], sku: Sku, policy: Policy
) -> None:
    """Among nodes that are slow together the published limit can't tell them apart either, so it is left out."""
    metric = cause.check_id
    for node in cause.nodes:
        peers = _others(values, node) if len(values) <= CROWD else list(values.values())
        within = reference(metric, (), sku, baselines=NO_BASELINES, peers=peers, policy=policy)
        if within is not None:
            basis = references[node][metric].basis  # being slow together is still being slow
            references[node][metric] = replace(within, pass_line=None, base=basis)


def _shared_failures(
    reports: Mapping[str, NodeReport], cohorts: Mapping[str, Sequence[str]], policy: Policy
) -> tuple[SharedCause, ...]:
    """The same guard for every failing check, so that a broken check holds the nodes and blames none."""
    failing: dict[str, set[str]] = {}
    for node, report in reports.items():
        for found in report.findings:
            if found.level is FindingLevel.FAIL:
                failing.setdefault(found.check_id, set()).add(node)
    return shared_causes(failing, cohorts, policy=policy)


def _with_shared(report: NodeReport, shared: Sequence[SharedCause]) -> NodeReport:
    mine = tuple(cause for cause in shared if report.node in cause.nodes)
    if not mine:
        return report
    return decided(replace(report, case=replace(report.case, shared=mine)))


def _sweep(
    slug: str,
    nodes: Mapping[str, NodeReport],
    shared: tuple[SharedCause, ...],
    policy: Policy,
    known: BaselineSet,
) -> SweepReport:
    ratios = {node: report.ratios for node, report in nodes.items()}
    gpus = sum(_gpus(report) for report in nodes.values())
    value, reasons = _sweep_value(nodes)
    return SweepReport(
        sku=slug,
        nodes=dict(nodes),
        suspicions=tuple(one for report in nodes.values() for one in report.suspicions),
        shared=shared,
        speed=cluster_speed(ratios, gpus=gpus),
        value=value,
        reasons=(*(cause.words for cause in shared), *reasons),
        policy_version=policy.version,
        baseline_id=known.id,
    )


def _gpus(report: NodeReport) -> int:
    """GPUs that measured: what a day of waiting costs is counted in those that are there."""
    return max((len(one.by_device) for one in report.scores.values()), default=0)


def _sweep_value(nodes: Mapping[str, NodeReport]) -> tuple[VerdictValue, tuple[str, ...]]:
    """A cluster is what its worst node is. A sweep of no node measured nothing."""
    values = {report.verdict.value for report in nodes.values()}
    worst = next((value for value in _ORDER if value in values), VerdictValue.NOT_MEASURED)
    reasons = tuple(
        f"{node}: {report.verdict.reasons[0]}"
        for node, report in sorted(nodes.items())
        if report.verdict.value is not VerdictValue.FIT
    )
    return worst, reasons
