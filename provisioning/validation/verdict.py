"""What do all findings together make of a node: fit, degraded, unfit, or not measured?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from provisioning.contracts import VerdictValue
from provisioning.validation.finding import Finding, FindingLevel, Severity
from provisioning.validation.stragglers import Confirmation, Confirmed, Screened, SharedCause, Suspicion

NAMED = 3
"""Devices named one by one in a reason; of more, the first two and how many."""


@dataclass(frozen=True, kw_only=True)
class Waiver:
    """A person's decision to live with one finding: of a check, of one device or (`*`) of all. The reason is shown."""

    check_id: str
    reason: str
    device: str = "*"

    def covers(self, check_id: str, device: str) -> bool:
        return self.check_id == check_id and self.device in ("*", device)


@dataclass(frozen=True, kw_only=True)
class NodeVerdict:
    """`reasons` are plain words, the one that decided first. `required_missing` are checks that nobody measured."""

    value: VerdictValue
    reasons: tuple[str, ...]
    policy_version: str
    baseline_id: str
    provisional: bool
    required_missing: tuple[str, ...] = ()
    waived: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Case:
    """Everything a verdict is given from. `severities` tells what a failure of each check makes of the node."""

    findings: tuple[Finding, ...]
    severities: Mapping[str, Severity]
    required: frozenset[str]
    suspicions: tuple[Suspicion, ...] = ()
    confirmations: tuple[Confirmation, ...] = ()
    waivers: tuple[Waiver, ...] = ()
    shared: tuple[SharedCause, ...] = ()
    problems: tuple[str, ...] = field(default=())


@dataclass
class _Reasons:
    unfit: list[str]
    degraded: list[str]
    unknown: list[str]
    notes: list[str]
    waived: list[str]


def decide(case: Case, *, policy_version: str, baseline_id: str, provisional: bool) -> NodeVerdict:
    """Unfit before degraded before not measured before fit. A node is fit only if every required check measured.

    The same case gives the same verdict, and making any finding worse never makes the verdict better.
    """
    reasons = _Reasons([], [], [], [], [])
    held = {cause.check_id: cause for cause in case.shared if not cause.compared_within}
    _failures(case, held, reasons)
    missing = _missing(case, reasons)
    _slowness(case, reasons)
    reasons.notes.extend(cause.words for cause in case.shared if cause.compared_within)
    reasons.unknown.extend(case.problems)
    suspected = {one.metric for one in case.suspicions}
    warned = [
        one for one in case.findings if one.level is FindingLevel.WARN and one.check_id not in suspected
    ]
    reasons.notes.extend(_grouped(warned))
    return NodeVerdict(
        value=_value(reasons),
        reasons=_told(reasons),
        policy_version=policy_version,
        baseline_id=baseline_id,
        provisional=provisional,
        required_missing=tuple(missing),
        waived=_unique(reasons.waived),
    )


def _value(reasons: _Reasons) -> VerdictValue:
    if reasons.unfit:
        return VerdictValue.UNFIT
    if reasons.degraded:
        return VerdictValue.DEGRADED
    return VerdictValue.NOT_MEASURED if reasons.unknown else VerdictValue.FIT


def _told(reasons: _Reasons) -> tuple[str, ...]:
    found = _unique([*reasons.unfit, *reasons.degraded, *reasons.unknown, *reasons.notes])
    return found or ("every required check passed",)


def _unique(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(words))


def _waiver(case: Case, check_id: str, device: str) -> Waiver | None:
    return next((one for one in case.waivers if one.covers(check_id, device)), None)


def _failures(case: Case, held: Mapping[str, SharedCause], reasons: _Reasons) -> None:
    unfit: list[Finding] = []
    degraded: list[Finding] = []
    for found in case.findings:
        if found.level is not FindingLevel.FAIL:
            continue
        waiver = _waiver(case, found.check_id, found.device)
        if waiver is not None:
            reasons.waived.append(f"{found.message} (waived: {waiver.reason})")
        elif found.check_id in held:
            reasons.unknown.append(f"held, {held[found.check_id].words}")
        elif case.severities.get(found.check_id, Severity.UNFIT) is Severity.DEGRADED:
            degraded.append(found)
        else:
            unfit.append(found)
    reasons.unfit.extend(_grouped(unfit))
    reasons.degraded.extend(_grouped(degraded))


def _grouped(findings: Iterable[Finding]) -> list[str]:
    """Messages with one sentence for all devices that share it: "gpu:0, gpu:1 and 6 more: …"."""
    groups: dict[tuple[str, str], list[Finding]] = {}
    for found in findings:
        sentence = found.message.replace(found.device, "\0") if found.device else found.message
        groups.setdefault((found.check_id, sentence), []).append(found)
    return [_one_sentence(sentence, group) for (_, sentence), group in groups.items()]


def _one_sentence(sentence: str, group: list[Finding]) -> str:
    devices = [found.device for found in group]
    if len(devices) == 1:
        return group[0].message
    named = (
        ", ".join(devices)
        if len(devices) <= NAMED
        else f"{devices[0]}, {devices[1]} and {len(devices) - 2} more"
    )
    return sentence.replace("\0", named)


def _missing(case: Case, reasons: _Reasons) -> list[str]:
    """Required checks without an answer: no finding at all, or a device of which nothing is known."""
    missing: list[str] = []
    for check_id in sorted(case.required):
        about = [found for found in case.findings if found.check_id == check_id]
        unknown = [found for found in about if found.level is FindingLevel.NOT_MEASURED]
        open_ones = [found for found in unknown if _waiver(case, check_id, found.device) is None]
        if not about and _waiver(case, check_id, "*") is None:
            missing.append(check_id)
            reasons.unknown.append(f"{check_id} was not measured")
        elif open_ones:
            missing.append(check_id)
            reasons.unknown.extend(_grouped(open_ones))
        reasons.waived.extend(f"{found.message} (waived)" for found in unknown if found not in open_ones)
    return missing


def _slowness(case: Case, reasons: _Reasons) -> None:
    """A suspicion holds the verdict back until it is confirmed or cleared; confirmed, it degrades the node."""
    ends = {(one.suspicion.metric, one.suspicion.device): one for one in case.confirmations}
    for one in case.suspicions:
        waiver = _waiver(case, one.metric, one.device)
        end = ends.get((one.metric, one.device))
        if waiver is not None:
            reasons.waived.append(f"{one.words} (waived: {waiver.reason})")
        elif one.screened is Screened.GROSS:
            continue  # its finding has failed already
        elif end is None or end.state is Confirmed.RERUN:
            reasons.unknown.append(f"{one.words}: to be measured again before a verdict")
        elif end.state is Confirmed.CONFIRMED:
            reasons.degraded.append(end.words)
        else:
            reasons.notes.append(end.words)
