"""Is this the hardware and the software that was promised?"""

from __future__ import annotations

from collections.abc import Iterator

from provisioning.validation.checks.registry import Check, Told, not_measured, passed, register, said
from provisioning.validation.expectation import Context
from provisioning.validation.finding import Finding, FindingLevel, Severity
from provisioning.validation.reading import NODE, Reading, ReadingState

FAIL, WARN = FindingLevel.FAIL, FindingLevel.WARN


def gpu_count(context: Context) -> Iterator[Finding]:
    """Counted by the driver twice (what it attached, what it describes) and by the PCI bus once."""
    check, wanted = "gpu_count", context.gpu_count
    readings = context.gathered.readings
    lost = readings.measured("gpu_lost")
    for one in lost:
        yield said(check, FAIL, f"the driver lost a GPU: {one.text}", one, device=one.device)
    sources = [
        found
        for metric in ("gpus_attached", "gpu_elements", "gpus_on_bus")
        if (found := readings.last(metric)) is not None and found.number is not None
    ]
    by_metric = {found.metric: found for found in sources}
    attached, described = by_metric.get("gpus_attached"), by_metric.get("gpu_elements")
    if attached is None or described is None:
        if not lost:
            yield not_measured(check, f"GPUs can't be counted: {context.silence('nvidia-smi-xml')}", *sources)
        return
    yield from _compare_counts(attached, described, by_metric.get("gpus_on_bus"), wanted, bool(lost))


def _compare_counts(
    attached: Reading,
    described: Reading,
    bus: Reading | None,
    wanted: int,
    anything_lost: bool,  # noqa: FBT001
) -> Iterator[Finding]:
    check = "gpu_count"
    sources = [one for one in (attached, described, bus) if one is not None]
    told = f"driver attached {attached.number:g}, describes {described.number:g}"
    told += f", PCI bus has {bus.number:g}" if bus is not None else ", PCI bus was not read"
    if attached.number != described.number:
        both_short = bus is not None and (bus.number or 0) < wanted and (described.number or 0) < wanted
        if both_short:
            yield said(check, FAIL, f"GPUs are missing: {told}", *sources, observed=told, expected=wanted)
        else:
            yield not_measured(check, f"the counts disagree ({told}): {wanted} GPUs are expected", *sources)
    elif attached.number != wanted:
        yield said(check, FAIL, f"{attached.number:g} GPUs instead of {wanted}: {told}", *sources,
                   observed=attached.number, expected=wanted)  # fmt: skip
    elif bus is not None and bus.number != wanted:
        yield not_measured(
            check, f"driver and PCI bus disagree ({told}): {wanted} GPUs are expected", *sources
        )
    elif not anything_lost:
        yield passed(check, f"{wanted} GPUs ({told})", *sources)


def gpu_model(context: Context) -> Iterator[Finding]:
    """Every GPU is the model of the SKU, with its memory."""
    check, wanted = "gpu_model", context.sku.gpu_model
    models = context.gathered.readings.of("gpu_model")
    if not models:
        yield not_measured(check, f"no GPU told its model: {context.silence('nvidia-smi-xml')}")
        return
    wrong = [one for one in models if one.measured and one.text != wanted]
    unread = [one for one in models if not one.measured]
    for one in wrong:
        yield said(check, FAIL, f"{one.device} is {one.text}, not {wanted}", one, device=one.device,
                   observed=one.text, expected=wanted)  # fmt: skip
    for one in unread:
        yield _unread(check, one, "its model")
    yield from _memory_size(context)
    if not wrong and not unread:
        yield passed(check, f"every GPU is {wanted}", *models)


def _memory_size(context: Context) -> Iterator[Finding]:
    """5 % of room, since drivers differ in what they keep for themselves."""
    wanted = float(context.sku.memory_mib)
    for one in context.gathered.readings.measured("gpu_memory_total"):
        if one.number is not None and abs(one.number - wanted) > 0.05 * wanted:
            yield said("gpu_model", FAIL, f"{one.device} has {one.number:g} MiB of memory instead of {wanted:g}", one,
                       device=one.device, observed=one.number, expected=wanted)  # fmt: skip


def _unread(check: str, reading: Reading, what: str) -> Finding:
    """A GPU that can't say what it is: a failed read is a fault of the GPU, any other silence is not."""
    if reading.state is ReadingState.FAILED:
        return said(check, FAIL, f"{reading.device} fails to tell {what}", reading, device=reading.device)
    return not_measured(check, f"{reading.device} does not tell {what}", reading, device=reading.device)


def driver(context: Context) -> Iterator[Finding]:
    """The version that was ordered; without an order the SKU's own, where another one is only a note."""
    check = "driver"
    broken = context.gathered.readings.last("driver_failure")
    if broken is not None:
        yield said(check, FAIL, f"the driver does not work: {broken.text}", broken, observed=broken.text)
        return
    found = context.gathered.readings.last("driver_version")
    if found is None or found.text is None:
        yield not_measured(check, f"the driver's version is not known: {context.silence('nvidia-smi-xml')}")
        return
    ordered = context.expectation.driver
    wanted = ordered or context.sku.driver
    if found.text == wanted:
        yield passed(check, f"driver {wanted}", found)
    elif ordered:
        yield said(check, FAIL, f"driver {found.text} instead of the ordered {wanted}", found,
                   observed=found.text, expected=wanted)  # fmt: skip
    else:
        yield said(check, WARN, f"driver {found.text}, this SKU normally runs {wanted}", found,
                   observed=found.text, expected=wanted)  # fmt: skip


