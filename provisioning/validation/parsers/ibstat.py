"""What does `ibstat` say of every port: state, physical state, rate, link layer?"""

from __future__ import annotations

import re
from collections.abc import Iterator

from provisioning.validation.parsers.parsed import Parsed, finite, lines_of, measured, parsed, without_value
from provisioning.validation.reading import Reading, ReadingState

ID = "ibstat"
_CA = re.compile(r"CA '([\w.-]{1,60})'")
_PORT = re.compile(r"Port (\d{1,3}):")
_FIELD = re.compile(r"(State|Physical state|Rate|Link layer):\s*(.*)")
_METRICS = {"State": "ib_state", "Physical state": "ib_phys_state", "Link layer": "ib_link_layer"}
_STATES = {"Active": "ACTIVE", "Initializing": "INIT", "Down": "DOWN", "Armed": "ARMED"}


def parse(raw: bytes, *, run: int = 1) -> Parsed:
    """Readings per port (`nic:mlx5_0/1`), with the states spelt as sysfs spells them."""
    readings = list(_ports(lines_of(raw), run))
    return parsed(readings, [] if readings else ["ibstat listed no port"])


def _ports(lines: list[str], run: int) -> Iterator[Reading]:
    name, device = "", ""
    for line in lines:
        text = line.strip()
        ca = _CA.fullmatch(text)
        if ca is not None:
            name, device = ca.group(1), ""
            continue
        port = _PORT.fullmatch(text)
        if port is not None and name:
            device = f"nic:{name}/{int(port.group(1))}"
            continue
        field = _FIELD.fullmatch(text)
        if field is not None and device:
            yield _reading(field.group(1), field.group(2).strip(), device, run)


def _reading(field: str, value: str, device: str, run: int) -> Reading:
    if field == "Rate":
        rate = finite(value.split()[0]) if value else None
        if rate is None:
            failed = ReadingState.FAILED
            return without_value("ib_rate", device, failed, unit="Gb/s", source=ID, run=run, said=value)
        return measured("ib_rate", device, rate, unit="Gb/s", source=ID, run=run)
    if not value:
        return without_value(_METRICS[field], device, ReadingState.MISSING, source=ID, run=run)
    return measured(_METRICS[field], device, _STATES.get(value, value), source=ID, run=run)
