"""A small simulated fleet, and a way to run one of our playbooks on it and read what happened, host by host."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from provisioning.simulator import fleet, node
from tests.ansible.conftest import ANSIBLE
from tests.ansible.test_node_account import key

SKU = "h100-sxm5-80g"
JOB: dict[str, Any] = {"job_ref": "J-12", "attempt": 1, "cluster_ref": "C-17"}
PROVISION: dict[str, Any] = {
    "team": "vision",
    "team_accounts": [
        {"name": "ada", "keys": [key(1, "ada@laptop")]},
        {"name": "grace", "keys": [key(2), key(3)], "uid": 20007},
        {"name": "newcomer"},
    ],
    "gpu_driver_version": "",
    "fabric_manager": True,
    "storage_mounts": [
        {"path": "/data", "source": "nas1:/export/vision", "fstype": "nfs4", "options": "rw,hard"}
    ],
}
WIPE = {"team_accounts": PROVISION["team_accounts"], "storage_mounts": PROVISION["storage_mounts"]}


@dataclass
class Outcome:
    """What one run of a playbook did."""

    code: int
    text: str
    rows: list[dict[str, Any]] = field(default_factory=list)

    def of(self, host: str, *outcomes: str) -> list[str]:
        return [row["task"] for row in self.rows if row["host"] == host and row["outcome"] in outcomes]

    def result(self, host: str, task: str) -> dict[str, Any]:
        found: dict[str, Any] = next(
            row["result"] for row in self.rows if row["host"] == host and row["task"] == task
        )
        return found

    def failure(self, host: str) -> str:
        return next(
            (
                str(row["result"].get("msg"))
                for row in self.rows
                if row["host"] == host and row["outcome"] == "failed"
            ),
            "",
        )


@dataclass
class Fleet:
    """Simulated nodes below one folder."""

    folder: Path
    nodes: list[Path]

    @classmethod
    def made_in(cls, folder: Path, count: int = 2) -> Fleet:
        return cls(folder, fleet.create(folder / "fleet", count=count, sku=SKU, seed=7))

    def state(self, name: str) -> dict[str, Any]:
        return node.read_state(self.folder / "fleet" / name)

    def root(self, name: str) -> Path:
        return self.folder / "fleet" / name / "root"

    def host(self, name: str, **more: Any) -> dict[str, Any]:
        at = self.folder / "fleet" / name
        return {
            "ansible_connection": "simulated",
            "ansible_become": False,
            "ansible_python_interpreter": sys.executable,
            "simulated_node_dir": str(at),
            "node_root": str(at / "root"),
            "node_name": name,
            "sku": SKU,
            "gpu_count": 8,
            "simulated": True,
            **more,
        }

    def run(
        self,
        playbook: str,
        variables: dict[str, Any],
        *options: str,
        hosts: dict[str, dict[str, Any]] | None = None,
    ) -> Outcome:
        """Run a playbook as the portal does: an inventory and a file of extra variables, both JSON, in a folder of the run."""
        here = self.folder / f"run-{len(list(self.folder.glob('run-*')))}"
        here.mkdir()
        hosts = hosts if hosts is not None else {path.name: self.host(path.name) for path in self.nodes}
        (here / "hosts.json").write_text(json.dumps({"targets": {"hosts": hosts}}))
        (here / "extra.json").write_text(json.dumps(variables))
        (here / "outcomes").touch()
        env = {
            "PATH": "/usr/bin:/bin",
            "HOME": str(here),
            "LANG": "C.UTF-8",
            "ANSIBLE_CONFIG": str(ANSIBLE / "ansible.cfg"),
            "ANSIBLE_HOME": str(here / "home"),
            "ANSIBLE_NOCOLOR": "1",
            "QM_OUTCOMES": str(here / "outcomes"),
            "ANSIBLE_CALLBACK_PLUGINS": str(Path(__file__).parent / "callbacks"),
            "ANSIBLE_CALLBACKS_ENABLED": "outcomes",
        }
        argv = [
            str(Path(sys.executable).parent / "ansible-playbook"),
            "-i",
            "hosts.json",
            "-e",
            "@extra.json",
            *options,
        ]
        ran = subprocess.run(
            [*argv, str(ANSIBLE / "playbooks" / f"{playbook}.yml")],
            cwd=here,
            env=env,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        rows = [json.loads(line) for line in (here / "outcomes").read_text().splitlines()]
        return Outcome(ran.returncode, ran.stdout + ran.stderr, rows)

    def fingerprint(self, name: str) -> dict[str, str]:
        """Every file of the node with its mode and what is in it, and the node's state: to prove that nothing changed."""
        found = {}
        for folder, _names, files in os.walk(self.root(name)):
            for file in files:
                path = Path(folder) / file
                found[str(path)] = f"{path.stat().st_mode:o} {hashlib.sha256(path.read_bytes()).hexdigest()}"
        found["state"] = json.dumps(
            {key: value for key, value in self.state(name).items() if key != "runs"}, sort_keys=True
        )
        return found


def unsafe(value: Any) -> Any:
    """A value as the portal writes what people wrote."""
    if isinstance(value, str):
        return {"__ansible_unsafe": value}
    if isinstance(value, list):
        return [unsafe(item) for item in value]
    return {name: unsafe(item) for name, item in value.items()} if isinstance(value, dict) else value
