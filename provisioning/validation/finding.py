"""What does a check say of a device, how sure is it, and what did it look at?"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from provisioning.validation.reading import NODE, device_key


class FindingLevel(StrEnum):
    """`not_measured` is the third answer: it must never become either of the others."""

    PASS = "pass"  # noqa: S105 - a word
    WARN = "warn"
    FAIL = "fail"
    NOT_MEASURED = "not_measured"


class Severity(StrEnum):
    """What a failed check makes of its node."""

    UNFIT = "unfit"  # jobs on it fail or give wrong results
    DEGRADED = "degraded"  # jobs on it run, and are slow


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One answer of one check about one device. `evidence` are references such as `nvidia-smi-xml#1`."""

    check_id: str
    level: FindingLevel
    message: str
    device: str = NODE
    observed: str = ""
    expected: str = ""
    evidence: tuple[str, ...] = ()


def finding_key(finding: Finding) -> tuple[object, ...]:
    """A total order, so that the same findings always come in the same order."""
    return (
        finding.check_id,
        device_key(finding.device),
        finding.level.value,
        finding.message,
        finding.observed,
    )


_BADNESS = {
    FindingLevel.PASS: 0,
    FindingLevel.WARN: 1,
    FindingLevel.NOT_MEASURED: 2,
    FindingLevel.FAIL: 3,
}


def badness(level: FindingLevel) -> int:
    """Order for people: a failure first, then what is not known, then warnings."""
    return _BADNESS[level]
