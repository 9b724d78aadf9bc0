"""What does `nvidia-smi -q -x` say of every GPU, in any of the layouts that drivers 470 to 595 print?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree as ET

from provisioning.validation.parsers.parsed import Parsed, measured, parsed, pci_address, without_value
from provisioning.validation.reading import NODE, Reading, ReadingState
from provisioning.validation.text_states import number_reading, quantity, word_reading

ID = "nvidia-smi-xml"
MAX_GPUS = 256
_PROLOG = re.compile(rb"<\?xml|<!DOCTYPE|<nvidia_smi_log")
_LOST = re.compile(
    r"Unable to determine the device handle for GPU\s*\d*:?\s*([0-9a-fA-F:.]+?):?\s+(.+)", re.IGNORECASE
)

_DRIVER_FAILED = re.compile(
    r"Failed to initialize NVML|NVIDIA-SMI has failed|No devices were found", re.IGNORECASE
)


@dataclass(frozen=True)
class Field:
    """Where one number or word may stand: the first path that exists in this layout is read."""

    metric: str
    paths: tuple[str, ...]
    unit: str | None = None  # None: a word
    printed: str | None = None


_WORDS = (
    Field("gpu_model", ("product_name",)),
    Field("gpu_uuid", ("uuid",)),
    Field("gpu_serial", ("serial",)),
    Field("gpu_part_number", ("gpu_part_number",)),
    Field("vbios", ("vbios_version",)),
    Field("performance_state", ("performance_state",)),
    Field("persistence_mode", ("persistence_mode",)),
    Field("mig_mode", ("mig_mode/current_mig",)),
    Field("recovery_action", ("gpu_recovery_action",)),
    Field("ecc_mode", ("ecc_mode/current_ecc",)),
    Field("ecc_sram_threshold_exceeded", ("ecc_errors/aggregate/sram_threshold_exceeded",)),
    Field("channel_repair_pending", ("ecc_errors/channel_repair_pending",)),
    Field("tpc_repair_pending", ("ecc_errors/tpc_repair_pending",)),
    Field("unrepairable_memory", ("ecc_errors/unrepairable_memory",)),
    Field("remap_pending", ("remapped_rows/remapped_row_pending",)),
    Field("remap_failure", ("remapped_rows/remapped_row_failure",)),
    Field("retired_pages_pending", ("retired_pages/pending_retirement", "retired_pages/pending_blacklist")),
    Field("fabric_state", ("fabric/state",)),
    Field("fabric_status", ("fabric/status",)),
    Field("fabric_cluster_uuid", ("fabric/clusterUuid",)),
)
_EVENTS = ("clocks_event_reasons/clocks_event_reason_", "clocks_throttle_reasons/clocks_throttle_reason_")
_THROTTLES = (
    "hw_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown", "sw_thermal_slowdown", "sw_power_cap"
)  # fmt: skip
_FLAGS = tuple(Field(f"throttle_{reason}", tuple(head + reason for head in _EVENTS)) for reason in _THROTTLES)
_COUNTERS = tuple(
    Field(
        f"throttle_time_{reason}",
        (f"clocks_event_reasons_counters/clocks_event_reasons_counters_{reason}",),
        "us",
    )
    for reason in ("hw_therm_slowdown", "hw_power_brake", "sw_therm_slowdown", "sw_power_cap")
)
_LINK = "pci/pci_gpu_link_info/"
_NUMBERS = (
    Field("gpu_memory_total", ("fb_memory_usage/total",), "MiB"),
    Field("pcie_gen_current", (_LINK + "pcie_gen/current_link_gen",), ""),
    Field("pcie_gen_max", (_LINK + "pcie_gen/max_link_gen",), ""),
    Field("pcie_width_current", (_LINK + "link_widths/current_link_width",), "", "x"),
    Field("pcie_width_max", (_LINK + "link_widths/max_link_width",), "", "x"),
    Field("pcie_replays", ("pci/replay_counter",), ""),
    Field("gpu_utilization", ("utilization/gpu_util",), "%"),
    Field("ecc_dram_uncorrectable", ("ecc_errors/volatile/dram_uncorrectable",), ""),
    Field("ecc_dram_uncorrectable_total", ("ecc_errors/aggregate/dram_uncorrectable",), ""),
    Field("remapped_rows_correctable", ("remapped_rows/remapped_row_corr",), ""),
    Field("remapped_rows_uncorrectable", ("remapped_rows/remapped_row_unc",), ""),
    Field("retired_pages_double_bit", ("retired_pages/double_bit_retirement/retired_count",), ""),
    Field("temperature", ("temperature/gpu_temp",), "C"),
    Field("memory_temperature", ("temperature/memory_temp",), "C"),
    Field("power_limit", (
        "gpu_power_readings/current_power_limit", "gpu_power_readings/power_limit", "power_readings/power_limit",
    ), "W"),
    Field("power_draw", (
        "gpu_power_readings/instant_power_draw", "gpu_power_readings/average_power_draw",
        "gpu_power_readings/power_draw", "power_readings/power_draw",
    ), "W"),
    Field("clock_sm", ("clocks/sm_clock",), "MHz"),
    Field("clock_sm_max", ("max_clocks/sm_clock",), "MHz"),
)  # fmt: skip
_HEADROOM = ("temperature/gpu_temp_tlimit", "temperature/gpu_temp_max_gpu_tlimit_threshold")
_LIMITS = ("temperature/gpu_temp_max_gpu_threshold", "temperature/gpu_temp_slow_threshold")


def parse(raw: bytes, *, run: int = 1) -> Parsed:
    """Readings per GPU (`gpu:0` in the order of the output) and of the node. Never raises."""
    start = _PROLOG.search(raw)
    before = raw if start is None else raw[: start.start()]
    lost = list(_lost(before.decode("utf-8", errors="replace"), run))
    if start is None:
        return _without_xml(before, lost, run)
    document = raw[start.start() :]
    if b"<!ENTITY" in document:
        return parsed(lost, ["the XML declares entities, which nvidia-smi never does: not read"])
    root, gpus, problem = _read(document)
    readings = lost + list(_of_node(root, len(gpus), run, complete=not problem))
    for index, gpu in enumerate(gpus[:MAX_GPUS]):
        readings.extend(_of_gpu(gpu, f"gpu:{index}", run))
    return parsed(readings, [problem] if problem else [])


def _without_xml(raw: bytes, lost: list[Reading], run: int) -> Parsed:
    """No XML at all: what it said instead, and whether that is the driver failing as a whole."""
    words = [line.strip() for line in raw.decode("utf-8", errors="replace").splitlines() if line.strip()]
    failure = next((line[:200] for line in words if _DRIVER_FAILED.search(line)), "")
    readings = [*lost, *([measured("driver_failure", NODE, failure, source=ID, run=run)] if failure else [])]
    return parsed(readings, [f"nvidia-smi printed no XML; it said: {words[0][:200] if words else 'nothing'}"])


def _lost(text: str, run: int) -> Iterator[Reading]:
    """GPUs that nvidia-smi only speaks of in a line of text, in three spellings of their address."""
    for line in text.splitlines():
        found = _LOST.search(line)
        if found is not None:
            address = pci_address(found.group(1))
            device = f"pci:{address}" if address else NODE
            yield measured("gpu_lost", device, found.group(2).strip()[:200], source=ID, run=run)


def _read(document: bytes) -> tuple[dict[str, str], list[ET.Element], str]:
    """The node's own fields, the complete GPU elements, and what is wrong with the XML ("" where nothing is).

    Read piece by piece, so that a cut-off output still gives the GPUs before the cut.
    """
    reader: Any = ET.XMLPullParser(events=("start", "end"))
    fields: dict[str, str] = {}
    gpus: list[ET.Element] = []
    depth = 0
    problem = "the XML is cut off"
    try:
        reader.feed(document)
        reader.close()
        problem = ""
    except (ET.ParseError, ValueError, LookupError) as error:
        problem = f"the XML is cut off or broken: {str(error)[:100]}"
    try:
        for event, element in reader.read_events():
            depth += 1 if event == "start" else -1
            if event == "end" and depth == 1:
                if element.tag == "gpu":
                    gpus.append(element)
                else:
                    fields.setdefault(element.tag, element.text or "")
    except (ET.ParseError, ValueError) as error:
        problem = problem or f"the XML is cut off or broken: {str(error)[:100]}"
    return fields, gpus, problem


def _of_node(fields: dict[str, str], elements: int, run: int, *, complete: bool) -> Iterator[Reading]:
    yield word_reading("driver_version", NODE, fields.get("driver_version"), source=ID, run=run)
    yield word_reading("cuda_version", NODE, fields.get("cuda_version"), source=ID, run=run)
    yield number_reading("gpus_attached", NODE, fields.get("attached_gpus"), unit="", source=ID, run=run)
    if complete:
        yield measured("gpu_elements", NODE, float(elements), source=ID, run=run)
    else:
        yield without_value(
            "gpu_elements", NODE, ReadingState.FAILED, source=ID, run=run, said="XML is cut off"
        )


def _of_gpu(gpu: ET.Element, device: str, run: int) -> Iterator[Reading]:
    address = pci_address(gpu.get("id", ""))
    if address:
        yield measured("pci_address", device, address, source=ID, run=run)
    else:
        yield without_value("pci_address", device, ReadingState.FAILED, source=ID, run=run)
    for field in (*_WORDS, *_FLAGS):
        yield word_reading(field.metric, device, _text(gpu, field.paths), source=ID, run=run)
    for field in (*_NUMBERS, *_COUNTERS):
        yield number_reading(
            field.metric,
            device,
            _text(gpu, field.paths),
            unit=field.unit or "",
            source=ID,
            run=run,
            printed_unit=field.printed,
        )
    yield _remap_block(gpu, device, run)
    for span, metric in (
        ("volatile", "ecc_sram_uncorrectable"),
        ("aggregate", "ecc_sram_uncorrectable_total"),
    ):
        yield _sram(gpu, device, run, span=span, metric=metric)
    yield _margin(gpu, device, run)


def _text(gpu: ET.Element, paths: tuple[str, ...]) -> str | None:
    """The text of the first path that carries a value, else of the first that exists; None where none exists."""
    first: str | None = None
    for path in paths:
        text = _one(gpu, path)
        if text is None:
            continue
        if first is None:
            first = text
        if quantity(text)[0] in (ReadingState.MEASURED, ReadingState.FAILED):
            return text
    return first


def _one(gpu: ET.Element, path: str) -> str | None:
    """The text at a path; a block that is the bare text N/A answers for everything inside it."""
    element = gpu
    for step in path.split("/"):
        inner = element.find(step)
        if inner is None:
            bare = (element.text or "").strip()
            return bare if element is not gpu and bare and len(element) == 0 else None
        element = inner
    return element.text or ""


def _remap_block(gpu: ET.Element, device: str, run: int) -> Reading:
    """Whether this GPU can remap rows at all: a word, so that "N/A for all" is told from "a field is missing"."""
    block = gpu.find("remapped_rows")
    if block is None:
        return without_value("row_remapping", device, ReadingState.MISSING, source=ID, run=run)
    if len(block) == 0:
        return word_reading("row_remapping", device, block.text, source=ID, run=run)
    return measured("row_remapping", device, "yes", source=ID, run=run)


def _sram(gpu: ET.Element, device: str, run: int, *, span: str, metric: str) -> Reading:
    """One number from either layout: `sram_uncorrectable`, or its two parts parity and secded (v12 and later)."""
    whole = _one(gpu, f"ecc_errors/{span}/sram_uncorrectable")
    if whole is not None:
        return number_reading(metric, device, whole, unit="", source=ID, run=run)
    parts = [
        number_reading(
            metric,
            device,
            _one(gpu, f"ecc_errors/{span}/sram_uncorrectable_{part}"),
            unit="",
            source=ID,
            run=run,
        )
        for part in ("parity", "secded")
    ]
    unread = [part for part in parts if not part.measured]
    if unread:
        return unread[0]
    return measured(metric, device, sum(part.number or 0.0 for part in parts), source=ID, run=run)


def _margin(gpu: ET.Element, device: str, run: int) -> Reading:
    """Degrees left until the GPU slows itself: from the limit (older drivers) or from the headroom (newer ones)."""
    headroom = quantity(_one(gpu, _HEADROOM[0]))
    floor = quantity(_one(gpu, _HEADROOM[1]))
    if headroom[1] is not None:
        return measured(
            "temperature_margin", device, headroom[1] - (floor[1] or 0.0), unit="C", source=ID, run=run,
            detail=(("layout", "headroom"),),
        )  # fmt: skip
    now = quantity(_one(gpu, "temperature/gpu_temp"))
    limit = quantity(_text(gpu, _LIMITS))
    if now[1] is not None and limit[1] is not None:
        return measured(
            "temperature_margin", device, limit[1] - now[1], unit="C", source=ID, run=run,
            detail=(("layout", "limit"),),
        )  # fmt: skip
    # A failed read outranks a field that is not there.
    states = [state for state, number, _ in (headroom, now, limit) if number is None]
    state = ReadingState.FAILED if ReadingState.FAILED in states else states[-1]
    return without_value("temperature_margin", device, state, unit="C", source=ID, run=run)
