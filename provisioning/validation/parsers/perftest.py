"""What bandwidth did `ib_write_bw` reach over one NIC?"""

from __future__ import annotations

import re

from provisioning.validation.parsers.parsed import Parsed, finite, lines_of, measured, parsed

ID = "ib-write-bw"
_DEVICE = re.compile(r"Device\s*:\s*([\w.-]+)")
_HEAD = re.compile(r"#bytes\s+#iterations\s+BW peak\[(\S+)\]\s+BW average\[(\S+)\]")
_GBITS = {"MB/sec": 8 * 2**20 / 1e9, "MiB/sec": 8 * 2**20 / 1e9, "Gb/sec": 1.0}
"""perftest's MB is 2**20 bytes (perftest manual), so 24056 MB/sec is 201.8 Gb/s."""


def parse(raw: bytes, *, run: int = 1) -> Parsed:
    """Average bandwidth (Gb/s) of the largest message size."""
    device, unit = "", ""
    best: tuple[float, float] | None = None
    for line in lines_of(raw):
        named, head = _DEVICE.search(line), _HEAD.search(line)
        if named is not None:
            device = named.group(1)
        elif head is not None:
            unit = head.group(2)
        elif unit in _GBITS:
            row = _row(line)
            if row is not None and (best is None or row[0] >= best[0]):
                best = row
    if best is None or not device:
        return parsed((), ["ib_write_bw measured nothing"])
    value = best[1] * _GBITS[unit]
    return parsed([measured("ib_write_bw", f"nic:{device}/1", value, unit="Gb/s", source=ID, run=run)])


def _row(line: str) -> tuple[float, float] | None:
    cells = line.split()
    if len(cells) != 5 or not cells[0].isdecimal():
        return None
    size, average = finite(cells[0]), finite(cells[3])
    return (size, average) if size is not None and average is not None and average > 0 else None
