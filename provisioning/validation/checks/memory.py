"""Is the GPUs' memory sound, and does any of them ask for a reset?"""

from __future__ import annotations

from collections.abc import Iterator

from provisioning.validation.checks.registry import Check, Told, not_measured, passed, register, said
from provisioning.validation.expectation import Context
from provisioning.validation.finding import Finding, FindingLevel, Severity
from provisioning.validation.reading import Reading, ReadingSet, ReadingState

FAIL, WARN = FindingLevel.FAIL, FindingLevel.WARN
SMI = "nvidia-smi-xml"


def _gpus(context: Context, metric: str) -> tuple[str, ...]:
    """The GPUs that should be there and those that are: a missing one is asked about too."""
    found = context.gathered.readings.devices(metric)
    return (*context.gpus, *(device for device in found if device not in context.gpus))


def _has_failed(reading: Reading | None) -> bool:
    return reading is not None and reading.state is ReadingState.FAILED


def ecc(context: Context) -> Iterator[Finding]:
    """Uncorrectable errors since the driver was loaded fail; older ones are a note."""
    readings = context.gathered.readings
    for gpu in _gpus(context, "ecc_mode"):
        mode = readings.last("ecc_mode", gpu)
        if mode is None or not mode.measured:
            yield _no_mode(context, gpu, mode)
        elif mode.text != "Enabled":
            yield said("ecc", FAIL, f"{gpu}: error correction is {mode.text}", mode, device=gpu,
                       observed=mode.text, expected="Enabled")  # fmt: skip
        else:
            yield from _ecc_counts(readings, gpu, mode)


def _no_mode(context: Context, gpu: str, mode: Reading | None) -> Finding:
    if mode is None:
        return not_measured("ecc", f"{gpu} was not described: {context.silence(SMI)}", device=gpu)
    if _has_failed(mode):
        return said("ecc", FAIL, f"{gpu} fails to tell its error counters", mode, device=gpu)
    return not_measured("ecc", f"{gpu} does not tell whether error correction is on", mode, device=gpu)


def _ecc_counts(readings: ReadingSet, gpu: str, mode: Reading) -> Iterator[Finding]:
    now = [readings.last(metric, gpu) for metric in ("ecc_sram_uncorrectable", "ecc_dram_uncorrectable")]
    known = [one for one in now if one is not None and one.number is not None]
    fatal = [one for one in known if one.number]
    asks = [
        one
        for metric in (
            "ecc_sram_threshold_exceeded",
            "channel_repair_pending",
            "tpc_repair_pending",
            "unrepairable_memory",
        )
        if (one := readings.last(metric, gpu)) is not None and one.text == "Yes"
    ]
    for one in (*fatal, *asks):
        told = f"{one.number:g} since the driver was loaded" if one.number is not None else "Yes"
        name = one.metric.replace("_", " ")
        yield said("ecc", FAIL, f"{gpu}: {name}: {told}", one, device=gpu, observed=told)
    if len(known) < len(now):
        yield not_measured("ecc", f"{gpu} does not tell its uncorrectable errors", mode, *known, device=gpu)
        return
    if not fatal and not asks:
        yield _older(readings, gpu, [mode, *known])


def _older(readings: ReadingSet, gpu: str, known: list[Reading]) -> Finding:
    totals = [
        readings.last(metric, gpu)
        for metric in ("ecc_sram_uncorrectable_total", "ecc_dram_uncorrectable_total")
    ]
    old = [one for one in totals if one is not None and one.number]
    if old:
        count = sum(one.number or 0.0 for one in old)
        message = f"{gpu}: {count:g} uncorrectable errors in its life, none since the driver was loaded"
        return said("ecc", WARN, message, *old, device=gpu, observed=count)
    return passed("ecc", f"{gpu}: no uncorrectable error", *known, device=gpu)


