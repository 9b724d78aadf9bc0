"""The bench of jobs runs by one command, prints its tables, and writes its figures."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.servers import ensure

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.ansible
def test_one_command_prints_the_tables_and_writes_the_figures(tmp_path: Path) -> None:
    ensure("database")
    figures = tmp_path / "figures.json"
    done = subprocess.run(
        [sys.executable, "bench/jobs.py", "--small", "--json", str(figures)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=3600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "whole path, 2,000 of 1," in done.stdout
    assert "goals: ours <= 1.10 of raw wall" in done.stdout
    found = json.loads(figures.read_text())
    [run] = found["runs"]
    assert (run["hosts"], run["forks"]) == (1, 1)
    assert all(run[way]["wall"] > 0 and run[way]["cpu"] > 0 for way in ("raw", "runner", "ours"))
    assert [count for count, _ in found["path"]["marks"]] == [500, 1000, 1500, 2000]
    assert (found["large"]["kept"] <= 65_536, found["large"]["on_disk"]) == (True, True)
    assert found["queued"]["next"]["statements"] <= 10
    assert found["queued"]["claim"]["statements"] <= 16
    assert found["many"]["statements"] <= 10
    assert {"ansible-core", "psycopg", "commit"} <= set(found["versions"])
