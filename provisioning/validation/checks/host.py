"""Is the host around the GPUs in order: mounts, clock, heat?"""

from __future__ import annotations

from collections.abc import Iterator

from provisioning.validation.checks.registry import Check, Told, not_measured, passed, register, said
from provisioning.validation.expectation import Context, ExpectedMount
from provisioning.validation.finding import Finding, FindingLevel, Severity
from provisioning.validation.reading import Reading, ReadingSet, ReadingState

FAIL, WARN, PASS = FindingLevel.FAIL, FindingLevel.WARN, FindingLevel.PASS


def mounts(context: Context) -> Iterator[Finding]:
    """Every promised file system is mounted, from its source, writable."""
    check, wanted = "mounts", context.expectation.mounts
    listed = context.gathered.readings.last("mounts_listed")
    if not wanted:
        yield passed(check, "no mount was promised", *([listed] if listed is not None else []))
        return
    if listed is None:
        yield not_measured(check, f"mounts are not known: {context.silence('mounts')}")
        return
    for one in wanted:
        yield _mount(context.gathered.readings, one, listed)


def _mount(readings: ReadingSet, wanted: ExpectedMount, listed: Reading) -> Finding:
    device = f"mount:{wanted.path}"
    found = readings.last("mount_source", device)
    if found is None:
        return said(
            "mounts", FAIL, f"{wanted.path} is not mounted", listed, device=device, expected=wanted.source
        )
    if wanted.source and found.text != wanted.source:
        return said("mounts", FAIL, f"{wanted.path} is mounted from {found.text} instead of {wanted.source}", found,
                    device=device, observed=found.text, expected=wanted.source)  # fmt: skip
    fstype = found.told("fstype")
    if wanted.fstype and fstype != wanted.fstype and not fstype.startswith(wanted.fstype):
        return said("mounts", FAIL, f"{wanted.path} is {fstype} instead of {wanted.fstype}", found,
                    device=device, observed=fstype, expected=wanted.fstype)  # fmt: skip
    if wanted.read_write and "ro" in found.told("options").split(","):
        return said(
            "mounts", FAIL, f"{wanted.path} is read-only", found, device=device, observed="ro", expected="rw"
        )
    return passed("mounts", f"{wanted.path} is mounted", found, device=device)


def clock(context: Context) -> Iterator[Finding]:
    """Not synchronised fails even at an offset of 0: that offset is against nothing."""
    check, policy = "clock", context.policy
    readings = context.gathered.readings
    stratum, offset, leap = (
        readings.last(name) for name in ("clock_stratum", "clock_offset", "clock_leap_status")
    )
    known = [one for one in (stratum, offset, leap) if one is not None and one.measured]
    if stratum is None or stratum.number is None or leap is None or leap.text is None:
        yield not_measured(
            check, f"the clock's state is not known: {context.silence('chronyc-tracking')}", *known
        )
        return
    if leap.text == "Not synchronised" or stratum.number == 0:
        yield said(
            check, FAIL, "the clock is not synchronised", *known, observed=leap.text, expected="Normal"
        )
        return
    if offset is None or offset.number is None:
        yield not_measured(check, "the clock's offset is not known", *known)
        return
    off = abs(offset.number)
    told = f"the clock is {off * 1000:.3g} ms off"
    level = FAIL if off > policy.clock_offset_fail else WARN if off > policy.clock_offset_warn else PASS
    yield said(
        check,
        level,
        told,
        *known,
        observed=f"{off:.6g} s",
        expected=f"at most {policy.clock_offset_fail:g} s",
    )


def thermals(context: Context) -> Iterator[Finding]:
    """Degrees left until a GPU slows itself, whichever of the two layouts told it."""
    check = "thermals"
    found = context.gathered.readings.of("temperature_margin")
    if not found:
        yield not_measured(check, f"no GPU told its temperature: {context.silence('nvidia-smi-xml')}")
    for one in found:
        if one.number is None:
            failed = one.state is ReadingState.FAILED
            message = f"{one.device}: {'fails to tell' if failed else 'does not tell'} its temperature"
            yield not_measured(check, message, one, device=one.device)
            continue
        level = (
            FAIL
            if one.number <= 0
            else WARN
            if one.number <= context.policy.temperature_margin_warn
            else PASS
        )
        message = f"{one.device}: {one.number:g} C below its limit"
        yield said(check, level, message, one, device=one.device, observed=one.number,
                   expected=f"more than {context.policy.temperature_margin_warn:g} C")  # fmt: skip


