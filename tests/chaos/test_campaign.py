"""On which servers a campaign runs: those that can be started, those that were named, or none at all."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from portal.embedded import processes
from tests import debian_servers
from tests.chaos import campaign, servers
from tests.chaos.playbook import ROOT


@pytest.fixture
def without_debian(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(debian_servers, "why_not", lambda: "install rabbitmq-server")


@pytest.fixture
def with_debian(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(debian_servers, "why_not", lambda: "")


def chosen(*words: str) -> list[str]:
    return campaign.chosen(campaign.told(words))


def test_both_pairs_where_both_can_be_started(with_debian: None) -> None:
    assert chosen() == [servers.EMBEDDED, servers.DEBIAN]


def test_what_can_not_be_started_is_left_out_and_told(
    without_debian: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert chosen() == [servers.EMBEDDED]
    assert "install rabbitmq-server" in capsys.readouterr().out


def test_what_was_named_must_start(without_debian: None) -> None:
    with pytest.raises(SystemExit, match="install rabbitmq-server"):
        chosen("--servers", "embedded,debian")


def test_one_that_is_unknown_is_refused() -> None:
    with pytest.raises(SystemExit, match="oracle"):
        chosen("--servers", "embedded,oracle")


def test_servers_of_somebody_else_come_in_pairs() -> None:
    with pytest.raises(SystemExit, match="belong together"):
        chosen("--broker", "redis://localhost")
    assert chosen("--broker", "redis://localhost", "--database", "postgres://localhost/x") == [servers.GIVEN]


WAITS = """
import pathlib, signal, sys, time
from tests.chaos import campaign
signal.signal(signal.SIGTERM, campaign.leave)
here = pathlib.Path(sys.argv[1])
if len(sys.argv) > 2:
    campaign.follow([sys.executable, __file__, sys.argv[1]])
try:
    (here / "at-work").touch()
    time.sleep(600)
finally:
    time.sleep(0.5)
    (here / "cleared").touch()
"""


def test_campaign_that_is_told_to_go_waits_until_the_stage_is_cleared(tmp_path: Path) -> None:
    """Its run is a process of its own, with servers and workers that nobody else would end."""
    script = tmp_path / "script.py"
    script.write_text(WAITS, encoding="utf-8")
    process = subprocess.Popen([sys.executable, str(script), str(tmp_path), "follows"], cwd=ROOT)
    assert processes.wait_until((tmp_path / "at-work").exists, 60)
    process.terminate()
    assert process.wait(60) == 128 + signal.SIGTERM
    assert (tmp_path / "cleared").exists()


@pytest.mark.embedded
def test_command_finds_both_of_debian_s_servers_and_gives_its_own_exit_code() -> None:
    if reason := debian_servers.why_not():
        pytest.skip(reason)
    asks = (
        "import os, psycopg; from kombu import Connection;"
        "psycopg.connect(os.environ['PORTAL_DATABASE_URL']).close();"
        "line = Connection(os.environ['PORTAL_BROKER_URL']); line.connect(); line.release(); raise SystemExit(7)"
    )
    assert debian_servers.run([sys.executable, "-c", asks], {}) == 7
