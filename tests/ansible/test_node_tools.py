"""Is a node module kept to its own node: its tools, its files, its time?"""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.ansible.conftest import ModuleFailed, ToolNode


def test_simulated_node_without_a_stand_in_never_uses_the_real_tool(tool_node: ToolNode) -> None:
    with pytest.raises(ModuleFailed, match="getent is not there as a stand-in on this simulated node"):
        tool_node.run("node_account", accounts=[{"name": "ada"}], group="team-x")


def test_tool_that_hangs_is_stopped_with_its_children(tool_node: ToolNode) -> None:
    tool_node.tool(
        "systemctl",
        "case $1 in start) sleep 300 & echo $! > $D/child; wait ;; *) echo Id=x; echo ActiveState=inactive ;; esac",
    )

    started = time.monotonic()
    with pytest.raises(ModuleFailed, match="gave no answer within 1 s"):
        tool_node.run("node_service", services=[{"name": "slurmd", "state": "started"}], time_limit=1)

    assert time.monotonic() - started < 10
    child = int((tool_node.folder / "child").read_text())
    assert _ends(child)


def _ends(pid: int, seconds: float = 5.0) -> bool:
    """A killed process takes the kernel a moment to end."""
    deadline = time.monotonic() + seconds
    while _runs(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not _runs(pid)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("path", ["etc/motd", "/etc/../../motd", "/a\nb"])
def test_path_that_leaves_the_node_is_refused(tool_node: ToolNode, path: str) -> None:
    with pytest.raises(ModuleFailed, match="not an absolute path without"):
        tool_node.run("node_files", files=[{"path": path, "content": "x"}])


def test_node_root_that_is_missing_is_told(tool_node: ToolNode) -> None:
    with pytest.raises(ModuleFailed, match="create the simulated node first"):
        tool_node.run("node_files", node_root="/nowhere/at/all", files=[])
