"""A whole portal in processes of its own, on a database of its own, with the stage of the demonstration."""

from __future__ import annotations

import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 240


@dataclass(frozen=True)
class Portal:
    """A portal that runs: where it answers, where it keeps things, and what people sign with."""

    url: str
    var_dir: Path
    tokens: dict[str, str]
    process: subprocess.Popen[str]
    environment: dict[str, str]

    def log(self) -> str:
        """All that was said so far, by every process."""
        return "\n".join(
            path.read_text("utf-8", "replace") for path in sorted(self.var_dir.glob("log/*.log"))
        )


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _own_database(url: str) -> str:
    """A new database on the server of the tests."""
    name = f"flow_{secrets.token_hex(6)}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"'.encode())
    parts = urlsplit(url)
    return urlunsplit(parts._replace(path=f"/{name}"))


def _wait(portal: subprocess.Popen[str], url: str, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if portal.poll() is not None:
            break
        try:
            with urllib.request.urlopen(f"{url}/healthz", timeout=2):
                return
        except OSError:
            time.sleep(0.5)
    pytest.fail(f"the portal did not start:\n{log.read_text('utf-8')[-4000:]}")


@pytest.fixture
def portal(tmp_path: Path, django_db_setup: None, broker_url: str) -> Iterator[Portal]:
    """The portal of `manage.py demo --only-stage`; ended, with all that it started, after the test."""
    port = _free_port()
    log = tmp_path / "portal.out"
    environment = {
        **os.environ,
        "PORTAL_DATABASE_URL": _own_database(os.environ["PORTAL_DATABASE_URL"]),
        "PORTAL_BROKER_URL": broker_url,
        "PORTAL_VAR_DIR": str(tmp_path / "var"),
        "PORTAL_PORT": str(port),
        "PORTAL_JOB_LEASE_SECONDS": "15",
    }
    with log.open("w", encoding="utf-8") as out:
        process = subprocess.Popen(
            [sys.executable, str(ROOT / "manage.py"), "demo", "--only-stage"],
            env=environment, stdout=out, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        try:
            url = f"http://127.0.0.1:{port}"
            _wait(process, url, log)
            logins = json.loads((tmp_path / "var/demo/logins.json").read_text("utf-8"))
            tokens = {row["name"]: row["token"] for row in logins}
            yield Portal(url, tmp_path / "var", tokens, process, environment)
        finally:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
