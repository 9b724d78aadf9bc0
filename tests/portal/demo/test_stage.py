"""The demonstration's fleet: made once, imported, one node slow and none the wiser."""

from __future__ import annotations

from pathlib import Path

import pytest

from portal.demo import stage
from provisioning.fleet.models import Node
from provisioning.fleet.states import NodeState
from provisioning.simulator import faults

pytestmark = pytest.mark.django_db


def test_fleet_is_made_once_and_imported(tmp_path: Path) -> None:
    for _ in range(2):
        stage.prepare(tmp_path)
    nodes = Node.objects.all()
    assert nodes.count() == stage.NODES
    assert set(nodes.values_list("status", "simulated")) == {(NodeState.FREE, True)}


def test_one_node_is_slow_and_nothing_in_the_fleet_says_so(tmp_path: Path) -> None:
    stage.prepare(tmp_path)
    assert set(faults.active(tmp_path / "nodes" / stage.SLOW_NODE)) == {stage.SLOW_FAULT}
    assert Node.objects.get(name=stage.SLOW_NODE).verdict is None


def test_stage_that_was_left_half_built_is_built_anew(tmp_path: Path) -> None:
    (tmp_path / "nodes" / "gpu-001").mkdir(parents=True)
    stage.prepare(tmp_path)
    assert Node.objects.count() == stage.NODES
