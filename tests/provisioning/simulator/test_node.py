"""Does a node's state survive many writers, and can no path lead out of the node?"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provisioning.simulator import node
from tests.provisioning.simulator.conftest import SimNode

COUNT = """
import sys
sys.path.insert(0, sys.argv[2])
from provisioning.simulator import node
def more(state):
    state["runs"]["x"] = state["runs"].get("x", 0) + 1
for _ in range(25):
    node.update(sys.argv[1], more)
"""
REPO = str(Path(node.__file__).resolve().parents[2])


def test_update_loses_nothing_between_many_writers(sim: SimNode) -> None:
    writers = [subprocess.Popen([sys.executable, "-c", COUNT, str(sim.folder), REPO]) for _ in range(6)]

    assert [writer.wait(60) for writer in writers] == [0] * 6
    assert sim.state["runs"]["x"] == 150


def test_readers_never_see_half_a_state(sim: SimNode) -> None:
    writer = subprocess.Popen([sys.executable, "-c", COUNT, str(sim.folder), REPO])
    while writer.poll() is None:
        assert sim.state["name"] == "gpu-001"

    assert writer.returncode == 0


def test_update_that_fails_changes_nothing(sim: SimNode) -> None:
    before = (sim.folder / "state.json").read_bytes()

    def break_off(state: dict[str, object]) -> None:
        state["name"] = "other"
        raise RuntimeError

    with pytest.raises(RuntimeError):
        node.update(sim.folder, break_off)
    assert (sim.folder / "state.json").read_bytes() == before


@pytest.mark.parametrize("text", ["", "{", "[]", '"x"'])
def test_damaged_state_says_so(sim: SimNode, text: str) -> None:
    (sim.folder / "state.json").write_text(text)

    with pytest.raises(node.NotANode, match="damaged"):
        node.read_state(sim.folder)
    assert sim.run("nvidia-smi -L").rc == 70


@given(st.text(alphabet="./ab~", max_size=24))
def test_no_path_leads_out_of_the_node(path: str) -> None:
    place = node.inside("/fleet/gpu-001", path)

    assert place == "/fleet/gpu-001/root" or place.startswith("/fleet/gpu-001/root/")
    assert ".." not in place.split("/")


def test_a_path_that_lies_in_the_node_already_is_taken_as_it_is(sim: SimNode) -> None:
    whole = str(sim.root.resolve() / "mnt/data")

    assert node.inside(sim.folder, whole) == whole
    assert node.seen_from_inside(sim.folder, whole) == "/mnt/data"
    assert node.seen_from_inside(sim.folder, "/mnt/data") == "/mnt/data"


def test_state_is_plain_json(sim: SimNode) -> None:
    assert json.loads((sim.folder / "state.json").read_text())["schema"] == 1
