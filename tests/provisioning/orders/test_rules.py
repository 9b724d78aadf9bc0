"""Do the pure rules of orders hold: states, steps, progress, swaps?"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provisioning.contracts import Account, OrderKind, StorageMount
from provisioning.jobs.playbooks import playbook, read_variables
from provisioning.orders.plan import STEPS, Peer, Setup, steps_of, variables
from provisioning.orders.progress import (
    Stage,
    Standing,
    next_when_building,
    next_when_giving_back,
    share_done,
)
from provisioning.orders.states import FINAL, ORDER, OrderAction, OrderState
from provisioning.orders.swapping import Blame, GiveUp, Ground, Swap, decide

DOCS = Path(__file__).resolve().parents[3] / "docs" / "reference"


def test_the_docs_show_the_state_table() -> None:
    assert ORDER.diagram() in (DOCS / "orders.md").read_text("utf-8")


def test_every_state_can_be_reached_and_every_final_state_is_one() -> None:
    reached = {ORDER.initial} | set(ORDER.table.values())
    assert reached == set(OrderState)
    assert {state for state in OrderState if ORDER.is_final(state)} == set(FINAL)


def test_every_building_state_can_fail_and_be_cancelled_and_no_release_can() -> None:
    releasing = {OrderState.DRAINING, OrderState.WIPING, OrderState.REVALIDATING}
    for state in set(OrderState) - set(FINAL) - releasing:
        assert OrderAction.CANCEL in ORDER.actions(state)
    for state in releasing:
        assert not {OrderAction.FAIL, OrderAction.CANCEL} & set(ORDER.actions(state))


SETUP = Setup(
    team="vision",
    cluster_name="vision-1",
    driver_version="570.172.08",
    fabric_manager=True,
    accounts=(Account(name="ada", keys=()),),
    storage_mounts=(StorageMount(path="/data", source="s1:/x", fstype="nfs4", options="rw,hard"),),
    remedy="sysctl",
    settings=(("vm.swappiness", "10"),),
)


@pytest.mark.parametrize("step", STEPS.values(), ids=lambda step: step.name)
def test_every_step_tells_its_playbook_what_the_playbook_takes(step: object) -> None:
    told = variables(
        step,  # type: ignore[arg-type]
        SETUP,
        peers=[Peer(name="a", address="10.0.0.1")],
        checks=["gemm"],
        reason="O-1",
    )
    assert read_variables(playbook(step.playbook), told).items() >= told.items()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("plan", "expected"),
    [
        (steps_of(OrderKind.BUILD, nodes=4), "building joining validating confirming measuring"),
        (steps_of(OrderKind.BUILD, nodes=1), "building joining validating confirming"),
        (steps_of(OrderKind.RESIZE, nodes=2, shrinks=True), "draining wiping revalidating joining"),
        (steps_of(OrderKind.RELEASE, nodes=0), "draining wiping revalidating"),
        (steps_of(OrderKind.RECHECK, nodes=0, drains=False), "wiping revalidating"),
    ],
)
def test_the_plan_of_each_kind(plan: tuple[object, ...], expected: str) -> None:
    assert [step.name for step in plan] == expected.split()  # type: ignore[attr-defined]


BUILD_STAGES = [Stage.CHOSEN, Stage.PROVISIONED, Stage.JOINED, Stage.VALIDATED]


@given(st.lists(st.sampled_from(BUILD_STAGES), min_size=1, max_size=8))
def test_the_node_that_is_furthest_behind_decides_what_is_next(stages: list[Stage]) -> None:
    nodes = [Standing(name=f"n{i}", stage=stage) for i, stage in enumerate(stages)]
    coming = next_when_building(nodes, cluster_size=len(nodes))
    first = min(stages, key=BUILD_STAGES.index)
    if first == Stage.VALIDATED:
        assert (coming.step.name if coming else None) == ("measuring" if len(nodes) > 1 else None)
    else:
        assert coming is not None
        assert set(coming.names) == {one.name for one in nodes if one.stage == first}


def test_suspects_are_confirmed_before_replacements_are_built() -> None:
    nodes = [
        Standing(name="a", stage=Stage.CHOSEN),
        Standing(name="b", stage=Stage.JOINED, suspected=True),
    ]
    coming = next_when_building(nodes, cluster_size=2)
    assert coming is not None
    assert (coming.step.name, coming.names) == ("confirming", ("b",))


def test_nodes_that_stay_are_told_last() -> None:
    done = [Standing(name="a", stage=Stage.REVALIDATED)]
    coming = next_when_giving_back(done, drains=True, rejoins=True)
    assert coming is not None
    assert coming.step.name == "joining"
    assert next_when_giving_back(done, drains=True, rejoins=False) is None


@given(
    st.dictionaries(st.text(max_size=3), st.sampled_from(BUILD_STAGES), min_size=1, max_size=6),
    st.floats(min_value=0, max_value=1),
)
def test_progress_is_a_share_and_grows_with_every_stage(stages: dict[str, Stage], part: float) -> None:
    plan = steps_of(OrderKind.BUILD, nodes=4)
    before = share_done(stages, plan, step=plan[0], part=part, names=list(stages))
    assert 0 <= before <= 1
    further = {name: BUILD_STAGES[min(BUILD_STAGES.index(stage) + 1, 3)] for name, stage in stages.items()}
    assert share_done(further, plan) >= share_done(stages, plan)


def a_blame(ground: Ground, speed: float | None = None) -> Blame:
    return Blame(ground=ground, code=ground.value, reason="because", speed=speed)


blames = st.dictionaries(
    st.text(min_size=1, max_size=3), st.sampled_from(list(Ground)).map(a_blame), max_size=6
)


@given(blames, st.integers(0, 10), st.integers(0, 4), st.integers(0, 4))
def test_never_more_than_the_limit_is_replaced_and_everybody_blamed_is_dealt_with(
    blamed: dict[str, Blame], others: int, used: int, limit: int
) -> None:
    decision = decide(blamed, worked_on=len(blamed) + others, swaps_used=used, limit=limit)
    if isinstance(decision, Swap):
        assert used + len(decision.must) + len(decision.may) <= max(limit, used)
        assert {*decision.must, *decision.may, *decision.kept} == set(blamed)
        assert all(one.ground == Ground.DEGRADED for one in {**decision.may, **decision.kept}.values())
    else:
        assert all(
            one.ground in (Ground.FAILED, Ground.UNFIT, Ground.HELD) for one in decision.blamed.values()
        )


def test_degraded_nodes_alone_never_fail_an_order() -> None:
    blamed = {name: a_blame(Ground.DEGRADED, 0.9) for name in "abcdef"}
    assert isinstance(decide(blamed, worked_on=6, swaps_used=2, limit=2), Swap)


def test_one_node_that_fails_alone_is_blamed_even_in_a_cluster_of_one() -> None:
    assert isinstance(decide({"a": a_blame(Ground.FAILED)}, worked_on=1, swaps_used=0, limit=2), Swap)
    assert isinstance(
        decide(
            {"a": a_blame(Ground.FAILED), "b": a_blame(Ground.FAILED)}, worked_on=2, swaps_used=0, limit=2
        ),
        GiveUp,
    )