_FLAGS = {
    "throttle_hw_thermal_slowdown": "hardware slows it: heat",
    "throttle_hw_power_brake_slowdown": "hardware slows it: power brake",
    "throttle_hw_slowdown": "hardware slows it",
    "throttle_sw_thermal_slowdown": "the driver slows it: heat",
}
_TIMES = (
    "throttle_time_hw_therm_slowdown",
    "throttle_time_hw_power_brake",
    "throttle_time_sw_therm_slowdown",
)


def throttling(context: Context) -> Iterator[Finding]:
    """Flags say now, counters say how long. A software power cap is normal under load."""
    readings = context.gathered.readings
    for gpu in context.gpus:
        flags = [one for metric in _FLAGS for one in readings.measured(metric, device=gpu)]
        counters = [one for metric in _TIMES for one in readings.measured(metric, device=gpu)]
        found = [*_flagged(gpu, flags), *_counted(context, gpu)]
        yield from found
        if not flags and not counters:
            silence = context.silence("nvidia-smi-xml")
            yield not_measured(
                "throttling", f"{gpu} does not tell whether it is slowed down: {silence}", device=gpu
            )
        elif not found:
            yield passed("throttling", f"{gpu} is not slowed down", *flags, *counters, device=gpu)


def _flagged(gpu: str, flags: list[Reading]) -> Iterator[Finding]:
    for one in flags:
        if one.text == "Active":
            level = WARN if one.metric == "throttle_sw_thermal_slowdown" else FAIL
            yield said(
                "throttling", level, f"{gpu}: {_FLAGS[one.metric]}", one, device=gpu, observed="Active"
            )


def _counted(context: Context, gpu: str) -> Iterator[Finding]:
    """Between two reads the difference counts; a lone read is history and at most a note."""
    policy = context.policy
    for metric in _TIMES:
        reads = context.gathered.readings.measured(metric, device=gpu)
        if not reads:
            continue
        first, last = reads[0], reads[-1]
        grown = ((last.number or 0) - (first.number or 0)) / 1e6
        what = metric.removeprefix("throttle_time_").replace("_", " ")
        if grown > policy.throttle_seconds_fail:
            message = f"{gpu}: slowed for {grown:.3g} s while it was measured ({what})"
            yield said(
                "throttling",
                FAIL,
                message,
                first,
                last,
                device=gpu,
                observed=f"{grown:.3g} s",
                expected="0 s",
            )
        elif (last.number or 0) / 1e6 > policy.throttle_seconds_warn:
            total = (last.number or 0) / 1e6
            message = f"{gpu}: slowed for {total:.3g} s since the driver was loaded ({what})"
            yield said("throttling", WARN, message, last, device=gpu, observed=f"{total:.3g} s")


register(Check(
    id="mounts", title="Mounts", reads=("mount_source", "mounts_listed"), severity=Severity.UNFIT, rule=mounts,
    source="the order's storage mounts; mounts are a top cause of failed jobs (Meta)",
    told=Told(
        passes="every promised mount is there, from its source, writable; or none was promised",
        fails="missing, from another source, of another type, or read-only", not_measured="findmnt did not answer",
    ),
))  # fmt: skip
register(Check(
    id="clock", title="Clock", reads=("clock_stratum", "clock_offset", "clock_leap_status"), severity=Severity.UNFIT,
    rule=clock, source="chronyc tracking",
    told=Told(
        passes="synchronised and within 10 ms", warns="10 to 100 ms off", fails="not synchronised, stratum 0, or more than 100 ms off",
        not_measured="chronyc did not answer",
    ),
))  # fmt: skip
register(Check(
    id="thermals", title="Heat", reads=("temperature_margin",), severity=Severity.DEGRADED, rule=thermals,
    source="nvidia-smi limits (to driver 550) or headroom (later)",
    told=Told(
        passes="more than 5 C below the limit", warns="5 C or less", fails="at the limit",
        not_measured="no temperature, or a failed read",
    ),
))  # fmt: skip
register(Check(
    id="throttling", title="Throttling", severity=Severity.DEGRADED, rule=throttling, reads=(*_FLAGS, *_TIMES),
    source="nvidia-smi clock event reasons and counters; DCGM issue 242: 0.0 s is no violation",
    told=Told(
        passes="no slowdown flag, and counters did not grow by more than 1 s",
        warns="software thermal slowdown, or more than 10 s since the driver was loaded",
        fails="hardware slowdown, heat or power brake now, or more than 1 s while measured", not_measured="neither flags nor counters",
    ),
))  # fmt: skip
