"""What bus bandwidth did a collective reach at large sizes, and were its results correct?"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

from provisioning.validation.parsers.parsed import Parsed, finite, lines_of, measured, parsed, without_value
from provisioning.validation.reading import NODE, Reading, ReadingState

ID = "nccl-all-reduce"
CLUSTER_ID = "nccl-all-reduce-cluster"
LARGE_BYTES = 2**30
"""The metric is the median over sizes of 1 GiB and more; the printed average depends on the sizes that were asked."""

_ROW = re.compile(r"\s*\d+\s+\d+\s+[a-z]\w*\s")
_RANK = re.compile(r"#\s+Rank\s+(\d{1,6})\s")
_HALF = 4  # time, algbw, busbw, wrong


@dataclass(frozen=True)
class _Row:
    size: float
    busbw: float | None
    wrong: float | None
    wrong_told: bool


def parse(raw: bytes, *, run: int = 1, metric: str = "nccl_busbw", source: str = ID) -> Parsed:
    """Bus bandwidth (GB/s, out of place), wrong values and ranks, from the text or the JSON of nccl-tests."""
    lines = lines_of(raw)
    rows, ranks = _json(raw)
    if not rows:
        rows = [row for row in (_row(line) for line in lines) if row is not None]
        named = [found for found in (_RANK.match(line) for line in lines) if found is not None]
        ranks = max((int(found.group(1)) + 1 for found in named), default=0)
    if not rows:
        told = [line.strip() for line in lines if line.strip() and set(line.strip()) != {"-"}]
        said = next((line for line in told if not line.startswith("#")), told[-1] if told else "nothing")
        return parsed((), [f"the collective measured nothing; it said: {said[:200]}"])
    readings = [_bandwidth(rows, metric, source, run), _wrong(rows, metric, source, run)]
    if ranks > 0:
        readings.append(measured(f"{metric}_ranks", NODE, float(ranks), source=source, run=run))
    return parsed(readings)


def _row(line: str) -> _Row | None:
    """One line of the table. Columns are counted from the right: older versions have no root, all-to-all no redop."""
    if _ROW.match(line) is None:
        return None
    cells = line.split()
    if len(cells) < 3 + 2 * _HALF:
        return None
    out = cells[-2 * _HALF : -_HALF]
    size, busbw = finite(cells[0]), finite(out[2])
    if size is None or busbw is None or busbw < 0:
        return None
    halves = [cells[-_HALF - 1], cells[-1]]
    counts = [finite(cell) for cell in halves]
    known = [count for count in counts if count is not None]
    return _Row(size, busbw, sum(known) if known else None, bool(known))


def _bandwidth(rows: list[_Row], metric: str, source: str, run: int) -> Reading:
    large = [row.busbw for row in rows if row.size >= LARGE_BYTES and row.busbw is not None and row.busbw > 0]
    if not large:
        said = "no size of 1 GiB or more was measured"
        state = ReadingState.MISSING
        return without_value(metric, NODE, state, unit="GB/s", source=source, run=run, said=said)
    detail = (("sizes", str(len(large))),)
    return measured(metric, NODE, median(large), unit="GB/s", source=source, run=run, detail=detail)


def _wrong(rows: list[_Row], metric: str, source: str, run: int) -> Reading:
    told = [row.wrong for row in rows if row.wrong_told and row.wrong is not None]
    name = f"{metric}_wrong"
    if not told:
        said = "the run did not check its results"
        return without_value(name, NODE, ReadingState.NOT_APPLICABLE, source=source, run=run, said=said)
    return measured(name, NODE, sum(told), source=source, run=run)


def _json(raw: bytes) -> tuple[list[_Row], int]:
    """The file that `-J` writes, where that is what we were given."""
    if not raw.lstrip().startswith(b"{"):
        return [], 0
    try:
        document = json.loads(raw)
        rows = list(_json_rows(document["results"]))
        devices = document.get("config", {}).get("devices", [])
        return rows, len(devices) if isinstance(devices, list) else 0
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return [], 0


def _json_rows(results: list[dict[str, dict[str, object]]]) -> Iterator[_Row]:
    for result in results:
        size, out = finite(str(result["size"])), result["out_of_place"]
        counts = [finite(str(half.get("nwrong", "N/A"))) for half in (out, result.get("in_place") or {})]
        known = [count for count in counts if count is not None]
        busbw = finite(str(out["bus_bw"]))
        if size is not None and busbw is not None and busbw >= 0:
            yield _Row(size, busbw, sum(known) if known else None, bool(known))
