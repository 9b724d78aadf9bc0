"""Which file systems are mounted where, from `findmnt -J`?"""

from __future__ import annotations

import json
from collections.abc import Iterator

from provisioning.validation.parsers.parsed import Parsed, measured, parsed
from provisioning.validation.reading import NODE, Reading

ID = "mounts"
MAX_MOUNTS = 5000


def parse(raw: bytes, *, run: int = 1) -> Parsed:
    """One reading per mount (`mount:/data`): the value is the source, the detail has fstype and options."""
    try:
        tree = json.loads(raw)["filesystems"]
        rows = list(_walk(tree))
    except (ValueError, KeyError, TypeError, RecursionError):
        return parsed((), ["findmnt gave no JSON of file systems"])
    readings: list[Reading] = [measured("mounts_listed", NODE, float(len(rows)), source=ID, run=run)]
    readings.extend(_mount(row, run) for row in rows)
    return parsed(readings)


def _walk(tree: object) -> Iterator[dict[str, object]]:
    """Depth first without recursion, since the depth is the node's to choose."""
    left = list(tree) if isinstance(tree, list) else []
    seen = 0
    while left and seen < MAX_MOUNTS:
        row = left.pop()
        seen += 1
        if not isinstance(row, dict) or not isinstance(row.get("target"), str):
            continue
        yield row
        inner = row.get("children")
        left.extend(inner if isinstance(inner, list) else [])


def _mount(row: dict[str, object], run: int) -> Reading:
    detail = (("fstype", _word(row, "fstype")), ("options", _word(row, "options")))
    device = f"mount:{_word(row, 'target')}"
    return measured("mount_source", device, _word(row, "source"), source=ID, run=run, detail=detail)


def _word(row: dict[str, object], key: str) -> str:
    value = row.get(key)
    return value[:1000] if isinstance(value, str) else ""
