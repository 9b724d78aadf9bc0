"""Is this node fit? From what it sent to a report, alone or with the scores of its peers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from provisioning.fleet.sku_data import Sku
from provisioning.validation.baselines import NO_BASELINES, BaselineSet, Reference, Stratum, reference
from provisioning.validation.checks import CHECKS, run_checks
from provisioning.validation.evidence import Probe, read_probe
from provisioning.validation.expectation import Context, Expectation
from provisioning.validation.finding import Finding, FindingLevel
from provisioning.validation.metrics import METRICS
from provisioning.validation.policy import DEFAULT_POLICY, PROFILES, Policy
from provisioning.validation.reading import ReadingSet
from provisioning.validation.readings import Gathered, gather
from provisioning.validation.report import NodeReport, Versions
from provisioning.validation.scores import Score, node_scores
from provisioning.validation.speed import node_speed
from provisioning.validation.stragglers import Suspicion, screen
from provisioning.validation.verdict import Case, Waiver, decide


@dataclass(frozen=True)
class Measured:
    """A node before it is compared with anything."""

    gathered: Gathered
    stratum: Stratum
    scores: Mapping[str, Score]

    @property
    def name(self) -> str:
        return self.gathered.probe.node


def judge_node(
    probe: object,
    sku: Sku | None,
    *,
    expectation: Expectation | None = None,
    baseline_set: BaselineSet | None = None,
    sweep_peers: Mapping[str, Sequence[float]] | None = None,
    waivers: Sequence[Waiver] = (),
    policy: Policy = DEFAULT_POLICY,
) -> NodeReport:
    """One node from its probe (the dict the node sent). `sweep_peers`: metric to the scores of other nodes.

    Never raises on what a node sent. An unknown SKU (None) is not validated, and says so.
    """
    wanted = expectation or Expectation()
    known = baseline_set or NO_BASELINES
    node = measure(read_probe(probe), sku, wanted, policy)
    if sku is None:
        return unknown_sku(node, policy, known)
    references = {}
    for metric in METRICS:
        peers = (sweep_peers or {}).get(metric, ())
        found = reference(metric, node.stratum, sku, baselines=known, peers=peers, policy=policy)
        if found is not None:
            references[metric] = found
    context = Context(node.gathered, sku, wanted, policy, references)
    return judge_measured(node, context, known, waivers=waivers)


def measure(probe: Probe, sku: Sku | None, wanted: Expectation, policy: Policy) -> Measured:
    """Read a probe and score it. The stratum says with whom the node may be compared."""
    gathered = gather(probe)
    count = wanted.gpu_count if wanted.gpu_count is not None else sku.gpu_count if sku is not None else 0
    gpus = tuple(f"gpu:{index}" for index in range(count))
    scored = node_scores(gathered.readings, gpus=gpus, policy=policy)
    versions = _versions(gathered.readings)
    slug = sku.slug if sku is not None else ""
    stratum = (slug, wanted.profile, versions.driver, versions.vbios, versions.kernel, wanted.cooling)
    found = {metric: one for metric, one in scored.items() if isinstance(one, Score)}
    return Measured(gathered, stratum, found)


def _versions(readings: ReadingSet) -> Versions:
    def word(metric: str) -> str:
        found = readings.last(metric)
        return found.text or "" if found is not None else ""

    vbios = sorted({one.text or "" for one in readings.measured("vbios")})
    return Versions(
        driver=word("driver_version"),
        cuda=word("cuda_version"),
        vbios="+".join(vbios),
        kernel=word("kernel_version"),
    )


def judge_measured(
    node: Measured,
    context: Context,
    known: BaselineSet,
    *,
    waivers: Sequence[Waiver],
) -> NodeReport:
    """Run every check and give the verdict."""
    findings = run_checks(context)
    references, policy = context.references, context.policy
    ratios = {
        metric: one.value / references[metric].basis
        for metric, one in node.scores.items()
        if metric in references
    }
    suspicions = _suspicions(node, context)
    return _assemble(
        node,
        Case(
            findings=findings,
            severities={check.id: check.severity for check in CHECKS.values()},
            required=_required(context),
            suspicions=suspicions,
            waivers=tuple(waivers),
            problems=_unreadable(node.gathered.probe),
        ),
        sku=context.sku.slug,
        references=references,
        ratios=ratios,
        policy=policy,
        known=known,
    )


def _suspicions(node: Measured, context: Context) -> tuple[Suspicion, ...]:
    found = (
        screen(node.name, one, context.references[metric], policy=context.policy)
        for metric, one in sorted(node.scores.items())
        if metric in context.references and CHECKS[metric].applies(context)
    )
    return tuple(one for one in found if one is not None)


def _required(context: Context) -> frozenset[str]:
    """What the profile asks for, as far as this SKU has it. An unknown profile asks for everything of a delivery."""
    asked = PROFILES.get(context.expectation.profile, PROFILES["delivery"])
    return frozenset(check_id for check_id in asked if CHECKS[check_id].applies(context))


def _unreadable(probe: Probe) -> tuple[str, ...]:
    if probe.evidence:
        return ()
    return (f"nothing can be judged: {probe.problems[0] if probe.problems else 'the probe is empty'}",)


def _assemble(
    node: Measured,
    case: Case,
    *,
    sku: str,
    references: Mapping[str, Reference],
    ratios: Mapping[str, float],
    policy: Policy,
    known: BaselineSet,
) -> NodeReport:
    probe = node.gathered.probe
    provisional = any(one.provisional for one in references.values()) or not references
    return NodeReport(
        node=probe.node,
        boot_id=probe.boot_id,
        taken_at=probe.taken_at,
        simulated=probe.simulated,
        sku=sku,
        stratum=node.stratum,
        versions=_versions(node.gathered.readings),
        readings=tuple(node.gathered.readings),
        scores=dict(node.scores),
        references=dict(references),
        ratios=dict(ratios),
        speed=node_speed(ratios),
        findings=case.findings,
        suspicions=case.suspicions,
        confirmations=(),
        problems=node.gathered.problems,
        case=case,
        verdict=decide(case, policy_version=policy.version, baseline_id=known.id, provisional=provisional),
    )


def decided(report: NodeReport) -> NodeReport:
    """The report with the verdict that follows from its case."""
    verdict = decide(
        report.case,
        policy_version=report.verdict.policy_version,
        baseline_id=report.verdict.baseline_id,
        provisional=report.verdict.provisional,
    )
    return replace(report, verdict=verdict)


def unknown_sku(node: Measured, policy: Policy, known: BaselineSet) -> NodeReport:
    """No data of a SKU means no check ran: that is said loudly, since it must never look like a pass."""
    message = "NOT VALIDATED: nothing is known of this node's SKU, so no check ran"
    finding = Finding(check_id="sku", level=FindingLevel.NOT_MEASURED, message=message)
    case = Case(findings=(finding,), severities={}, required=frozenset({"sku"}))
    bare = replace(node, scores={})
    return _assemble(bare, case, sku="", references={}, ratios={}, policy=policy, known=known)
