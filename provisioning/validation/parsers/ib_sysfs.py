"""Is every port of /sys/class/infiniband up at its rate, and which of its counters can no longer count?"""

from __future__ import annotations

import re
from collections.abc import Iterator

from provisioning.validation.parsers.parsed import Parsed, finite, lines_of, measured, parsed, without_value
from provisioning.validation.reading import Reading, ReadingState

ID = "ib-sysfs"

NARROW_COUNTERS = {
    "link_downed": 8,
    "link_error_recovery": 8,
    "excessive_buffer_overrun_errors": 4,
    "local_link_integrity_errors": 4,
    "port_rcv_constraint_errors": 8,
    "port_xmit_constraint_errors": 8,
    "symbol_error": 16,
    "port_rcv_errors": 16,
    "port_rcv_remote_physical_errors": 16,
    "port_rcv_switch_relay_errors": 16,
    "port_xmit_discards": 16,
    "VL15_dropped": 16,
}
"""Bits of the PortCounters fields (InfiniBand specification, volume 1): at the top they stop, they do not wrap."""

_PATH = re.compile(
    r"^(?:.*/)?([\w.-]+)/ports/(\d{1,3})/(state|phys_state|rate|link_layer|counters/(\w+)): ?(.*)$"
)
_STATE = re.compile(r"(?:\d+: *)?(.*)")
_RATE = re.compile(r"([\d.]+) Gb/sec(?: \((.*)\))?")


def parse(raw: bytes, *, run: int = 1) -> Parsed:
    """Readings per port (`nic:mlx5_0/1`) from the folded "path: value" lines."""
    readings: list[Reading] = []
    for line in lines_of(raw):
        found = _PATH.match(line.strip())
        if found is not None:
            readings.extend(_line(found, run))
    return parsed(readings, [] if readings else ["no port of any InfiniBand device was listed"])


def _line(found: re.Match[str], run: int) -> Iterator[Reading]:
    name, port, what, counter, value = found.groups()
    device = f"nic:{name}/{port}"
    if counter is not None:
        if counter in NARROW_COUNTERS:
            yield _counter(counter, value, device, run)
    elif what == "rate":
        yield _rate(value, device, run)
    else:
        metric = {"state": "ib_state", "phys_state": "ib_phys_state", "link_layer": "ib_link_layer"}[what]
        word = _STATE.fullmatch(value.strip())
        text = word.group(1).strip() if word is not None else ""
        if text:
            yield measured(metric, device, text, source=ID, run=run)
        else:
            yield without_value(metric, device, ReadingState.MISSING, source=ID, run=run)


def _rate(value: str, device: str, run: int) -> Reading:
    found = _RATE.fullmatch(value.strip())
    rate = finite(found.group(1)) if found is not None else None
    if rate is None:
        failed = ReadingState.FAILED
        return without_value("ib_rate", device, failed, unit="Gb/s", source=ID, run=run, said=value)
    return measured("ib_rate", device, rate, unit="Gb/s", source=ID, run=run)


def _counter(counter: str, value: str, device: str, run: int) -> Reading:
    count = finite(value.strip())
    metric = f"ib_{counter.lower()}"
    if count is None or count < 0:
        return without_value(metric, device, ReadingState.FAILED, source=ID, run=run, said=value)
    top = 2 ** NARROW_COUNTERS[counter] - 1
    # Drivers that keep 64-bit counters go past the top: only a counter that stands exactly at it is stuck.
    detail = (("saturated", "yes"),) if count == top else ()
    return measured(metric, device, count, source=ID, run=run, detail=detail)