def row_remap(context: Context) -> Iterator[Finding]:
    """Rows waiting to be remapped need a reset; a failed remap needs the vendor. Before Ampere: retired pages."""
    readings = context.gathered.readings
    for gpu in _gpus(context, "row_remapping"):
        block = readings.last("row_remapping", gpu)
        if block is None:
            yield not_measured("row_remap", f"{gpu} was not described: {context.silence(SMI)}", device=gpu)
        elif block.measured:
            yield from _remapped(context, gpu)
        else:
            yield _retired(readings, gpu, block)


def _remapped(context: Context, gpu: str) -> Iterator[Finding]:
    readings = context.gathered.readings
    pending, failure = readings.last("remap_pending", gpu), readings.last("remap_failure", gpu)
    flags = [one for one in (pending, failure) if one is not None and one.text in ("Yes", "No")]
    rows = readings.last("remapped_rows_uncorrectable", gpu)
    known = [*flags, *([rows] if rows is not None and rows.number is not None else [])]
    bad = [one for one in flags if one.text == "Yes"]
    for one in bad:
        what = (
            "rows wait to be remapped: reset it"
            if one is pending
            else "remapping failed: the vendor is asked"
        )
        yield said("row_remap", FAIL, f"{gpu}: {what}", one, device=gpu, observed="Yes", expected="No")
    if len(flags) < 2:
        yield not_measured(
            "row_remap", f"{gpu} does not tell whether rows wait to be remapped", *flags, device=gpu
        )
        return
    count = rows.number if rows is not None and rows.number is not None else 0.0
    if count > context.policy.remapped_rows_fail:
        yield said("row_remap", FAIL, f"{gpu}: {count:g} rows remapped after uncorrectable errors", *known, device=gpu,
                   observed=count, expected=f"at most {context.policy.remapped_rows_fail}")  # fmt: skip
    elif count > 0 and not bad:
        yield said("row_remap", WARN, f"{gpu}: {count:g} rows remapped after uncorrectable errors", *known, device=gpu,
                   observed=count, expected=0)  # fmt: skip
    elif not bad:
        yield passed("row_remap", f"{gpu}: no row waits or failed to be remapped", *known, device=gpu)


def _retired(readings: ReadingSet, gpu: str, block: Reading) -> Finding:
    pending = readings.last("retired_pages_pending", gpu)
    if _has_failed(block):
        return said("row_remap", FAIL, f"{gpu} fails to tell its remapped rows", block, device=gpu)
    if pending is None or pending.text not in ("Yes", "No"):
        return not_measured(
            "row_remap", f"{gpu} tells neither remapped rows nor retired pages", block, device=gpu
        )
    if pending.text == "Yes":
        return said("row_remap", FAIL, f"{gpu}: pages wait to be retired: reset it", pending, device=gpu)
    return passed("row_remap", f"{gpu}: no page waits to be retired", pending, device=gpu)


def recovery_action(context: Context) -> Iterator[Finding]:
    """The driver's own verdict. Older drivers have none, which says nothing."""
    check = "recovery_action"
    found = context.gathered.readings.of("recovery_action")
    asked = [one for one in found if one.measured]
    for one in found:
        if _has_failed(one):
            yield said(check, FAIL, f"{one.device} fails to tell its recovery action", one, device=one.device)
    wanting = [one for one in asked if one.text != "None"]
    for one in wanting:
        yield said(check, FAIL, f"{one.device}: the driver asks for {one.text}", one, device=one.device,
                   observed=one.text, expected="None")  # fmt: skip
    if not asked:
        yield not_measured(check, "this driver tells no recovery action", *found)
    elif not wanting and len(asked) == len(found):
        yield passed(check, "no GPU asks for a recovery", *asked)
    elif not wanting:
        silent = [one for one in found if not one.measured]
        yield not_measured(check, f"{len(silent)} GPUs tell no recovery action", *silent)


def gemm_correct(context: Context) -> Iterator[Finding]:
    """A wrong product is silent corruption: worse than any slowness."""
    yield from _correct(context, "gemm_correct", "gemm_wrong", "gemm", "its matrix product")


