"""The simulation of the queue's orders runs by one command, and the portal's rule stands between cost and starvation."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from bench.queue_policies import Request, arrivals, waits

ROOT = Path(__file__).resolve().parents[2]


def test_server_takes_the_smallest_key_that_is_there() -> None:
    requests = [Request(0, 1, 10)] * 8 + [Request(1, 1, 1), Request(2, 9, 1)]
    assert waits(requests, lambda request: -request.impact)[-2:] == [9, 8]


def test_nobody_waits_where_nothing_is_asked_at_once() -> None:
    requests = [Request(number * 100.0, 1, 5) for number in range(20)]
    assert waits(requests, lambda request: request.came) == [0] * 20


def test_same_seed_gives_the_same_requests() -> None:
    assert arrivals(3, 50, 0.97) == arrivals(3, 50, 0.97) != arrivals(4, 50, 0.97)


def test_one_command_prints_the_table_and_writes_the_figures(tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    done = subprocess.run(
        [
            sys.executable,
            "bench/queue_policies.py",
            "--seeds",
            "1",
            "--requests",
            "4000",
            "--json",
            str(figures),
        ],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "virtual start, H=24" in done.stdout
    found = json.loads(figures.read_text())["figures"]["0.97"]
    ours, fifo, best = found["virtual start, H=24"], found["first come"], found["WSJF"]
    assert best["cost"] <= ours["cost"] < fifo["cost"]
    assert ours["worst"] < best["worst"]
