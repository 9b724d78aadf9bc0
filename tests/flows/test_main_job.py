"""The main job by curl alone, as the docs tell it: asked, decided, provisioned, validated, one node swapped, ready."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.flows.conftest import ROOT, Portal

pytestmark = [pytest.mark.flow, pytest.mark.ansible]
PAGE = ROOT / "docs/how-to/use-the-api.md"


def commands() -> list[str]:
    return re.findall(r"^```bash\n(.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)


@pytest.fixture
def curl() -> None:
    for tool in ("curl", "jq", "bash"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")


def test_docs_run_as_they_stand_and_end_with_a_ready_cluster(
    portal: Portal, curl: None, tmp_path: Path
) -> None:
    script = "set -euo pipefail\n" + "\n".join(commands())
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=tmp_path,
        env={
            **portal.environment,
            "PORTAL": portal.url,
            "TOKEN": portal.tokens["requester"],
            "TRIAGER_TOKEN": portal.tokens["triager"],
        },
        capture_output=True, text=True, timeout=1500, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr}\n{portal.log()[-6000:]}"
    ticket = json.loads((tmp_path / "ticket.json").read_text("utf-8"))
    cluster = json.loads((tmp_path / "cluster.json").read_text("utf-8"))
    assert ticket["state"] == "ready", ticket["story"]
    assert cluster["state"] == "ready"
    assert cluster["verdict"] == "fit"
    assert len(cluster["members"]) == 3
    assert "gpu-002" not in {member["name"] for member in cluster["members"]}, "the slow node was delivered"
    assert cluster["speed"] > 0.97
    assert any("gpu-002 replaced by" in entry["title"] for entry in ticket["timeline"])
