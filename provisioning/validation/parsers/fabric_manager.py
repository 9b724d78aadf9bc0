"""Does the fabric manager run, and what errors did it log?"""

from __future__ import annotations

import re

from provisioning.validation.parsers.parsed import Parsed, lines_of, measured, parsed, without_value
from provisioning.validation.reading import NODE, Reading, ReadingState

ID = "fabric-manager"
LOG_ID = "fabric-manager-log"
_PROPERTIES = {"ActiveState": "fabric_manager_active", "SubState": "fabric_manager_sub"}
_ERROR = re.compile(r"\[ERROR\]\s*(?:\[[^\]]*\]\s*)?(.*)")
_SXID = re.compile(r"NVSwitch (non-fatal|fatal) error (\d{1,6}) .*?pci bus id ([0-9a-fA-F:.]+)")


def parse(raw: bytes, *, run: int = 1) -> Parsed:
    """`systemctl show nvidia-fabricmanager`: its states as words. An unknown unit shows as inactive and dead."""
    told: dict[str, str] = {}
    for line in lines_of(raw):
        key, equals, value = line.strip().partition("=")
        if equals:
            told[key] = value
    readings: list[Reading] = []
    for key, metric in _PROPERTIES.items():
        value = told.get(key, "")
        if value:
            readings.append(measured(metric, NODE, value[:60], source=ID, run=run))
        else:
            readings.append(without_value(metric, NODE, ReadingState.MISSING, source=ID, run=run))
    known = any(key in told for key in _PROPERTIES)
    return parsed(readings, [] if known else ["systemctl told nothing of the fabric manager"])


def parse_log(raw: bytes, *, run: int = 1) -> Parsed:
    """fabricmanager.log: the number of error lines, and the NVSwitch errors among them as SXids."""
    lines = lines_of(raw)
    if not any(line.strip() for line in lines):
        return parsed((), ["the fabric manager's log is empty"])
    errors = [found.group(1) for found in (_ERROR.search(line) for line in lines) if found is not None]
    readings = [measured("fabric_manager_errors", NODE, float(len(errors)), source=LOG_ID, run=run)]
    for text in errors:
        found = _SXID.search(text)
        if found is not None:
            fatality = found.group(1).replace("-", "")
            detail = (("fatality", fatality), ("said", text[:300]))
            readings.append(
                measured("sxid", NODE, float(found.group(2)), source=LOG_ID, run=run, detail=detail)
            )
    return parsed(readings)
