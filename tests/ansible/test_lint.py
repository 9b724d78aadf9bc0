"""Do ansible-lint in its production profile and yamllint have nothing to say?"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.ansible.conftest import ANSIBLE, REPO

BIN = Path(sys.executable).parent


def run(tmp_path: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    env = {
        "PATH": f"{BIN}:/usr/bin:/bin",
        "HOME": str(tmp_path),
        "ANSIBLE_CONFIG": str(ANSIBLE / "ansible.cfg"),
        "ANSIBLE_INVENTORY": str(ANSIBLE / "inventory" / "sample"),  # none at all is a failure
        "NO_COLOR": "1",
        "LC_ALL": "C.UTF-8",
    }
    return subprocess.run(
        [str(BIN / argv[0]), *argv[1:]],
        cwd=REPO,
        env=env,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.ansible
def test_ansible_lint_passes_its_production_profile(tmp_path: Path) -> None:
    ran = run(tmp_path, "ansible-lint", "--offline", "-c", "ansible/.ansible-lint", "ansible/")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "profile" in ran.stderr or "Passed" in ran.stderr


def test_yamllint_passes(tmp_path: Path) -> None:
    ran = run(tmp_path, "yamllint", "--strict", "-c", "ansible/.yamllint", "ansible/")
    assert ran.returncode == 0, ran.stdout + ran.stderr
