"""What does `nvidia-smi --query-gpu=… --format=csv[,noheader][,nounits]` print?"""

from __future__ import annotations

import time

from provisioning.simulator import observed
from provisioning.simulator.call import Call
from provisioning.simulator.tools import nvidia_smi_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Field = tuple[str, Callable[[dict[str, Any], dict[str, Any]], object]]

# The bits of clocks_event_reasons.active, as the driver's documentation numbers them.
REASON_BITS = {
    "gpu_idle": 0x1,
    "applications_clocks_setting": 0x2,
    "sw_power_cap": 0x4,
    "hw_slowdown": 0x8,
    "sync_boost": 0x10,
    "sw_thermal_slowdown": 0x20,
    "hw_thermal_slowdown": 0x40,
    "hw_power_brake_slowdown": 0x80,
}


def _active(board: dict[str, Any], reason: str) -> str:
    return "Active" if reason in board["reasons"] else "Not Active"


def _mask(board: dict[str, Any]) -> str:
    return f"0x{sum(REASON_BITS[reason] for reason in board['reasons']):016x}"


# name -> (unit, value). The unit stands in the header and, unless nounits is asked for, behind each value.
FIELDS: dict[str, Field] = {
    "timestamp": ("", lambda s, b: time.strftime("%Y/%m/%d %H:%M:%S.000", time.gmtime())),
    "driver_version": ("", lambda s, b: observed.driver_version(s)),
    "count": ("", lambda s, b: len(observed.gpus(s))),
    "index": ("", lambda s, b: b["index"]),
    "name": ("", lambda s, b: s["sku"]["gpu_model"]),
    "gpu_name": ("", lambda s, b: s["sku"]["gpu_model"]),
    "uuid": ("", lambda s, b: b["uuid"]),
    "gpu_uuid": ("", lambda s, b: b["uuid"]),
    "serial": ("", lambda s, b: b["serial"]),
    "gpu_serial": ("", lambda s, b: b["serial"]),
    "pci.bus_id": ("", lambda s, b: nvidia_smi_words.pci_id(b)),
    "gpu_bus_id": ("", lambda s, b: nvidia_smi_words.pci_id(b)),
    "vbios_version": ("", lambda s, b: nvidia_smi_words.vbios(s)),
    "compute_cap": ("", lambda s, b: s["hw"]["compute_cap"]),
    "persistence_mode": ("", lambda s, b: "Enabled"),
    "pstate": ("", lambda s, b: "P0"),
    "compute_mode": ("", lambda s, b: "Default"),
    "mig.mode.current": ("", lambda s, b: "Disabled"),
    "fan.speed": ("%", lambda s, b: "[N/A]"),
    "memory.total": ("MiB", lambda s, b: s["sku"]["memory_mib"]),
    "memory.used": ("MiB", lambda s, b: 1),
    "memory.free": ("MiB", lambda s, b: int(s["sku"]["memory_mib"]) - 552),
    "memory.reserved": ("MiB", lambda s, b: 551),
    "utilization.gpu": ("%", lambda s, b: 0),
    "utilization.memory": ("%", lambda s, b: 0),
    "temperature.gpu": ("", lambda s, b: b["temp"]),
    "temperature.memory": ("", lambda s, b: b["mem_temp"]),
    "power.draw": ("W", lambda s, b: f"{b['power']:.2f}"),
    "power.draw.instant": ("W", lambda s, b: f"{b['power']:.2f}"),
    "power.limit": ("W", lambda s, b: f"{b['power_limit']:.2f}"),
    "power.default_limit": ("W", lambda s, b: f"{b['default_power_limit']:.2f}"),
    "enforced.power.limit": ("W", lambda s, b: f"{b['power_limit']:.2f}"),
    "clocks.current.sm": ("MHz", lambda s, b: b["sm_clock"]),
    "clocks.sm": ("MHz", lambda s, b: b["sm_clock"]),
    "clocks.gr": ("MHz", lambda s, b: b["sm_clock"]),
    "clocks.current.memory": ("MHz", lambda s, b: s["hw"]["mem_clock"]),
    "clocks.mem": ("MHz", lambda s, b: s["hw"]["mem_clock"]),
    "clocks.max.sm": ("MHz", lambda s, b: s["hw"]["sm_clock"]),
    "clocks.max.memory": ("MHz", lambda s, b: s["hw"]["mem_clock"]),
    "clocks_event_reasons.active": ("", lambda s, b: _mask(b)),
    "clocks_throttle_reasons.active": ("", lambda s, b: _mask(b)),
    "clocks_event_reasons.gpu_idle": ("", lambda s, b: _active(b, "gpu_idle")),
    "clocks_event_reasons.sw_power_cap": ("", lambda s, b: _active(b, "sw_power_cap")),
    "clocks_event_reasons.hw_slowdown": ("", lambda s, b: _active(b, "hw_slowdown")),
    "clocks_event_reasons.hw_thermal_slowdown": ("", lambda s, b: _active(b, "hw_thermal_slowdown")),
    "clocks_event_reasons.sw_thermal_slowdown": ("", lambda s, b: _active(b, "sw_thermal_slowdown")),
    "pcie.link.gen.current": ("", lambda s, b: b["gen"]),
    "pcie.link.gen.max": ("", lambda s, b: s["sku"]["pcie"]["gen"]),
    "pcie.link.width.current": ("", lambda s, b: b["width"]),
    "pcie.link.width.max": ("", lambda s, b: s["sku"]["pcie"]["width"]),
    "ecc.mode.current": ("", lambda s, b: "Enabled"),
    "ecc.errors.corrected.volatile.total": ("", lambda s, b: 0),
    "ecc.errors.uncorrected.volatile.total": ("", lambda s, b: b["dram_uncorrectable"]),
    "ecc.errors.uncorrected.aggregate.total": ("", lambda s, b: b["dram_uncorrectable"]),
    "ecc.errors.uncorrected.volatile.dram": ("", lambda s, b: b["dram_uncorrectable"]),
    "remapped_rows.correctable": ("", lambda s, b: b["remap"]["corr"]),
    "remapped_rows.uncorrectable": ("", lambda s, b: b["remap"]["unc"]),
    "remapped_rows.pending": ("", lambda s, b: int(b["remap"]["pending"])),
    "remapped_rows.failure": ("", lambda s, b: int(b["remap"]["failure"])),
    "gpu_recovery_action": ("", lambda s, b: b["recovery"]),
    "fabric.state": ("", lambda s, b: b["fabric"][0]),
    "fabric.status": ("", lambda s, b: b["fabric"][1]),
}
SINCE_560 = ("gpu_recovery_action",)


