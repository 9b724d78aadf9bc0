"""How fast does every GPU copy from the host, to the host and to its peers?"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

from provisioning.validation.parsers.parsed import Parsed, finite, lines_of, measured, parsed
from provisioning.validation.reading import NODE, Reading

ID = "nvbandwidth"
H2D, D2H = "host_to_device_memcpy_ce", "device_to_host_memcpy_ce"
_RUNNING = re.compile(r"Running (\w+)\.")
_TITLE = re.compile(r"mem\w+ .*\(row\).*\(column\).*\((GB/s|ns|us)\)")
_NOT_PASSED = ("Waived", "Error", "ERROR")
PEER_TESTS = ("device_to_device_memcpy_read_ce", "device_to_device_bidirectional_memcpy_read_ce")
MAX_SIDE = 64


@dataclass(frozen=True)
class _Matrix:
    test: str
    title: str
    rows: dict[int, dict[int, float]]

    @property
    def factor(self) -> float:
        """A total of both directions counts half: p2p_bw is one way."""
        return 0.5 if "Total" in self.title else 1.0


def parse(raw: bytes, *, run: int = 1) -> Parsed:
    """h2d_bw, d2h_bw and p2p_bw (GB/s) per GPU: a copy to a peer counts at the median over the peers.

    The median, because one slow GPU makes one slow entry in every other GPU's row.
    """
    lines = lines_of(raw)
    matrices, problems = _from_json(raw) if raw.lstrip().startswith(b"{") else _from_text(lines)
    if not matrices:
        said = next((line.strip()[:200] for line in lines if "rror" in line), "no matrix of bandwidths")
        return parsed((), [*problems, f"nvbandwidth measured nothing; it said: {said}"])
    readings = [
        *_host(matrices, H2D, "h2d_bw", run),
        *_host(matrices, D2H, "d2h_bw", run),
        *_peers(matrices, run),
    ]
    return parsed(readings, problems)


def _from_text(lines: list[str]) -> tuple[list[_Matrix], list[str]]:
    matrices: list[_Matrix] = []
    problems: list[str] = []
    test, current, columns = "", None, list[int]()
    for line in lines:
        text = line.strip()
        running = _RUNNING.fullmatch(text)
        if running is not None:
            test, current = running.group(1), None
        elif text.startswith(_NOT_PASSED):
            current = None
            problems.append(f"after {test or 'no test'}: {text[:120]}")
        elif _TITLE.fullmatch(text) is not None:
            current, columns = _Matrix(test, text, {}), []
            matrices.append(current)
        elif current is not None:
            columns = _table_line(text, current, columns)
    return [one for one in matrices if one.rows and "GB/s" in one.title], sorted(set(problems))


def _table_line(text: str, matrix: _Matrix, columns: list[int]) -> list[int]:
    """Takes one line into the matrix; gives the columns, which the first line after the title names."""
    cells = text.split()
    if not cells or len(cells) > MAX_SIDE + 1:
        return columns
    if not columns:
        whole = all(cell.isdecimal() and cell.isascii() and len(cell) < 4 for cell in cells)
        return [int(cell) for cell in cells] if whole else columns
    if len(cells) == len(columns) + 1 and cells[0].isdecimal() and cells[0].isascii() and len(cells[0]) < 4:
        values = {column: finite(cell) for column, cell in zip(columns, cells[1:], strict=True)}
        matrix.rows[int(cells[0])] = {column: value for column, value in values.items() if value is not None}
    return columns


def _from_json(raw: bytes) -> tuple[list[_Matrix], list[str]]:
    try:
        document = json.loads(raw)
        cases = document.get("nvbandwidth", document)["testcases"]
        return _cases(cases)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return [], ["nvbandwidth gave no JSON of test cases"]


def _cases(cases: list[dict[str, object]]) -> tuple[list[_Matrix], list[str]]:
    matrices: list[_Matrix] = []
    problems: list[str] = []
    for case in cases:
        name, rows = str(case["name"])[:80], case.get("bandwidth_matrix")
        if case.get("status") != "Passed" or not isinstance(rows, list):
            problems.append(f"{name}: {str(case.get('status'))[:40]}")
            continue
        made = _Matrix(name, str(case.get("bandwidth_description", "")), {})
        for number, row in enumerate(rows[:MAX_SIDE]):
            values = {column: finite(str(cell)) for column, cell in enumerate(row[:MAX_SIDE])}
            made.rows[number] = {column: value for column, value in values.items() if value is not None}
        matrices.append(made)
    return matrices, problems


def _host(matrices: list[_Matrix], test: str, metric: str, run: int) -> Iterator[Reading]:
    for matrix in (one for one in matrices if one.test == test):
        for gpu in sorted({column for row in matrix.rows.values() for column in row}):
            values = [row[gpu] for row in matrix.rows.values() if gpu in row]
            yield measured(metric, f"gpu:{gpu}", median(values), unit="GB/s", source=ID, run=run)
        return


def _peers(matrices: list[_Matrix], run: int) -> Iterator[Reading]:
    """From the one-way test where it ran, else from one direction of the two-way test."""
    for test in PEER_TESTS:
        matrix = next((one for one in matrices if one.test.startswith(test)), None)
        if matrix is None:
            continue
        pairs = 0
        for gpu, row in sorted(matrix.rows.items()):
            values = [value * matrix.factor for peer, value in row.items() if peer != gpu]
            if values:
                pairs += len(values)
                detail = (("worst_peer", f"{min(values):g}"),)
                speed = median(values)
                yield measured("p2p_bw", f"gpu:{gpu}", speed, unit="GB/s", source=ID, run=run, detail=detail)
        yield measured("p2p_pairs", NODE, float(pairs), source=ID, run=run)
        return
