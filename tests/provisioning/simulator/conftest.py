"""Simulated nodes for tests, and a way to call their tools as a shell on the node would."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from provisioning.simulator import faults, fleet, launchers, node, standin
from provisioning.simulator.call import Call

CREATED = 1_796_000_000.0  # some moment: the same for all, so that two fleets can be compared


@dataclass(frozen=True)
class Said:
    """What a tool answered."""

    rc: int
    raw: bytes
    err: str

    @property
    def out(self) -> str:
        return self.raw.decode()


class SimNode:
    """One simulated node in a test's hands."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.root = folder, folder / "root"

    @property
    def state(self) -> dict[str, Any]:
        return node.read_state(self.folder)

    def run(self, command: str, *, limit: float = 20.0) -> Said:
        """A command line with the node's PATH and nothing else of this machine's environment."""
        done = subprocess.run(
            ["/bin/sh", "-c", f"exec {command}"],
            env={"PATH": launchers.search_path(self.folder), "HOME": str(self.root / "root")},
            capture_output=True,
            check=False,
            timeout=limit,
            cwd=self.folder,
        )
        return Said(done.returncode, done.stdout, done.stderr.decode("utf-8", "replace"))

    def ask(self, tool: str, *argv: str) -> Said:
        """The same tool without the cost of starting it: its function runs in this process."""
        call = Call(tool, list(argv), str(self.folder.resolve()), self.state)
        rc = standin.run_tool(call)
        return Said(rc, "".join(call.stdout).encode("utf-8", "surrogateescape"), "".join(call.stderr))

    def put(self, path: str, text: str) -> Path:
        """A file of the node, as a role would write it."""
        target = self.root / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        return target

    def text(self, path: str) -> str:
        return (self.root / path.lstrip("/")).read_text()

    def inject(self, fault: str, **params: Any) -> None:
        faults.inject(self.folder, fault, **params)

    def clear(self, fault: str | None = None) -> None:
        faults.clear(self.folder, fault)


def make(root: Path, count: int = 1, *, sku: str = "h100-sxm5-80g", seed: int = 7) -> list[SimNode]:
    return [
        SimNode(folder) for folder in fleet.create(root, count=count, sku=sku, seed=seed, created_at=CREATED)
    ]


@pytest.fixture
def sim(tmp_path: Path) -> SimNode:
    """One node that the test may break."""
    return make(tmp_path / "fleet")[0]


@pytest.fixture
def trio(tmp_path: Path) -> list[SimNode]:
    """Three nodes of one fleet that the test may break."""
    return make(tmp_path / "fleet", 3)


@pytest.fixture(scope="session")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> SimNode:
    """One node that nobody breaks; benchmarks may count its runs."""
    return make(tmp_path_factory.mktemp("fleet"))[0]