def run(call: Call) -> int:
    """One unknown field fails the whole call, as with the real tool."""
    query = next(word for word in call.argv if word.startswith("--query-")).split("=", 1)
    names = [name.strip() for name in query[1].split(",")] if len(query) == 2 else []
    old = int(observed.driver_version(call.state).split(".")[0]) < 560
    for name in names:
        if name not in FIELDS or (old and name in SINCE_560):
            call.out(f'Field "{name}" is not a valid field to query.\n\n')
            return 2
    style = next((word.split("=", 1)[1] for word in call.argv if word.startswith("--format=")), "").split(",")
    if not names or "csv" not in style:
        call.out(
            '"--format=csv" switch is missing or no fields were given. See "nvidia-smi --help-query-gpu".\n'
        )
        return 2
    if "noheader" not in style:
        heads = [
            f"{name} [{unit}]" if (unit := FIELDS[name][0]) and "nounits" not in style else name
            for name in names
        ]
        call.out(", ".join(heads) + "\n")
    boards = observed.gpus(call.state)
    call.out("".join(nvidia_smi_words.lost_lines(boards)))
    for board in boards:
        if board["presence"] == "ok":
            call.out(
                ", ".join(_cell(call, board, name, units="nounits" not in style) for name in names) + "\n"
            )
    return 15 if any(board["presence"] == "lost" and board["named"] for board in boards) else 0


def _cell(call: Call, board: dict[str, Any], name: str, *, units: bool) -> str:
    unit, value = FIELDS[name]
    text = str(value(call.state, board))
    return f"{text} {unit}" if units and unit and text != "[N/A]" else text
