"""Does the node compute, copy and communicate as fast as a healthy one?"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from provisioning.validation.checks.registry import Check, Told, not_measured, passed, register, said
from provisioning.validation.expectation import Context
from provisioning.validation.finding import Finding, FindingLevel, Severity
from provisioning.validation.metrics import METRICS, MetricRule
from provisioning.validation.scores import Unscored, score
from provisioning.validation.stragglers import Screened, screen

FAIL, WARN = FindingLevel.FAIL, FindingLevel.WARN


def _speed(rule: MetricRule) -> Callable[[Context], Iterator[Finding]]:
    def check(context: Context) -> Iterator[Finding]:
        readings = context.gathered.readings
        found = score(readings, rule, gpus=context.gpus, policy=context.policy)
        seen = readings.of(rule.metric)
        if isinstance(found, Unscored):
            silence = f": {context.silence(rule.evidence)}" if not seen else ""
            for device, why in found.reasons:
                yield not_measured(
                    rule.metric, f"{device}: {rule.title} {why}{silence}", *seen, device=device
                )
            return
        against = context.references.get(rule.metric)
        if against is None:
            message = f"{rule.title} {found.value:.4g} {rule.unit}: nothing to compare it with yet"
            yield said(rule.metric, WARN, message, *seen, device=found.device, observed=found.value)
            return
        suspicion = screen(context.gathered.probe.node, found, against, policy=context.policy)
        expected = f"{against.value:.5g} {rule.unit} ({against.origin}), at most {against.cut:.1%} below"
        observed = f"{found.value:.5g} {rule.unit}"
        if suspicion is None:
            message = f"{rule.title} {observed} on the slowest device ({found.device})"
            yield said(rule.metric, FindingLevel.PASS, message, *seen, device=found.device,
                       observed=observed, expected=expected)  # fmt: skip
        else:
            gross = suspicion.screened is Screened.GROSS
            message = suspicion.words if gross else f"{suspicion.words}: to be measured again"
            yield said(rule.metric, FAIL if gross else WARN, message, *seen, device=found.device,
                       observed=observed, expected=expected)  # fmt: skip

    return check


def nccl_correct(context: Context) -> Iterator[Finding]:
    """A collective that returns wrong values is worse than a slow one; a run without checking tested nothing."""
    check = "nccl_correct"
    readings = context.gathered.readings
    found = readings.of("nccl_busbw_wrong")
    ranks = [one for one in readings.measured("nccl_busbw_ranks") if one.number != context.gpu_count]
    checked = [one for one in found if one.number is not None]
    wrong = [one for one in checked if one.number]
    for one in wrong:
        yield said(
            check,
            FAIL,
            f"the all-reduce returned {one.number:g} wrong values",
            one,
            observed=one.number,
            expected=0,
        )
    if not checked:
        why = found[0].told("said") if found else context.silence("nccl-all-reduce")
        yield not_measured(check, f"the all-reduce's results were not checked: {why}", *found)
    elif ranks:
        message = f"the all-reduce ran on {ranks[0].number:g} of {context.gpu_count} GPUs"
        yield not_measured(check, message, *ranks)
    elif not wrong:
        yield passed(check, "the all-reduce's results are right", *checked)


def _collective_ran(context: Context) -> bool:
    """Asked of SKUs that have a figure for it, and of every node that ran one."""
    return _has_collective(context) or bool(context.gathered.readings.of("nccl_busbw_wrong"))


def _peers_linked(context: Context) -> bool:
    return context.gpu_count > 1 and "p2p_bw" in context.sku.expected


def _has_collective(context: Context) -> bool:
    return context.gpu_count > 1 and "nccl_busbw" in context.sku.expected


_APPLIES: dict[str, Callable[[Context], bool]] = {"p2p_bw": _peers_linked, "nccl_busbw": _has_collective}

for _rule in METRICS.values():
    register(Check(
        id=_rule.metric, title=_rule.title[0].upper() + _rule.title[1:], reads=(_rule.metric,), severity=Severity.DEGRADED,
        rule=_speed(_rule), applies=_APPLIES.get(_rule.metric, lambda context: True),
        source="fleet baseline of the same SKU and versions; before that the peers of the sweep, before that the SKU's figure",
        told=Told(
            passes="the slowest device is at most max(3 %, 3 scales) below the reference (5 % where it is the SKU's) and above the published limit",
            warns="below that: suspected, measured again before a verdict; or nothing to compare with",
            fails="25 % or more below the reference",
            not_measured="a device did not measure, fewer than 3 repeats, or repeats that spread by more than 2 %",
        ),
    ))  # fmt: skip
register(Check(
    id="nccl_correct", title="All-reduce right", reads=("nccl_busbw_wrong", "nccl_busbw_ranks"), severity=Severity.UNFIT,
    rule=nccl_correct, applies=_collective_ran, source="nccl-tests #wrong column",
    told=Told(
        passes="0 wrong values on all GPUs", fails="any wrong value, at whatever speed",
        not_measured="results not checked (-c 0), a run on fewer GPUs, or no run",
    ),
))  # fmt: skip
