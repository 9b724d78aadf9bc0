"""Which NVIDIA and Mellanox functions are on the PCI bus, and at what width and speed did they train?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from provisioning.validation.parsers.parsed import (
    Parsed,
    lines_of,
    measured,
    parsed,
    pci_address,
    without_value,
)
from provisioning.validation.reading import NODE, Reading, ReadingState

ID = "lspci"
_HEAD = re.compile(
    r"((?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) ([^:]+?)(?: \[([0-9a-f]{4})\])?: (.+)"
)
_LINK = re.compile(r"Lnk(Cap|Sta):\s.*?Speed ([\d.]+|unknown)(?:GT/s)?.*?Width x(\d{1,2})")
_DOWN = re.compile(r"\((?:strange|downgraded|overdriven)\)")
_GENERATIONS = {"2.5": 1, "5": 2, "8": 3, "16": 4, "32": 5, "64": 6}
_GPU_CLASSES = ("3D controller", "VGA compatible controller", "Display controller")


@dataclass
class _Function:
    address: str
    kind: str
    text: str
    cap: tuple[float, float] | None = None
    sta: tuple[float, float] | None = None
    sta_line: str = ""
    acs: str = ""


def parse(raw: bytes, *, run: int = 1) -> Parsed:
    """Counts of GPUs and NVSwitches on the bus (node) and link width and generation per function (`pci:…`)."""
    functions = list(_functions(lines_of(raw)))
    if not functions:
        return parsed((), ["lspci listed no function"])
    readings: list[Reading] = []
    gpus = [one for one in functions if one.kind == "gpu"]
    switches = [one for one in functions if one.kind == "nvswitch"]
    readings.append(measured("gpus_on_bus", NODE, float(len(gpus)), source=ID, run=run))
    readings.append(measured("nvswitches_on_bus", NODE, float(len(switches)), source=ID, run=run))
    for one in functions:
        readings.extend(_links(one, run))
    return parsed(readings)


def _functions(lines: list[str]) -> Iterator[_Function]:
    current: _Function | None = None
    for line in lines:
        head = _HEAD.match(line)
        if head is not None:
            if current is not None:
                yield current
            address, kind, _, text = head.groups()
            current = _Function(pci_address(address), _kind(kind, text), text[:120])
        elif current is not None:
            _take(current, line.strip())
    if current is not None:
        yield current


def _kind(kind: str, text: str) -> str:
    if "NVIDIA" in text or "[10de:" in text:
        if kind.startswith(_GPU_CLASSES):
            return "gpu"
        return "nvswitch" if kind.startswith("Bridge") else "nvidia"
    if "Mellanox" in text or "[15b3:" in text:
        return "nic"
    return "bridge" if "bridge" in kind.lower() else "other"


def _take(function: _Function, line: str) -> None:
    found = _LINK.match(line)
    if found is not None:
        pair = (float(_GENERATIONS.get(found.group(2), 0)), float(found.group(3)))
        if found.group(1) == "Cap" and function.cap is None:
            function.cap = pair
        elif found.group(1) == "Sta" and function.sta is None:
            function.sta = pair
            function.sta_line = line[:200]
    elif line.startswith("ACSCtl:"):
        function.acs = line.removeprefix("ACSCtl:").strip()[:200]
    elif line.startswith("LnkSta:") and "!!!" in line:
        function.sta_line = line[:200]


def _links(function: _Function, run: int) -> Iterator[Reading]:
    device = f"pci:{function.address}"
    detail = (("kind", function.kind), ("name", function.text), ("said", function.sta_line))
    if function.cap is not None and function.sta is not None:
        marked = _DOWN.findall(function.sta_line)
        values = (
            ("lspci_gen", function.sta[0]), ("lspci_gen_cap", function.cap[0]),
            ("lspci_width", function.sta[1]), ("lspci_width_cap", function.cap[1]),
        )  # fmt: skip
        for metric, value in values:
            if value > 0:
                yield measured(metric, device, value, source=ID, run=run, detail=detail)
        yield measured("lspci_marked", device, " ".join(marked) or "ok", source=ID, run=run, detail=detail)
    elif function.kind in ("gpu", "nic", "nvswitch"):
        yield without_value(
            "lspci_width", device, ReadingState.MISSING, source=ID, run=run, said=function.sta_line
        )
    if function.kind == "bridge" and function.acs:
        on = "yes" if "SrcValid+" in function.acs else "no"
        yield measured("acs_source_validation", device, on, source=ID, run=run)
