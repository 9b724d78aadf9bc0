"""What does `nvidia-smi --query-gpu=… --format=csv` say, with or without header and units?"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence

from provisioning.validation.parsers.parsed import (
    Parsed,
    lines_of,
    measured,
    parsed,
    pci_address,
    without_value,
)
from provisioning.validation.reading import Reading, ReadingState
from provisioning.validation.text_states import number_reading, quantity, word_reading

ID = "nvidia-smi-csv"
_HEADER = re.compile(r"([a-z0-9_.]+)(?: \[([^\]]+)\])?")
_WORDS = {
    "name": "gpu_model",
    "uuid": "gpu_uuid",
    "serial": "gpu_serial",
    "vbios_version": "vbios",
    "pstate": "performance_state",
    "persistence_mode": "persistence_mode",
    "mig.mode.current": "mig_mode",
    "gpu_recovery_action": "recovery_action",
    "ecc.mode.current": "ecc_mode",
    "remapped_rows.pending": "remap_pending",
    "remapped_rows.failure": "remap_failure",
}
_NUMBERS = {
    "memory.total": ("gpu_memory_total", "MiB"),
    "temperature.gpu": ("temperature", "C"),
    "temperature.gpu.tlimit": ("temperature_margin", "C"),
    "power.draw": ("power_draw", "W"),
    "power.limit": ("power_limit", "W"),
    "utilization.gpu": ("gpu_utilization", "%"),
    "pcie.link.gen.current": ("pcie_gen_current", ""),
    "pcie.link.gen.max": ("pcie_gen_max", ""),
    "pcie.link.width.current": ("pcie_width_current", ""),
    "pcie.link.width.max": ("pcie_width_max", ""),
    "remapped_rows.uncorrectable": ("remapped_rows_uncorrectable", ""),
    "remapped_rows.correctable": ("remapped_rows_correctable", ""),
    "ecc.errors.uncorrected.volatile.dram": ("ecc_dram_uncorrectable", ""),
    "ecc.errors.uncorrected.volatile.sram": ("ecc_sram_uncorrectable", ""),
    "clocks.current.sm": ("clock_sm", "MHz"),
}
_PLAIN_UNITS = {"C": ""}  # temperatures carry no unit in CSV
_EVENT_FIELDS = ("clocks_event_reasons.active", "clocks_throttle_reasons.active")
_EVENT_BITS = {
    0x4: "throttle_sw_power_cap",
    0x8: "throttle_hw_slowdown",
    0x20: "throttle_sw_thermal_slowdown",
    0x40: "throttle_hw_thermal_slowdown",
    0x80: "throttle_hw_power_brake_slowdown",
}


def parse(raw: bytes, *, run: int = 1, fields: Sequence[str] = ()) -> Parsed:
    """Readings per GPU. `fields` are the asked names where the output has no header (`noheader`)."""
    lines = [line for line in lines_of(raw) if line.strip()]
    try:
        rows = [[cell.strip() for cell in row] for row in csv.reader(lines, skipinitialspace=True)]
    except csv.Error as error:
        return parsed((), [f"not CSV: {error}"])
    names = list(fields)
    if not names and rows:
        heads = [_HEADER.fullmatch(cell) for cell in rows.pop(0)]
        names = [head.group(1) if head is not None else "" for head in heads]
    if not rows or "index" not in names:
        said = lines[0][:200] if lines else "nothing"
        return parsed((), [f"no row of a GPU with its index; nvidia-smi said: {said}"])
    readings: list[Reading] = []
    problems: list[str] = []
    for row in rows:
        if len(row) != len(names):
            problems.append(
                f"a row of {len(row)} cells where {len(names)} were asked: {', '.join(row)[:200]}"
            )
            continue
        readings.extend(_row(dict(zip(names, row, strict=True)), problems, run))
    return parsed(readings, problems)


def _row(cells: dict[str, str], problems: list[str], run: int) -> Iterator[Reading]:
    index = quantity(cells["index"])[1]
    if index is None or not 0 <= index < 256 or index != int(index):
        problems.append(f"a row whose index is {cells['index'][:40]!r}")
        return
    device = f"gpu:{int(index)}"
    for name, text in cells.items():
        if name in _WORDS:
            yield word_reading(_WORDS[name], device, text, source=ID, run=run)
        elif name in _NUMBERS:
            yield _number(name, text, device, run)
        elif name in _EVENT_FIELDS:
            yield from _reasons(text, device, run)
        elif name == "pci.bus_id":
            yield word_reading("pci_address", device, pci_address(text) or None, source=ID, run=run)
    if "driver_version" in cells:
        yield word_reading("driver_version", "node", cells["driver_version"], source=ID, run=run)


def _number(name: str, text: str, device: str, run: int) -> Reading:
    metric, unit = _NUMBERS[name]
    printed = _PLAIN_UNITS.get(unit, unit)
    if quantity(text)[2] == "":  # nounits
        printed = ""
    return number_reading(metric, device, text, unit=unit, source=ID, run=run, printed_unit=printed)


def _reasons(text: str, device: str, run: int) -> Iterator[Reading]:
    """The bit mask of clock events, as the same words the XML prints."""
    try:
        mask = int(text, 16)
    except ValueError:
        for metric in _EVENT_BITS.values():
            word = word_reading(metric, device, text, source=ID, run=run)
            if word.measured:
                word = without_value(metric, device, ReadingState.FAILED, source=ID, run=run, said=text)
            yield word
        return
    for bit, metric in _EVENT_BITS.items():
        yield measured(metric, device, "Active" if mask & bit else "Not Active", source=ID, run=run)
