"""Are the links between the GPUs, to the host and through the switches as they should be?"""

from __future__ import annotations

from collections.abc import Iterator

from provisioning.validation.checks.registry import Check, Told, not_measured, passed, register, said
from provisioning.validation.expectation import Context
from provisioning.validation.finding import Finding, FindingLevel, Severity
from provisioning.validation.reading import Reading, ReadingSet

FAIL, WARN, PASS = FindingLevel.FAIL, FindingLevel.WARN, FindingLevel.PASS
SPEED_ROOM = 0.01
"""A link trains at one of a few speeds, far apart: 1 % is rounding in what is printed."""
BUSY_STATES = ("P0", "P1", "P2")


def nvlink(context: Context) -> Iterator[Finding]:
    """Every GPU has all its links up, each at its speed."""
    for gpu in context.gpus:
        active = context.gathered.readings.last("nvlink_active", gpu)
        unknown = _links_unknown(context, active)
        if unknown or active is None:
            seen = [active] if active is not None else []
            yield not_measured("nvlink", f"{gpu}: {unknown}", *seen, device=gpu)
        else:
            yield from _links(context, gpu, active)


def _links_unknown(context: Context, active: Reading | None) -> str:
    """Why the links of a GPU are not known; empty where they are."""
    wanted = context.sku.nvlink.links
    if active is None:
        return f"NVLinks not listed: {context.silence('nvidia-smi-nvlink')}"
    if active.number is None:
        return f"NVLinks not listed: {active.told('said') or 'no link was listed'}"
    listed = active.told("listed")
    if listed.isdecimal() and int(listed) < wanted:
        # A link that is down is listed as inactive; one that is not listed was cut off with the output.
        return f"only {listed} of {wanted} NVLinks were listed"
    return ""


def _links(context: Context, gpu: str, active: Reading) -> Iterator[Finding]:
    wanted, up = context.sku.nvlink, active.number or 0.0
    slow = [
        one
        for one in context.gathered.readings.measured("nvlink_speed")
        if one.device.startswith(f"{gpu}/")
        and 0 < (one.number or 0) < wanted.gbps_per_link * (1 - SPEED_ROOM)
    ]
    if up < wanted.links:
        message = f"{gpu}: {up:g} of {wanted.links} NVLinks are up"
        yield said("nvlink", FAIL, message, active, device=gpu, observed=up, expected=wanted.links)
    for one in slow:
        message = f"{one.device} runs at {one.number:g} GB/s instead of {wanted.gbps_per_link:g}"
        yield said(
            "nvlink",
            FAIL,
            message,
            one,
            device=one.device,
            observed=one.number,
            expected=wanted.gbps_per_link,
        )
    if up >= wanted.links and not slow:
        yield passed("nvlink", f"{gpu}: {up:g} NVLinks at {wanted.gbps_per_link:g} GB/s", active, device=gpu)


def pcie(context: Context) -> Iterator[Finding]:
    """Judged under load only: an idle GPU may rest at generation 1, and at fewer lanes."""
    readings = context.gathered.readings
    for gpu in context.gpus:
        widths = readings.of("pcie_width_current", device=gpu)
        if not any(one.measured for one in widths):
            yield not_measured(
                "pcie", f"{gpu}: PCIe link not told: {context.silence('nvidia-smi-xml')}", device=gpu
            )
            continue
        yield _pcie_of(context, gpu)


def _pcie_of(context: Context, gpu: str) -> Finding:
    readings, wanted = context.gathered.readings, context.sku.pcie
    low: list[Reading] = []
    low_idle: list[Reading] = []
    looked: list[Reading] = []
    for metric, least in (("pcie_width_current", wanted.width), ("pcie_gen_current", wanted.gen)):
        for one in readings.measured(metric, device=gpu):
            looked.append(one)
            if (one.number or 0) < least:
                (low if _busy(readings, gpu, one.run) else low_idle).append(one)
    expected = f"generation {wanted.gen}, x{wanted.width}"
    told = ", ".join(sorted({f"{one.metric.split('_')[1]} {one.number:g}" for one in (*low, *low_idle)}))
    if low:
        message = f"{gpu}: the PCIe link is down to {told} under load"
        return said("pcie", FAIL, message, *low, device=gpu, observed=told, expected=expected)
    if low_idle:
        return not_measured(
            "pcie", f"{gpu}: {told} while idle, which says nothing of the link", *low_idle, device=gpu
        )
    return passed("pcie", f"{gpu}: PCIe {expected}", *looked, device=gpu)


def _busy(readings: ReadingSet, gpu: str, run: int) -> bool:
    return any(
        one.run == run and one.text in BUSY_STATES
        for one in readings.measured("performance_state", device=gpu)
    )


def pci_bus(context: Context) -> Iterator[Finding]:
    """What lspci marks as downgraded on GPUs (width), NICs, NVSwitches and the ports above them."""
    check = "pci_bus"
    marked = context.gathered.readings.measured("lspci_marked")
    if not marked:
        yield not_measured(check, f"link states on the PCI bus are not known: {context.silence('lspci')}")
        return
    down = [one for one in marked if _is_down(context, one)]
    for one in down:
        name = (
            one.device
            if one.device.startswith("gpu:")
            else f"{one.told('kind')} {one.device.removeprefix('pci:')}"
        )
        yield said(check, WARN, f"{name} trained below its ability: {one.told('said')}", one, device=one.device,
                   observed=one.told("said"))  # fmt: skip
    if not down:
        yield passed(check, f"{len(marked)} links on the PCI bus at their width", *marked)


