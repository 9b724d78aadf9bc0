"""Did gpu-burn find a GPU that miscalculates? It says nothing of one that is slow."""

from __future__ import annotations

import re

from provisioning.validation.parsers.parsed import Parsed, lines_of, measured, parsed

ID = "gpu-burn"
_TESTED = re.compile(r"Tested (\d{1,3}) GPUs:")
_RESULT = re.compile(r"\s*GPU (\d{1,3}): (OK|FAULTY)\s*")


def parse(raw: bytes, *, run: int = 1) -> Parsed:
    """One word per GPU, OK or FAULTY, from the table at the end; without the table nothing was tested."""
    lines = lines_of(raw)
    starts = [
        (number, int(found.group(1))) for number, line in enumerate(lines) if (found := _TESTED.search(line))
    ]
    if not starts:
        return parsed((), ["gpu-burn did not get to its results"])
    first, promised = starts[-1]
    results = [
        found for found in (_RESULT.fullmatch(line) for line in lines[first + 1 :]) if found is not None
    ]
    readings = [
        measured("gpu_burn", f"gpu:{int(found.group(1))}", found.group(2), source=ID, run=run)
        for found in results
    ]
    short = len(readings) < promised
    return parsed(readings, [f"gpu-burn tested {promised} GPUs and told of {len(readings)}"] if short else [])
