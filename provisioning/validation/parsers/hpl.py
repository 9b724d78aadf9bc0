"""What did HPL reach, and did its residual pass?"""

from __future__ import annotations

import re

from provisioning.validation.parsers.parsed import Parsed, finite, lines_of, measured, parsed, without_value
from provisioning.validation.reading import NODE, ReadingState

ID = "hpl"
_RESULT = re.compile(r"W[RC]\S+\s+\d+\s+\d+\s+\d+\s+\d+\s+\S+\s+(\S+)")
_RESIDUAL = re.compile(r"\|\|Ax-b\|\|.*\.\.\. (PASSED|FAILED)")


def parse(raw: bytes, *, run: int = 1) -> Parsed:
    """hpl_gflops of the fastest solution and hpl_residual (PASSED or FAILED, FAILED if any did)."""
    lines = [line.strip() for line in lines_of(raw)]
    speeds = [
        finite(found.group(1)) for found in (_RESULT.match(line) for line in lines) if found is not None
    ]
    known = [speed for speed in speeds if speed is not None and speed > 0]
    residuals = [found.group(1) for found in (_RESIDUAL.match(line) for line in lines) if found is not None]
    if not known and not residuals:
        return parsed((), ["HPL did not get to a result"])
    if known:
        speed = measured("hpl_gflops", NODE, max(known), unit="GFLOP/s", source=ID, run=run)
    else:
        speed = without_value("hpl_gflops", NODE, ReadingState.MISSING, unit="GFLOP/s", source=ID, run=run)
    if residuals:
        word = "FAILED" if "FAILED" in residuals else "PASSED"
        residual = measured("hpl_residual", NODE, word, source=ID, run=run)
    else:
        residual = without_value("hpl_residual", NODE, ReadingState.MISSING, source=ID, run=run)
    return parsed([speed, residual])
