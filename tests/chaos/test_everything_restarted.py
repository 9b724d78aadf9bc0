"""The portal loses all of its processes in the middle of a job: what nodes saw, what jobs say and what is left agrees afterwards."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.chaos.playbook import ROOT
from tests.chaos.visitor import EVERYTHING
from tests.needs import need
from tests.ssh import sshd

pytestmark = [pytest.mark.ssh, pytest.mark.ansible, pytest.mark.embedded]


def test_jobs_settle_by_themselves_after_everything_was_restarted_in_the_middle_of_one(
    tmp_path: Path,
) -> None:
    """A campaign of this one fault, on servers of its own: exit code 0 says that nothing was lost, doubled, untrue or left."""
    if reason := sshd.why_not():
        need("ssh", reason)
    words = ["--servers", "embedded", "--only", EVERYTHING, "--faults", "1", "--minutes", "5"]
    small = ["--nodes", "2", "--workers", "1", "--lease", "6", "--json", str(tmp_path / "figures.json")]
    done = subprocess.run(
        [sys.executable, "-m", "tests.chaos.campaign", *words, *small],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-3000:]
    (figures,) = json.loads((tmp_path / "figures.json").read_text(encoding="utf-8"))
    assert figures["faults"] == {EVERYTHING: 1}
    assert figures["figures"]["jobs"] > 0
