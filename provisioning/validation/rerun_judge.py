"""Is a suspected node still slow when it is measured again, and what is its verdict then?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from provisioning.validation.evidence import read_probe
from provisioning.validation.finding import Finding, FindingLevel
from provisioning.validation.metrics import METRICS
from provisioning.validation.node_judge import decided
from provisioning.validation.policy import DEFAULT_POLICY, Policy
from provisioning.validation.readings import gather
from provisioning.validation.report import NodeReport
from provisioning.validation.scores import Score, score
from provisioning.validation.stragglers import Confirmation, Confirmed, Suspicion, confirm

_LEVELS = {
    Confirmed.CONFIRMED: FindingLevel.FAIL,
    Confirmed.CLEARED: FindingLevel.PASS,
    Confirmed.SHARED_CAUSE: FindingLevel.WARN,
}
"""What the finding of a suspicion becomes when it has ended; one that has not stays a warning."""


def judge_confirmation(
    suspicion: Suspicion,
    reruns: Sequence[object],
    *,
    control: Sequence[object] = (),
    gpu_count: int,
    policy: Policy = DEFAULT_POLICY,
) -> Confirmation:
    """Judge reruns (probes of the same node, oldest first) of one suspicion; `control` are probes of a good node.

    A rerun that did not measure counts for nothing: the state stays `rerun` until two of three agree.
    """
    values = [_rescore(probe, suspicion.metric, gpu_count, policy) for probe in reruns]
    good = [_rescore(probe, suspicion.metric, gpu_count, policy) for probe in control]
    return confirm(suspicion, values, control=[one for one in good if one is not None], policy=policy)


def settle(report: NodeReport, confirmations: Sequence[Confirmation]) -> NodeReport:
    """The report with the ends of its suspicions, and the verdict that follows.

    The findings say how each suspicion ended; the case keeps them as they were, since it holds the ends themselves.
    """
    ordered = tuple(sorted(confirmations, key=lambda one: (one.suspicion.metric, one.suspicion.device)))
    ended = {(one.suspicion.metric, one.suspicion.device): one for one in ordered if one.state in _LEVELS}
    findings = tuple(_ended(found, ended.get((found.check_id, found.device))) for found in report.findings)
    case = replace(report.case, confirmations=ordered)
    return decided(replace(report, findings=findings, confirmations=ordered, case=case))


def _ended(found: Finding, end: Confirmation | None) -> Finding:
    return found if end is None else replace(found, level=_LEVELS[end.state], message=end.words)


def _rescore(probe: object, metric: str, gpu_count: int, policy: Policy) -> float | None:
    gpus = tuple(f"gpu:{index}" for index in range(gpu_count))
    found = score(gather(read_probe(probe)).readings, METRICS[metric], gpus=gpus, policy=policy)
    return found.value if isinstance(found, Score) else None
