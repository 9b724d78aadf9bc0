"""Which GPU and NVSwitch errors did the kernel log since this boot, how often, and how bad does it say they are?"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from provisioning.validation.parsers.parsed import Parsed, lines_of, measured, parsed, pci_address
from provisioning.validation.reading import NODE, Reading

ID = "kernel-log"
BURST_GAP_SECONDS = 180.0
"""Lines of one fault come in bursts: a new burst begins after three minutes of silence (NVIDIA Fleet Intelligence)."""

_XID = re.compile(r"NVRM: Xid \((?:PCI:)?([0-9a-fA-F:.]+)\): (\d{1,6})(?:,\s*(.*))?$")
_SXID = re.compile(r"nvidia-nvswitch(\d+): SXid \((?:PCI:)?([0-9a-fA-F:.]+)\): (\d{1,6}),\s*(.*)$")
_OFF_ONE_LINE = re.compile(r"NVRM: GPU ([0-9a-fA-F:.]+): GPU has fallen off the bus")
_OFF_FIRST = re.compile(r"NVRM: The NVIDIA GPU ([0-9a-fA-F:.]+)\s*$")
_OFF_LAST = re.compile(r"NVRM: fallen off the bus and is not responding")
_NVLINK5 = re.compile(r"([A-Z][\w/]+)\s+(Nonfatal|Fatal)\s+XC")
_RECOVERY = re.compile(r"recovery action changed from \S+ \(([^)]*)\) to \S+ \(([^)]*)\)")
_BOOT = re.compile(r"(?:^|[\]:] )Linux version \d")
_ISO = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d{1,6})?(?:Z|[+-]\d\d:?\d\d)?)")
_SECONDS = re.compile(r"^(?:<\d+>)?\[\s*(\d+\.\d+)\]")
_HUMAN = re.compile(r"^\[(\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4})\]")
_TEXT_LIMIT = 300


@dataclass(frozen=True)
class _Event:
    metric: str
    device: str
    code: int
    detail: tuple[tuple[str, str], ...]
    text: str
    at: float | None


def parse(raw: bytes, *, run: int = 1) -> Parsed:
    """One reading per (code, device, what it says of itself) of the current boot, with its count and bursts.

    `kernel_log_lines` says how much was read, and whether the log reaches back to the boot.
    """
    lines = [line for line in lines_of(raw) if line.strip()]
    if not lines:
        return parsed((), ["the kernel log is empty: nothing can be said of errors"])
    boots = [number for number, line in enumerate(lines) if _BOOT.search(line)]
    start = boots[-1] if boots else 0
    older = tuple(_events(lines[:start])) if boots else ()
    readings = [
        measured(
            "kernel_log_lines",
            NODE,
            float(len(lines) - start),
            source=ID,
            run=run,
            detail=(("reaches_boot", "yes" if boots else "no"), ("errors_before_boot", str(len(older)))),
        )  # fmt: skip
    ]
    readings.extend(_grouped(_events(lines[start:]), run))
    return parsed(readings)


def _events(lines: list[str]) -> Iterable[_Event]:
    fallen = ""  # the address of the first of the three lines that carry no Xid
    for line in lines:
        first = _OFF_FIRST.search(line)
        if first is not None:
            fallen = pci_address(first.group(1))
            continue
        if fallen and _OFF_LAST.search(line):
            yield _fallen(fallen, line)
            fallen = ""
            continue
        event = _event(line)
        if event is not None:
            yield event


def _event(line: str) -> _Event | None:
    xid = _XID.search(line)
    if xid is not None:
        return _xid(xid, line)
    sxid = _SXID.search(line)
    if sxid is not None:
        return _sxid(sxid, line)
    off = _OFF_ONE_LINE.search(line)
    if off is not None and pci_address(off.group(1)):
        return _fallen(pci_address(off.group(1)), line)
    return None


def _xid(found: re.Match[str], line: str) -> _Event | None:
    address = pci_address(found.group(1))
    if not address:
        return None
    message = (found.group(3) or "").strip()
    detail: list[tuple[str, str]] = []
    nvlink5 = _NVLINK5.search(message)
    if nvlink5 is not None:
        detail += [("unit", nvlink5.group(1)), ("fatality", nvlink5.group(2).lower())]
    recovery = _RECOVERY.search(message)
    if recovery is not None:
        detail += [("recovery", recovery.group(2))]
    return _Event(
        "xid", f"pci:{address}", int(found.group(2)), tuple(detail), message[:_TEXT_LIMIT], _when(line)
    )


def _sxid(found: re.Match[str], line: str) -> _Event:
    message = found.group(4).strip()
    word = message.split(",")[0].strip().lower()
    fatality = {
        "fatal": "fatal",
        "non-fatal": "nonfatal",
        "always-fatal": "always fatal",
        "always fatal": "always fatal",
    }
    detail = (("fatality", fatality.get(word, "")), ("switch", found.group(1)))
    address = pci_address(found.group(2))
    device = f"pci:{address}" if address else NODE
    return _Event("sxid", device, int(found.group(3)), detail, message[:_TEXT_LIMIT], _when(line))


def _fallen(address: str, line: str) -> _Event:
    """A GPU off the bus is Xid 79 whether or not the line carries the number."""
    return _Event("xid", f"pci:{address}", 79, (), "GPU has fallen off the bus", _when(line))


def _grouped(events: Iterable[_Event], run: int) -> list[Reading]:
    groups: dict[tuple[str, str, int, tuple[tuple[str, str], ...]], list[_Event]] = {}
    for event in events:
        groups.setdefault((event.metric, event.device, event.code, event.detail), []).append(event)
    readings = []
    for (metric, device, code, detail), group in sorted(groups.items(), key=lambda item: item[0]):
        counts = (("bursts", str(_bursts(group))), ("count", str(len(group))), ("said", group[-1].text))
        readings.append(measured(metric, device, float(code), source=ID, run=run, detail=(*detail, *counts)))
    return readings


def _bursts(group: list[_Event]) -> int:
    times = sorted(event.at for event in group if event.at is not None)
    gaps = zip(times, times[1:], strict=False)
    return 1 + sum(1 for before, after in gaps if after - before > BURST_GAP_SECONDS)


def _when(line: str) -> float | None:
    """Seconds on the log's own clock; None where the line carries no time we know."""
    iso = _ISO.search(line[:120])
    if iso is not None:
        return _stamp(iso.group(1).replace(",", "."), "")
    seconds = _SECONDS.match(line)
    if seconds is not None:
        return float(seconds.group(1))
    human = _HUMAN.match(line)
    return _stamp(human.group(1), "%a %b %d %H:%M:%S %Y") if human is not None else None


def _stamp(text: str, layout: str) -> float | None:
    try:
        at = datetime.strptime(text, layout) if layout else datetime.fromisoformat(text)  # noqa: DTZ007
    except ValueError:
        return None
    # Only differences are used, so a time without a zone is as good as one with.
    return (at.replace(tzinfo=None) - datetime(1970, 1, 1)).total_seconds()  # noqa: DTZ001
