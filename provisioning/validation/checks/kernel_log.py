"""What did the GPUs and their switches report to the kernel since the boot?"""

from __future__ import annotations

from collections.abc import Iterator

from provisioning.validation.checks.registry import Check, Told, not_measured, passed, register, said
from provisioning.validation.expectation import Context
from provisioning.validation.finding import Finding, FindingLevel, Severity
from provisioning.validation.reading import Reading
from provisioning.validation.xid_catalogue import XidClass, xid_catalogue

FAIL, WARN, PASS = FindingLevel.FAIL, FindingLevel.WARN, FindingLevel.PASS


def xid(context: Context) -> Iterator[Finding]:
    """Every Xid since the boot, by what NVIDIA's catalogue asks for."""
    check = "xid"
    readings = context.gathered.readings
    log = readings.last("kernel_log_lines")
    if log is None:
        yield not_measured(check, f"the kernel log was not read: {context.silence('kernel-log')}")
        return
    events = readings.measured("xid")
    codes = {one.number for one in events}
    findings = [_xid(one, alone=len(codes) == 1) for one in events]
    yield from findings
    if any(found.level is not PASS for found in findings):
        return
    if log.told("reaches_boot") == "yes":
        yield passed(check, "no Xid since the boot that asks for anything", log)
    else:
        yield said(check, WARN, "no Xid in the kernel log, which no longer reaches back to the boot", log)


def _xid(event: Reading, *, alone: bool) -> Finding:
    code = int(event.number or 0)
    fatality, recovery = event.told("fatality"), event.told("recovery")
    judged: XidClass = xid_catalogue().judge(code, fatality=fatality, recovery=recovery, alone=alone)
    times = f"{event.told('count')} times" if event.told("count") not in ("", "1") else "once"
    where = f" at {event.told('address')}" if event.told("address") else ""
    kind = f"{judged.name.replace('_', ' ')}{', ' + fatality if fatality else ''}"
    message = f"{event.device}{where}: Xid {code} {times} ({kind}): {event.told('said') or 'no text'}"
    return said(
        "xid", judged.level, message, event, device=event.device, observed=code, expected=judged.action
    )


def sxid(context: Context) -> Iterator[Finding]:
    """Errors of the NVSwitches: a fatal one holds the whole domain."""
    for one in context.gathered.readings.measured("sxid"):
        fatality = one.told("fatality")
        level = FAIL if "nonfatal" not in fatality and "fatal" in fatality else WARN
        message = f"NVSwitch {one.device}: SXid {one.number:g} ({fatality or 'no fatality told'}): {one.told('said')}"
        yield said("sxid", level, message, one, device=one.device, observed=one.number)


def _has_sxid(context: Context) -> bool:
    return bool(context.gathered.readings.of("sxid"))


register(Check(
    id="xid", title="GPU errors in the kernel log", reads=("xid", "kernel_log_lines"), severity=Severity.UNFIT, rule=xid,
    source="provisioning/validation/xid_catalogue.yaml (NVIDIA catalogue of 2025-10-29)",
    told=Told(
        passes="the log reaches back to the boot and has no Xid that asks for anything",
        warns="application errors, memory trend, non-fatal NVLink errors, or a log that does not reach back to the boot",
        fails="an Xid since the boot that asks for a reset, a reboot, a person or the vendor, and any unknown code",
        not_measured="the log is empty or was not read",
    ),
))  # fmt: skip
register(Check(
    id="sxid", title="NVSwitch errors", reads=("sxid",), severity=Severity.UNFIT, rule=sxid, applies=_has_sxid,
    source="NVIDIA fabric manager guide: fatal affects the partition, always fatal the fabric",
    told=Told(passes="not asked where none was logged", warns="non-fatal, or no word on it", fails="fatal or always fatal",
              not_measured="see xid: the same log"),
))  # fmt: skip