def _correct(context: Context, check: str, metric: str, evidence: str, what: str) -> Iterator[Finding]:
    readings = context.gathered.readings
    for gpu in _gpus(context, metric):
        found = readings.of(metric, device=gpu)
        checked = [one for one in found if one.number is not None]
        wrong = [one for one in checked if one.number]
        if wrong:
            message = f"{gpu}: {what} is wrong in {len(wrong)} of {len(checked)} runs"
            yield said(check, FAIL, message, *wrong, device=gpu, observed=len(wrong), expected=0)
        elif not checked:
            yield not_measured(
                check, f"{gpu}: {what} was not checked: {context.silence(evidence)}", *found, device=gpu
            )
        else:
            yield passed(check, f"{gpu}: {what} is right", *checked, device=gpu)


def gpu_burn(context: Context) -> Iterator[Finding]:
    """FAULTY means that results did not repeat."""
    for one in context.gathered.readings.measured("gpu_burn"):
        if one.text == "OK":
            yield passed(
                "gpu_burn", f"{one.device}: gpu-burn found no miscalculation", one, device=one.device
            )
        else:
            yield said(
                "gpu_burn", FAIL, f"{one.device}: gpu-burn found miscalculations", one, device=one.device
            )


def _burned(context: Context) -> bool:
    return bool(context.gathered.readings.of("gpu_burn"))


register(Check(
    id="ecc", title="Memory errors", severity=Severity.UNFIT, rule=ecc, applies=lambda context: context.sku.ecc,
    reads=("ecc_mode", "ecc_sram_uncorrectable", "ecc_dram_uncorrectable", "ecc_sram_threshold_exceeded",
           "channel_repair_pending", "tpc_repair_pending", "unrepairable_memory"),
    source="nvidia-smi -q, volatile and aggregate counters",
    told=Told(
        passes="error correction on, no uncorrectable error ever", warns="uncorrectable errors before the driver was loaded",
        fails="uncorrectable errors since then, a repair pending, a threshold exceeded, error correction off, or a failed read",
        not_measured="a GPU does not tell its mode or counters",
    ),
))  # fmt: skip
register(Check(
    id="row_remap", title="Remapped rows", severity=Severity.UNFIT, rule=row_remap, source="SuperBench: more than 10 remapped rows, 83 % of nodes slower",
    reads=("row_remapping", "remap_pending", "remap_failure", "remapped_rows_uncorrectable", "retired_pages_pending"),
    told=Told(
        passes="nothing pending, nothing failed, no row remapped after uncorrectable errors", warns="1 to 10 rows remapped",
        fails="pending, failed, or more than 10 rows", not_measured="the whole block is N/A (MIG on) or its fields are missing",
    ),
))  # fmt: skip
register(Check(
    id="recovery_action", title="Recovery action", reads=("recovery_action",), severity=Severity.UNFIT,
    rule=recovery_action, source="nvidia-smi gpu_recovery_action; DCGM issue 263",
    told=Told(
        passes="every GPU says None", fails="any other action (Reset, Reboot, Drain P2P, Drain and Reset), or a failed read",
        not_measured="the driver has no such field",
    ),
))  # fmt: skip
register(Check(
    id="gemm_correct", title="Matrix product right", reads=("gemm_wrong",), severity=Severity.UNFIT, rule=gemm_correct,
    source="bf16 has 8 bits of mantissa; a relative error above 5 % is no rounding",
    told=Told(
        passes="every checked run is right", fails="a run with a value that is not finite or off by more than 5 %",
        not_measured="no run was checked",
    ),
))  # fmt: skip
register(Check(
    id="gpu_burn", title="gpu-burn", reads=("gpu_burn",), severity=Severity.UNFIT, rule=gpu_burn, applies=_burned,
    source="gpu-burn's own table; it says nothing of slow GPUs",
    told=Told(passes="OK", fails="FAULTY", not_measured="asked only where gpu-burn ran"),
))  # fmt: skip
