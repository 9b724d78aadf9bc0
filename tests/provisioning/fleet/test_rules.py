"""Do the pure rules of the fleet hold: states, capacity, speed?"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provisioning.contracts import VerdictValue
from provisioning.fleet.capacity import Tally, capacity_of, kept_back
from provisioning.fleet.speed import cluster_speed, worst
from provisioning.fleet.states import CLUSTER, NODE, ClusterState, NodeAction, NodeState

DOCS = Path(__file__).resolve().parents[3] / "docs" / "reference"


@pytest.mark.parametrize("machine", [NODE, CLUSTER], ids=lambda machine: machine.name)
def test_the_docs_show_the_state_tables(machine: object) -> None:
    assert machine.diagram() in (DOCS / "fleet.md").read_text("utf-8")  # type: ignore[attr-defined]


def test_every_state_can_be_reached() -> None:
    assert {NODE.initial} | set(NODE.table.values()) == set(NodeState)
    assert {CLUSTER.initial} | set(CLUSTER.table.values()) == set(ClusterState)


def test_no_node_is_in_use_or_free_again_without_passing_through_draining() -> None:
    into_pool = {source for (source, _), target in NODE.table.items() if target == NodeState.FREE}
    assert into_pool == {NodeState.REGISTERED, NodeState.RESERVED, NodeState.DRAINING}
    assert NODE.actions(NodeState.IN_USE) == (NodeAction.DRAIN,)


@given(st.integers(0, 50), st.integers(0, 50), st.none() | st.integers(0, 60))
def test_kept_back_is_at_least_the_marked_and_never_more_than_there_are(
    unmarked: int, marked: int, wanted: int | None
) -> None:
    free = unmarked + marked
    kept = kept_back(free=free, free_spares=marked, spares_kept=wanted)
    assert marked <= kept <= free
    if wanted is not None:
        assert kept >= min(wanted, free)


def test_capacity_adds_up_to_all_nodes() -> None:
    tally = Tally(
        sku="x", gpus_per_node=8, total=20, free=9, free_spares=2, reserved=3, in_use=5, spares_kept=4
    )
    told = capacity_of(tally)
    assert (told.free, told.spares, told.out) == (5, 4, 3)
    assert told.free + told.spares + told.reserved + told.in_use + told.out == told.total


def test_one_order_can_have_what_one_site_has_and_each_site_keeps_its_spares() -> None:
    sites = {"north": (6, 1), "south": (4, 0)}
    tally = Tally(
        sku="x",
        gpus_per_node=8,
        total=10,
        free=10,
        free_spares=1,
        reserved=0,
        in_use=0,
        spares_kept=2,
        sites=sites,
    )
    told = capacity_of(tally)
    assert (told.free, told.spares, told.most_at_once) == (6, 4, 4)


@given(st.dictionaries(st.text(max_size=4), st.floats(0.1, 2), min_size=1), st.integers(1, 4096))
def test_a_cluster_is_as_fast_as_its_slowest_node_and_loses_the_rest(
    speeds: dict[str, float], gpus: int
) -> None:
    told = cluster_speed(speeds, gpus=gpus)
    assert told is not None
    assert told.speed == min(speeds.values()) == speeds[told.slowest_node]
    assert 0 <= told.gpu_hours_lost_per_day <= gpus * 24


def test_the_loss_is_that_of_the_design() -> None:
    told = cluster_speed({"a": 1.0, "b": 1.0, "c": 1.0, "d": 0.94}, gpus=32)
    assert told is not None
    assert told.gpu_hours_lost_per_day == pytest.approx(0.06 * 32 * 24)


def test_a_cluster_with_an_unmeasured_node_has_no_speed() -> None:
    assert cluster_speed({"a": 1.0, "b": None}, gpus=16) is None
    assert cluster_speed({}, gpus=0) is None


@given(st.lists(st.sampled_from(list(VerdictValue))))
def test_a_cluster_is_what_its_worst_node_is(verdicts: list[VerdictValue]) -> None:
    told = worst(verdicts)
    if VerdictValue.UNFIT in verdicts:
        assert told == VerdictValue.UNFIT
    if told == VerdictValue.FIT:
        assert set(verdicts) == {VerdictValue.FIT}
