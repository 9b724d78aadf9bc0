"""The table sums what the runs say, and a single finding of any kind is no success."""

from __future__ import annotations

from typing import Any

import pytest

from tests.chaos import report
from tests.chaos.checks import Findings


def run(servers: str, **more: Any) -> dict[str, Any]:
    return {
        "servers": servers,
        "lease": 10.0,
        "seconds": 60.0,
        "load": 1.5,
        "faults": {"worker killed": 3, "child killed": 1},
        "recovery": {"worker killed": 12.0},
        "states": {"succeeded": 5},
        "messages": {},
        "figures": dict.fromkeys(report.SUMS, 5),
        "findings": vars(Findings()),
        **more,
    }


def cells(table: str, name: str) -> list[str]:
    [line] = [line for line in table.splitlines() if line.startswith(f"| {name} |")]
    return [cell.strip() for cell in line.strip("|").split("|")][1:]


def test_two_runs_have_a_column_each_and_one_for_their_sum() -> None:
    told = report.table([run("one"), run("two", lease=20.0, recovery={"worker killed": 30.0})])
    assert cells(told, "what") == ["one", "two", "in sum"]
    assert cells(told, "faults") == ["4", "4", "8"]
    assert cells(told, "jobs by state") == ["5 succeeded", "5 succeeded", "10 succeeded"]
    assert cells(told, "worker killed") == ["6", "1.5"]
    assert cells(told, "worst recovery")[2] == "30.0 s, 1.5 leases of 20 s"


def test_one_run_needs_no_sum() -> None:
    assert cells(report.table([run("one")]), "lost") == ["0"]


@pytest.mark.parametrize("kind", list(vars(Findings())))
def test_any_finding_is_no_success(kind: str) -> None:
    findings = {**vars(Findings()), kind: ["J-1 is gone"]}
    runs = [run("one"), run("two", findings=findings)]
    assert report.is_clean(runs[:1], in_time=True)
    assert not report.is_clean(runs, in_time=True)
    assert report.is_clean(runs, in_time=False) == (kind == report.SLOW)
    assert cells(report.table(runs), report.KINDS[kind]) == ["0", "1", "1"]
