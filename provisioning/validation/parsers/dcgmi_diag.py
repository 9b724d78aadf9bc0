"""What did every test of `dcgmi diag -j` decide, in the shapes of DCGM 2 to 4?"""

from __future__ import annotations

import json
from collections.abc import Iterator

from provisioning.validation.parsers.parsed import Parsed, measured, parsed
from provisioning.validation.reading import NODE, Reading

ID = "dcgmi-diag"
_ROOTS = ("DCGM Diagnostic", "DCGM GPU Diagnostic")
_STATUSES = {"pass": "pass", "fail": "fail", "warn": "warn", "skip": "skip", "skipped": "skip"}
MAX_RESULTS = 20_000

Pairs = tuple[tuple[str, str], ...]


def parse(raw: bytes, *, run: int = 1) -> Parsed:
    """One reading per test and device: value pass, fail, warn, skip or unknown; the worst warning in the detail.

    The exit status of dcgmi says nothing either way, so it is not looked at.
    """
    try:
        document = json.loads(raw[raw.index(b"{") :])
        root = next(document[key] for key in _ROOTS if key in document)
        readings = [reading for _, reading in zip(range(MAX_RESULTS), _tests(root, run), strict=False)]
    except (ValueError, KeyError, TypeError, AttributeError, StopIteration, RecursionError):
        return parsed((), ["dcgmi diag gave no JSON of a diagnostic"])
    return parsed(readings, [] if readings else ["dcgmi diag ran no test"])


def _tests(root: dict[str, object], run: int) -> Iterator[Reading]:
    categories = root["test_categories"]
    for category in categories if isinstance(categories, list) else []:
        for test in category["tests"]:
            name = str(test["name"])[:80]
            summary = test.get("test_summary") or {}
            results = test.get("results") or []
            if any(True for result in results for _ in _warnings(result)):
                summary = {"status": summary.get("status", "")}  # it only repeats what a device was told
            for result in results:
                yield _result(name, result, summary, run)
            if not results:
                yield _result(name, {"status": summary.get("status", "")}, summary, run)


def _result(name: str, result: dict[str, object], summary: dict[str, object], run: int) -> Reading:
    status = _STATUSES.get(str(result.get("status", "")).strip().lower(), "unknown")
    warnings = [*_warnings(result), *_warnings(summary)]
    detail: Pairs = (("test", name), ("warnings", str(len(warnings))))
    if warnings:
        detail += max(warnings, key=_worse)
    return measured("dcgm_test", _device(result), status, source=ID, run=run, detail=detail)


def _device(result: dict[str, object]) -> str:
    entity = result.get("entity_id", result.get("gpu_ids", result.get("gpu_id")))
    group = str(result.get("entity_group", "GPU"))
    if group == "GPU" and isinstance(entity, (int, str)) and str(entity).isdecimal() and len(str(entity)) < 4:
        return f"gpu:{int(entity)}"
    return NODE


def _warnings(holder: dict[str, object]) -> Iterator[Pairs]:
    """DCGM 4 lists objects, older versions a text or a list of texts."""
    told = holder.get("warnings", holder.get("warning"))
    for one in told if isinstance(told, list) else [told]:
        if isinstance(one, dict):
            yield tuple(
                (key, str(one[name])[:300])
                for key, name in (
                    ("category", "error_category"), ("error_id", "error_id"),
                    ("said", "warning"), ("severity", "error_severity"),
                )
                if name in one
            )  # fmt: skip
        elif isinstance(one, str) and one.strip():
            yield (("said", one[:300]),)


_SEVERITY_RANK = {"1": 1, "5": 2, "3": 4, "4": 5, "2": 6, "6": 7}
"""Monitor, config, unknown, triage, isolate, reset: what holds a node outranks what does not (a text alone is 3)."""


def _worse(warning: Pairs) -> tuple[int, Pairs]:
    return (_SEVERITY_RANK.get(dict(warning).get("severity", ""), 3), warning)
