"""What do the vendor's own diagnostics say, do the drives hold, and did every tool that was asked answer?"""

from __future__ import annotations

from collections.abc import Iterator

from provisioning.validation.checks.registry import Check, Told, not_measured, passed, register, said
from provisioning.validation.expectation import Context
from provisioning.validation.finding import Finding, FindingLevel, Severity
from provisioning.validation.reading import Reading

FAIL, WARN, PASS = FindingLevel.FAIL, FindingLevel.WARN, FindingLevel.PASS
CONFIG_ERRORS = ("29",)
"""DCGM error ids that are settings (persistence mode); mapped by id, since the category of 29 says otherwise."""
CONFIG_TESTS = ("Persistence Mode", "Environment Variables")
SEVERITY_MONITOR, SEVERITY_CONFIG = "1", "5"


def dcgm_diag(context: Context) -> Iterator[Finding]:
    """A skipped test is not a passed one, and a pass with a warning did not measure what it should."""
    check = "dcgm_diag"
    tests = context.gathered.readings.measured("dcgm_test")
    if not tests:
        yield not_measured(check, f"the DCGM diagnostic did not run: {context.silence('dcgmi-diag')}")
        return
    findings = [_diag(one) for one in tests]
    yield from (found for found in findings if found.level is not PASS)
    if all(found.level is PASS for found in findings):
        yield passed(check, f"all {len(tests)} results of the DCGM diagnostic pass", *tests)


def _diag(test: Reading) -> Finding:
    name, word = test.told("test"), test.text or ""
    told = test.told("said")
    if word == "pass":
        if test.told("warnings") not in ("", "0"):
            message = f"{test.device}: {name} says pass and warns that it could not measure: {told}"
            return not_measured("dcgm_diag", message, test, device=test.device)
        return passed("dcgm_diag", f"{test.device}: {name} passes", test, device=test.device)
    if word in ("skip", "unknown"):
        return not_measured("dcgm_diag", f"{test.device}: {name} was {word}ped" if word == "skip"
                            else f"{test.device}: {name} gave no known result", test, device=test.device)  # fmt: skip
    level = FAIL if word == "fail" and not _is_setting(test) else WARN
    return said("dcgm_diag", level, f"{test.device}: {name} {word}s: {told or 'no reason told'}", test,
                device=test.device, observed=f"severity {test.told('severity') or 'unknown'}")  # fmt: skip


def _is_setting(test: Reading) -> bool:
    by_id = test.told("error_id") in CONFIG_ERRORS
    by_severity = test.told("severity") in (SEVERITY_CONFIG, SEVERITY_MONITOR)
    by_name = test.told("error_id") == "" and test.told("test") in CONFIG_TESTS
    return by_id or by_severity or by_name


def dcgm_health(context: Context) -> Iterator[Finding]:
    """DCGM called a host healthy whose GPU needed a reset: its Healthy is one word among several."""
    for one in context.gathered.readings.measured("dcgm_health"):
        level = {"Healthy": PASS, "Warning": WARN, "Failure": FAIL}.get(
            one.text or "", FindingLevel.NOT_MEASURED
        )
        yield said("dcgm_health", level, f"DCGM calls the host {one.text}", one, observed=one.text)


def tools(context: Context) -> Iterator[Finding]:
    """Tools that hang, can't start or answer nonsense are a sign of their own; one that is not installed is not."""
    findings = [
        said("tools", WARN, why, observed=name)
        for name, why in context.gathered.silent.items()
        if why != f"{name} is not installed"
    ]
    yield from findings
    if not findings:
        yield passed("tools", "every tool that was asked answered")


def drives(context: Context) -> Iterator[Finding]:
    """The drive's overall word passed a drive without any spare left, so the numbers decide."""
    readings = context.gathered.readings
    for device in readings.devices("disk_smart"):
        spare, least = readings.last("disk_spare", device), readings.last("disk_spare_threshold", device)
        word, errors = readings.last("disk_smart", device), readings.last("disk_media_errors", device)
        seen = [one for one in (spare, least, word, errors) if one is not None and one.measured]
        if spare is None or spare.number is None:
            yield not_measured("drives", f"{device} does not tell its spare", *seen, device=device)
        elif spare.number <= (least.number or 0.0 if least is not None else 0.0):
            message = f"{device}: {spare.number:g} % spare left"
            yield said("drives", FAIL, message, *seen, device=device, observed=spare.number)
        elif word is not None and word.text == "failed":
            yield said("drives", FAIL, f"{device} calls itself failed", word, device=device)
        elif errors is not None and errors.number:
            yield said("drives", WARN, f"{device}: {errors.number:g} media errors", errors, device=device)
        else:
            yield passed("drives", f"{device}: {spare.number:g} % spare left", *seen, device=device)


def hpl(context: Context) -> Iterator[Finding]:
    """A solution whose residual failed is wrong, however fast it was."""
    for one in context.gathered.readings.of("hpl_residual"):
        if one.text == "PASSED":
            yield passed("hpl", "HPL's residual passes", one)
        elif one.text == "FAILED":
            yield said(
                "hpl",
                FAIL,
                "HPL's residual fails: the solution is wrong",
                one,
                observed=one.text,
                expected="PASSED",
            )
        else:
            yield not_measured("hpl", "HPL told no residual", one)


register(Check(
    id="dcgm_diag", title="DCGM diagnostic", reads=("dcgm_test",), severity=Severity.UNFIT, rule=dcgm_diag,
    source="dcgmi diag -j; DCGM issues 55 and 284",
    told=Told(
        passes="every result passes without a warning", warns="a failure that is only a setting (severity 5 or 1, error 29), or Warn",
        fails="any other failure", not_measured="skipped, a pass with warnings, or no result",
    ),
))  # fmt: skip
register(Check(
    id="dcgm_health", title="DCGM health", reads=("dcgm_health",), severity=Severity.UNFIT, rule=dcgm_health,
    applies=lambda context: bool(context.gathered.readings.of("dcgm_health")), source="dcgmi health -c -j; DCGM issue 263",
    told=Told(passes="Healthy, which outweighs nothing", warns="Warning", fails="Failure", not_measured="another word; asked only where it ran"),
))  # fmt: skip
register(Check(
    id="tools", title="Tools that did not answer", reads=(), severity=Severity.DEGRADED, rule=tools,
    source="NVSentinel issue 1748: a tool that hangs is a signal",
    told=Told(passes="every tool answered or is not installed", warns="one timed out, could not start or printed nothing to measure",
              fails="never", not_measured="never"),
))  # fmt: skip
register(Check(
    id="drives", title="Drives", severity=Severity.DEGRADED, rule=drives,
    reads=("disk_smart", "disk_spare", "disk_spare_threshold", "disk_media_errors"),
    applies=lambda context: bool(context.gathered.readings.of("disk_smart")), source="smartctl -j",
    told=Told(passes="spare above its threshold", warns="media errors", fails="spare at or below its threshold, or failed",
              not_measured="no spare told; asked only where smartctl ran"),
))  # fmt: skip
register(Check(
    id="hpl", title="HPL residual", reads=("hpl_residual",), severity=Severity.UNFIT, rule=hpl,
    applies=lambda context: bool(context.gathered.readings.of("hpl_residual")), source="HPL's own residual test",
    told=Told(passes="PASSED", fails="FAILED in any solution", not_measured="no residual; asked only where HPL ran"),
))  # fmt: skip
