"""The bench of the desk runs by one command, prints its table, and writes its figures."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from bench.common import Browser, databases, machine, percentile, table
from bench.words import WORDS, pairs
from tests.servers import ensure

ROOT = Path(__file__).resolve().parents[2]


def test_one_command_prints_the_table_and_writes_the_figures(tmp_path: Path) -> None:
    ensure("database")
    figures = tmp_path / "figures.json"
    done = subprocess.run(
        [sys.executable, "bench/queue.py", "--small", "--no-peer", "--json", str(figures)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "list, first page" in done.stdout
    assert "goal under 60 ms" in done.stdout
    found = json.loads(figures.read_text())
    assert found["million"]["tickets"] == 4_000
    measured = found["million"]["figures"]
    assert set(measured) == {"first", "deep", "ticket", "position", "search", "verdict", "rerank"}
    assert all(0 < each["p50"] <= each["p95"] for each in measured.values())
    assert {"django", "postgresql"} <= set(found["versions"])
    assert found["machine"]["cpu"]


def test_a_percentile_is_the_databases() -> None:
    assert percentile([10.0, 20.0, 30.0, 40.0], 0.5) == 25.0
    assert percentile([7.0], 0.95) == 7.0


def test_a_table_stands_in_columns() -> None:
    assert table(["a", "bb"], [["long", "1"]]) == "a     bb\n----  --\nlong   1"


def test_words_are_always_the_same() -> None:
    assert pairs(3) == pairs(3)
    assert len(WORDS) >= 50


def test_the_machine_is_named() -> None:
    assert "cores" in machine()["cpu"]


def test_databases_are_gone_afterwards() -> None:
    ensure("database")
    url = os.environ["PORTAL_DATABASE_URL"]
    with databases(url, ["gone"]) as made:
        name = made["gone"].rpartition("/")[2]
        psycopg.connect(made["gone"]).close()
    with psycopg.connect(url) as server:
        assert server.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name]).fetchone() is None


def test_nobody_answers_is_said() -> None:
    with pytest.raises(ConnectionRefusedError):
        Browser(1).get("/")
