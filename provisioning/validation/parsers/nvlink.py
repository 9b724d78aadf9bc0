"""How many NVLinks of every GPU are up, and how fast is each?"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from provisioning.validation.parsers.parsed import Parsed, finite, lines_of, measured, parsed, without_value
from provisioning.validation.reading import Reading, ReadingState

ID = "nvidia-smi-nvlink"
DCGMI_ID = "dcgmi-nvlink"
_GPU = re.compile(r"GPU (\d{1,3}): (.*)")
_LINK = re.compile(r"Link (\d{1,3}): (?:(\S+) GB/s|(<inactive>|\S.*))")
_DCGMI_GPU = re.compile(r"gpuId (\d{1,3}):")


def parse(raw: bytes, *, run: int = 1) -> Parsed:
    """`nvidia-smi nvlink -s`: a speed per link (GB/s one way, 0 where inactive) and the number of links up per GPU."""
    blocks: dict[int, list[str]] = {}
    current: list[str] | None = None
    for line in lines_of(raw):
        head = _GPU.match(line.strip())
        if head is not None:
            current = blocks.setdefault(int(head.group(1)), [])
        elif current is not None and line.strip():
            current.append(line.strip())
    if not blocks:
        return parsed((), ["nvidia-smi nvlink listed no GPU"])
    readings = [measured("nvlink_gpus_listed", "node", float(len(blocks)), source=ID, run=run)]
    for index, lines in sorted(blocks.items()):
        readings.extend(_gpu(index, lines, run))
    return parsed(readings)


def _gpu(index: int, lines: list[str], run: int) -> Iterator[Reading]:
    device = f"gpu:{index}"
    if any("all links are inactive" in line.lower() for line in lines):
        yield measured("nvlink_active", device, 0.0, source=ID, run=run, detail=(("said", lines[0][:200]),))
        return
    links = [found for found in (_LINK.match(line) for line in lines) if found is not None]
    if not links:
        said = " ".join(lines)[:200]
        state = ReadingState.FAILED if lines else ReadingState.MISSING
        yield without_value("nvlink_active", device, state, source=ID, run=run, said=said)
        return
    up = 0
    for link in links:
        name = f"{device}/link:{int(link.group(1))}"
        speed = finite(link.group(2)) if link.group(2) else None
        if speed is not None and speed > 0:
            up += 1
            yield measured("nvlink_speed", name, speed, unit="GB/s", source=ID, run=run)
        elif link.group(3) == "<inactive>":
            yield measured("nvlink_speed", name, 0.0, unit="GB/s", source=ID, run=run)
        else:
            yield without_value(
                "nvlink_speed", name, ReadingState.FAILED, unit="GB/s", source=ID, run=run, said=link.group(0)
            )
    detail = (("listed", str(len(links))),)
    yield measured("nvlink_active", device, float(up), source=ID, run=run, detail=detail)


def parse_dcgmi_status(raw: bytes, *, run: int = 1) -> Parsed:
    """`dcgmi nvlink -s`: U up, D down, X disabled, _ not supported; one row of letters per GPU."""
    readings: list[Reading] = []
    device = ""
    for line in lines_of(raw):
        head = _DCGMI_GPU.fullmatch(line.strip())
        if head is not None:
            device = f"gpu:{int(head.group(1))}"
            continue
        letters = line.split()
        if device and letters and set(letters) <= set("UDX_"):
            detail = (("down", str(letters.count("D"))), ("disabled", str(letters.count("X"))))
            up = float(letters.count("U"))
            readings.append(measured("nvlink_active", device, up, source=DCGMI_ID, run=run, detail=detail))
            device = ""
    return parsed(readings, [] if readings else ["dcgmi nvlink -s listed no GPU"])


def parse_dcgmi_errors(raw: bytes, gpu: int, *, run: int = 1) -> Parsed:
    """`dcgmi nvlink -e -g N -j`: error counters per link; the counters are strings."""
    try:
        links = json.loads(raw)["body"]
        return parsed(_errors(links, gpu, run))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return parsed((), ["dcgmi nvlink -e gave no JSON of links"])


def _errors(links: dict[str, dict[str, dict[str, dict[str, str]]]], gpu: int, run: int) -> list[Reading]:
    readings: list[Reading] = []
    for name, link in sorted(links.items()):
        number = name.removeprefix("Link ")
        for counter, told in sorted(link["children"].items()):
            count = finite(str(told["value"]))
            metric = "nvlink_" + counter.lower().replace(" ", "_") + "s"
            device = f"gpu:{gpu}/link:{number}"
            if count is None:
                failed = without_value(metric, device, ReadingState.FAILED, source=DCGMI_ID, run=run)
                readings.append(failed)
            else:
                readings.append(measured(metric, device, count, source=DCGMI_ID, run=run))
    return readings
