"""Is the node's clock synchronised, and how far is it off?"""

from __future__ import annotations

import re

from provisioning.validation.parsers.parsed import Parsed, finite, lines_of, measured, parsed, without_value
from provisioning.validation.reading import NODE, Reading, ReadingState

ID = "chronyc-tracking"
_COLUMNS = 14  # reference id, name, stratum, time, offset, last, rms, frequency, residual, skew, delay, dispersion, interval, leap
_STRATUM = re.compile(r"Stratum\s*:\s*(\d+)")
_OFFSET = re.compile(r"System time\s*:\s*([\d.eE+-]+) seconds (fast|slow)")
_LEAP = re.compile(r"Leap status\s*:\s*(.+)")


def parse(raw: bytes, *, run: int = 1) -> Parsed:
    """`chronyc -c tracking` (CSV) or `chronyc tracking` (text): stratum, offset in seconds, leap status."""
    lines = [line.strip() for line in lines_of(raw) if line.strip()]
    for line in lines:
        cells = line.split(",")
        if len(cells) == _COLUMNS:
            return parsed(_readings(cells[2], cells[4], cells[13], run))
    text = "\n".join(lines)
    stratum, offset, leap = _STRATUM.search(text), _OFFSET.search(text), _LEAP.search(text)
    if stratum is None and leap is None:
        return parsed((), [f"chronyc gave no tracking: {text[:200]}"])
    signed = f"{'-' if offset.group(2) == 'slow' else ''}{offset.group(1)}" if offset is not None else ""
    found = (stratum.group(1) if stratum else "", signed, leap.group(1).strip() if leap else "")
    return parsed(_readings(*found, run))


def _readings(stratum: str, offset: str, leap: str, run: int) -> list[Reading]:
    readings = [_number("clock_stratum", stratum, "", run), _number("clock_offset", offset, "s", run)]
    if leap:
        readings.append(measured("clock_leap_status", NODE, leap, source=ID, run=run))
    else:
        missing = without_value("clock_leap_status", NODE, ReadingState.MISSING, source=ID, run=run)
        readings.append(missing)
    return readings


def _number(metric: str, text: str, unit: str, run: int) -> Reading:
    value = finite(text)
    if value is None:
        state = ReadingState.FAILED if text else ReadingState.MISSING
        return without_value(metric, NODE, state, unit=unit, source=ID, run=run, said=text)
    return measured(metric, NODE, value, unit=unit, source=ID, run=run)
