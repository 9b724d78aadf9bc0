"""How fast is the memory of every GPU, by the triad of GPU STREAM?"""

from __future__ import annotations

import re

from provisioning.validation.parsers.parsed import Parsed, finite, lines_of, measured, parsed
from provisioning.validation.reading import Reading

ID = "gpu-stream"
_TRIAD = re.compile(r"STREAM_TRIAD_\w+_gpu_(\d{1,3})_buffer_\d+_block_(\d+)\s+(\S+)(?:\s+(\S+))?")


def parse(raw: bytes, *, run: int = 1) -> Parsed:
    """mem_bw (GB/s) per GPU: the best triad over the block sizes, since the block size is the tool's to choose."""
    best: dict[int, float] = {}
    lines = lines_of(raw)
    for line in lines:
        found = _TRIAD.match(line.strip())
        speed = finite(found.group(3)) if found is not None else None
        if found is not None and speed is not None and speed > 0:
            gpu = int(found.group(1))
            best[gpu] = max(best.get(gpu, 0.0), speed)
    if not best:
        said = next((line.strip()[:200] for line in lines if line.strip()), "nothing")
        return parsed((), [f"GPU STREAM measured nothing; it said: {said}"])
    readings: list[Reading] = [
        measured("mem_bw", f"gpu:{gpu}", speed, unit="GB/s", source=ID, run=run)
        for gpu, speed in sorted(best.items())
    ]
    return parsed(readings)