def vbios(context: Context) -> Iterator[Finding]:
    """One version on all GPUs, and the pinned one where there is a pin."""
    check = "vbios"
    found = context.gathered.readings.measured("vbios")
    if not found:
        yield not_measured(check, f"no GPU told its VBIOS: {context.silence('nvidia-smi-xml')}")
        return
    versions = sorted({one.text or "" for one in found})
    pinned = context.expectation.vbios
    wanted = pinned or context.sku.vbios
    if len(versions) > 1:
        yield said(check, FAIL if pinned else WARN, f"GPUs with different VBIOS: {', '.join(versions)}", *found,
                   observed=", ".join(versions), expected=wanted or "one version")  # fmt: skip
    elif wanted and versions[0] != wanted:
        yield said(check, FAIL if pinned else WARN, f"VBIOS {versions[0]} instead of {wanted}", *found,
                   observed=versions[0], expected=wanted)  # fmt: skip
    else:
        yield passed(check, f"VBIOS {versions[0]} on every GPU", *found)


def kernel(context: Context) -> Iterator[Finding]:
    """Compared only where a version was ordered; recorded always."""
    check = "kernel"
    found = context.gathered.readings.last("kernel_version")
    wanted = context.expectation.kernel
    if found is None or found.text is None:
        yield not_measured(check, f"the kernel's version is not known: {context.silence('kernel')}")
    elif wanted and found.text != wanted:
        yield said(check, FAIL, f"kernel {found.text} instead of {wanted}", found,
                   observed=found.text, expected=wanted)  # fmt: skip
    else:
        yield passed(check, f"kernel {found.text}", found)


def modes(context: Context) -> Iterator[Finding]:
    """Settings that a node for whole GPUs should have: persistence on, MIG off."""
    check = "gpu_modes"
    readings = context.gathered.readings
    found = [*readings.measured("persistence_mode"), *readings.measured("mig_mode")]
    wrong = {"persistence_mode": "Disabled", "mig_mode": "Enabled"}
    bad = [one for one in found if one.text == wrong[one.metric]]
    for one in bad:
        name = "persistence mode is off" if one.metric == "persistence_mode" else "MIG is on"
        yield said(check, WARN, f"{one.device}: {name}", one, device=one.device, observed=one.text)
    if not found:
        yield not_measured(check, f"no GPU told its modes: {context.silence('nvidia-smi-xml')}", device=NODE)
    elif not bad:
        yield passed(check, "persistence mode is on and MIG is off", *found)


SMI = "nvidia-smi-xml"
register(Check(
    id="gpu_count", title="Number of GPUs", reads=("gpus_attached", "gpu_elements", "gpus_on_bus", "gpu_lost"),
    severity=Severity.UNFIT, rule=gpu_count, source="validation of count from several sources; DCGM issue 263, dcgm-exporter issue 348",
    told=Told(
        passes="driver (attached and described) and PCI bus all count what the SKU has",
        fails="the driver consistently counts another number, says that it lost one, or describes fewer while the bus has fewer too",
        not_measured="counts disagree, or nvidia-smi gave no complete XML",
    ),
))  # fmt: skip
register(Check(
    id="gpu_model", title="GPU model and memory", reads=("gpu_model", "gpu_memory_total"), severity=Severity.UNFIT,
    rule=gpu_model, source="SKU data",
    told=Told(
        passes="every GPU prints the model of the SKU and has its memory within 5 %",
        fails="another model, another size, or a GPU that fails to answer", not_measured="no GPU told its model",
    ),
))  # fmt: skip
register(Check(
    id="driver", title="Driver version", reads=("driver_version", "driver_failure"), severity=Severity.UNFIT, rule=driver,
    source="SKU data or the order",
    told=Told(
        passes="the ordered version, or the SKU's where none was ordered", warns="not the SKU's version, none was ordered",
        fails="not the ordered version, or the driver does not work at all", not_measured="nvidia-smi did not tell",
    ),
))  # fmt: skip
register(Check(
    id="vbios", title="VBIOS version", reads=("vbios",), severity=Severity.UNFIT, rule=vbios,
    source="SKU data; azurehpc-health-checks check_gpu_vbios",
    told=Told(
        passes="one version on all GPUs, the pinned one where there is a pin", warns="mixed, or not the SKU's version",
        fails="not the version that was asked for", not_measured="no GPU told its version",
    ),
))  # fmt: skip
register(Check(
    id="kernel", title="Kernel version", reads=("kernel_version",), severity=Severity.UNFIT, rule=kernel, source="the order",
    told=Told(
        passes="the ordered version, or any where none was ordered", fails="not the ordered version",
        not_measured="uname did not run",
    ),
))  # fmt: skip
register(Check(
    id="gpu_modes", title="GPU modes", reads=("persistence_mode", "mig_mode"), severity=Severity.UNFIT, rule=modes,
    source="DCGM persistence mode finding (error_id 29)",
    told=Told(
        passes="persistence mode on, MIG off", warns="persistence mode off, or MIG on", fails="never",
        not_measured="no GPU told its modes",
    ),
))  # fmt: skip
