"""What is a check, and what do all of them say of one node?"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from provisioning.validation.expectation import Context
from provisioning.validation.finding import Finding, FindingLevel, Severity, finding_key
from provisioning.validation.reading import NODE, Reading

Rule = Callable[[Context], Iterable[Finding]]


@dataclass(frozen=True, kw_only=True)
class Told:
    """The rule in words, for the reference page: what makes it pass, warn, fail, and count as not measured."""

    passes: str
    fails: str
    not_measured: str
    warns: str = ""


@dataclass(frozen=True, kw_only=True)
class Check:
    """One question about a node. `applies` is False where the SKU has no such thing; then it is not asked at all."""

    id: str
    title: str
    reads: tuple[str, ...]
    severity: Severity
    rule: Rule
    told: Told
    source: str
    applies: Callable[[Context], bool] = field(default=lambda context: True)


CHECKS: dict[str, Check] = {}
"""Every check by its id; filled when the topics are imported."""


def register(check: Check) -> Check:
    """Add a check. Two with one id are a programming error."""
    if check.id in CHECKS:
        raise ValueError(f"two checks are called {check.id}")
    CHECKS[check.id] = check
    return check


def run_checks(context: Context) -> tuple[Finding, ...]:
    """All findings of one node, in one order whatever order the evidence came in.

    A disabled check says so and counts as not measured: it must never read as a pass.
    """
    findings: list[Finding] = []
    for check in CHECKS.values():
        if not check.applies(context):
            continue
        if check.id in context.policy.disabled:
            findings.append(not_measured(check.id, "DISABLED by policy"))
            continue
        findings.extend(check.rule(context))
    return tuple(sorted(findings, key=finding_key))


def refs(readings: Iterable[Reading]) -> tuple[str, ...]:
    """The evidence behind some readings, each once."""
    return tuple(sorted({reading.ref for reading in readings}))


def said(  # noqa: D417
    check_id: str,
    level: FindingLevel,
    message: str,
    *readings: Reading,
    device: str = NODE,
    observed: object = "",
    expected: object = "",
) -> Finding:
    """A finding with its evidence."""
    return Finding(
        check_id=check_id,
        level=level,
        message=message,
        device=device,
        observed=show(observed),
        expected=show(expected),
        evidence=refs(readings),
    )


def passed(check_id: str, message: str, *readings: Reading, device: str = NODE) -> Finding:
    """It was looked at, and it is well."""
    return said(check_id, FindingLevel.PASS, message, *readings, device=device)


def not_measured(check_id: str, message: str, *readings: Reading, device: str = NODE) -> Finding:
    """Nobody knows. Never a pass, never a fault."""
    return said(check_id, FindingLevel.NOT_MEASURED, message, *readings, device=device)


def show(value: object) -> str:
    """Numbers as people write them: 8, 26.562, 0.94."""
    return f"{value:.6g}" if isinstance(value, float) else str(value)