def _is_down(context: Context, marked: Reading) -> bool:
    readings = context.gathered.readings
    width, cap = readings.last("lspci_width", marked.device), readings.last("lspci_width_cap", marked.device)
    narrow = width is not None and cap is not None and (width.number or 0) < (cap.number or 0)
    if narrow and marked.told("kind") == "gpu":
        return (width.number or 0) < context.sku.pcie.width if width is not None else False
    if marked.told("kind") == "bridge":
        # A port above nothing of ours is none of our business, and lspci marks both in one word.
        return narrow and marked.text != "ok"
    slow_nic = marked.told("kind") == "nic" and marked.text != "ok"
    return narrow or slow_nic


def fabric_state(context: Context) -> Iterator[Finding]:
    """The GPU's own word on whether it joined the NVSwitch fabric; parts before Hopper have none."""
    check = "fabric_state"
    states = context.gathered.readings.of("fabric_state")
    told = [one for one in states if one.measured]
    for one in told:
        status = context.gathered.readings.last("fabric_status", one.device)
        word = status.text if status is not None else None
        if one.text != "Completed" or word not in ("Success", None):
            yield said(check, FAIL, f"{one.device}: fabric {one.text}, {word or 'no status'}", one, device=one.device,
                       observed=f"{one.text}, {word}", expected="Completed, Success")  # fmt: skip
        else:
            yield passed(check, f"{one.device}: joined the fabric", one, device=one.device)
    if not told:
        yield not_measured(check, "these GPUs tell no fabric state", *states)


def fabric_manager(context: Context) -> Iterator[Finding]:
    """Without it NVSwitch GPUs can't talk to each other."""
    check = "fabric_manager"
    found = context.gathered.readings.last("fabric_manager_active")
    sub = context.gathered.readings.last("fabric_manager_sub")
    if found is None or found.text is None:
        yield not_measured(
            check, f"the fabric manager's state is not known: {context.silence('fabric-manager')}"
        )
    elif found.text == "active" and (sub is None or sub.text in ("running", None)):
        yield passed(check, "the fabric manager runs", found)
    else:
        state = f"{found.text} ({sub.text if sub is not None and sub.text else 'unknown'})"
        yield said(
            check, FAIL, f"the fabric manager is {state}", found, observed=state, expected="active (running)"
        )


def nvlink_errors(context: Context) -> Iterator[Finding]:
    """Counters are cumulative, so they are a note."""
    for metric in (
        "nvlink_crc_data_errors",
        "nvlink_crc_flit_errors",
        "nvlink_recovery_errors",
        "nvlink_replay_errors",
    ):
        for one in context.gathered.readings.measured(metric):
            if one.number:
                name = metric.removeprefix("nvlink_").replace("_", " ")
                yield said("nvlink_errors", WARN, f"{one.device}: {one.number:g} {name}", one, device=one.device,
                           observed=one.number, expected=0)  # fmt: skip


register(Check(
    id="nvlink", title="NVLinks", reads=("nvlink_active", "nvlink_speed"), severity=Severity.UNFIT, rule=nvlink,
    applies=lambda context: context.sku.nvlink.links > 0, source="SKU data; gpud issue 1085",
    told=Told(
        passes="all links of every GPU up at the SKU's speed", fails="fewer links up (also: all inactive), or a slower one",
        not_measured="a GPU's links were not all listed",
    ),
))  # fmt: skip
register(Check(
    id="pcie", title="PCIe link of the GPUs", reads=("pcie_width_current", "pcie_gen_current", "performance_state"),
    severity=Severity.DEGRADED, rule=pcie, source="SKU data; aws-k8s-tester pull request 806",
    told=Told(
        passes="generation and lanes of the SKU", fails="less than that in performance state P0 to P2",
        not_measured="less while idle, which is normal, or not told",
    ),
))  # fmt: skip
register(Check(
    id="pci_bus", title="PCI bus", reads=("lspci_marked", "lspci_width", "lspci_width_cap"), severity=Severity.DEGRADED,
    rule=pci_bus, source="lspci -vvv LnkCap and LnkSta",
    told=Told(
        passes="no link narrower than its ability", warns="a narrower link of a GPU (below the SKU), a port above or an NVSwitch, or a NIC marked downgraded",
        fails="never: lspci does not know whether the device is busy", not_measured="lspci gave no link states",
    ),
))  # fmt: skip
register(Check(
    id="fabric_state", title="Fabric state", reads=("fabric_state", "fabric_status"), severity=Severity.UNFIT,
    rule=fabric_state, applies=lambda context: context.sku.nvswitch, source="nvidia-smi -q fabric block",
    told=Told(
        passes="Completed and Success", fails="any other state or status", not_measured="N/A, as on parts before Hopper",
    ),
))  # fmt: skip
register(Check(
    id="fabric_manager", title="Fabric manager", reads=("fabric_manager_active", "fabric_manager_sub"),
    severity=Severity.UNFIT, rule=fabric_manager, applies=lambda context: context.wants_fabric_manager,
    source="systemctl show nvidia-fabricmanager",
    told=Told(passes="active and running", fails="any other state", not_measured="systemctl told nothing"),
))  # fmt: skip
register(Check(
    id="nvlink_errors", title="NVLink error counters", severity=Severity.DEGRADED, rule=nvlink_errors,
    reads=("nvlink_crc_data_errors", "nvlink_crc_flit_errors", "nvlink_recovery_errors", "nvlink_replay_errors"),
    applies=lambda context: any(one.metric.startswith("nvlink_") and one.metric.endswith("_errors")
                                for one in context.gathered.readings),
    source="dcgmi nvlink -e",
    told=Told(passes="all counters 0", warns="a counter above 0", fails="never: counters are cumulative",
              not_measured="asked only where the counters were read"),
))  # fmt: skip
