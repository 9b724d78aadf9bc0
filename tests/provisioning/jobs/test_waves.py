"""How nodes are cut into waves and shards, and what follows when a part has ended."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from provisioning.jobs.waves import (
    Asked,
    Budget,
    Plan,
    Standing,
    Step,
    Wave,
    decide,
    plan,
    say_pause,
    say_progress,
    shards,
)

FEW = st.integers(min_value=0, max_value=60)
BUDGETS = st.one_of(
    st.builds(Budget, count=FEW, is_percent=st.just(value=False)),
    st.builds(Budget, count=st.integers(min_value=0, max_value=100), is_percent=st.just(value=True)),
)
ASKED = st.builds(
    Asked,
    canary=FEW,
    canary_budget=BUDGETS,
    percentages=st.sets(st.integers(min_value=1, max_value=100), max_size=6).map(lambda s: tuple(sorted(s))),
    budget=BUDGETS,
)
STANDINGS = st.builds(
    Standing,
    ok=FEW,
    bad=FEW,
    running=FEW,
    queued=FEW,
    unbegun=FEW,
    later=FEW,
    may_fail=st.none() | FEW,
    stopping=st.booleans(),
)


def sizes(nodes: int, asked: Asked) -> list[int]:
    return [len(wave.nodes) for wave in plan(range(1, nodes + 1), asked).waves]


@given(nodes=st.lists(st.integers(), unique=True, min_size=1, max_size=300), asked=st.none() | ASKED)
def test_waves_hold_every_node_once_in_order_and_none_is_empty(nodes: list[int], asked: Asked | None) -> None:
    found = plan(nodes, asked)
    assert [node for wave in found.waves for node in wave.nodes] == nodes
    assert all(wave.nodes for wave in found.waves)
    assert Plan.from_data(found.as_data()) == found, "and a row keeps it as it is"


@given(
    nodes=st.lists(st.integers(), unique=True, max_size=300),
    size=st.none() | st.integers(min_value=1, max_value=70),
)
def test_shards_hold_every_node_once_in_order_and_are_even(nodes: list[int], size: int | None) -> None:
    found = shards(nodes, size=size)
    assert [node for part in found for node in part] == nodes
    lengths = [len(part) for part in found]
    assert not lengths or max(lengths) - min(lengths) <= 1
    assert all(0 < length <= (size or len(nodes)) for length in lengths)
    assert len(found) == (0 if not nodes else 1 if size is None else -(-len(nodes) // size))


def test_canary_comes_first_then_percentages_of_all_then_the_rest() -> None:
    asked = Asked(canary=2, percentages=(10, 50))
    assert sizes(100, asked) == [2, 8, 40, 50]
    titles = [wave.title for wave in plan(range(100), asked).waves]
    assert titles == ["the canary", "up to 10 %", "up to 50 %", "the rest"]


def test_percentages_are_rounded_up_so_that_each_has_a_node() -> None:
    assert sizes(45, Asked(percentages=(10, 50))) == [5, 18, 22]
    assert sizes(3, Asked(percentages=(1, 50, 100))) == [1, 1, 1]


def test_wave_that_would_be_empty_is_left_out() -> None:
    assert sizes(100, Asked(canary=30, percentages=(10, 50))) == [30, 20, 50]
    assert sizes(4, Asked(canary=10)) == [4]
    assert sizes(10, Asked(percentages=(100,))) == [10]


@pytest.mark.parametrize("percentages", [(0,), (101,), (50, 10), (10, 10)])
def test_percentages_that_make_no_sense_are_refused(percentages: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="ercentage"):
        Asked(percentages=percentages)


@pytest.mark.parametrize(
    ("told", "nodes", "allowed"),
    [(0, 40, 0), ("2", 40, 2), ("5%", 30, 1), ("5 %", 19, 0), ("100%", 7, 7), ("0%", 7, 0), (" 3 ", 2, 3)],
)
def test_budget_in_percent_is_rounded_down(told: object, nodes: int, allowed: int) -> None:
    assert Budget.read(told).of(nodes) == allowed


@pytest.mark.parametrize("told", ["", "-1", "1.5", "five", "101%", None, True, 2.0, "٣"])
def test_budget_that_is_no_number_is_refused(told: object) -> None:
    with pytest.raises(ValueError, match=r"number|percentage"):
        Budget.read(told)


@given(at=STANDINGS)
def test_pause_end_and_next_wave_hold_no_node(at: Standing) -> None:
    if decide(at) in {Step.PAUSE, Step.CONCLUDE, Step.NEXT}:
        assert at.running + at.queued == 0


@given(at=STANDINGS)
def test_pause_leaves_something_to_resume_and_a_next_wave_follows_a_whole_one(at: Standing) -> None:
    step = decide(at)
    assert step is not Step.PAUSE or (at.remaining and at.is_spent)
    assert step is not Step.NEXT or (at.later and not at.unbegun and not at.is_spent)
    assert step is not Step.CONCLUDE or at.stopping or not at.remaining


@given(at=STANDINGS)
def test_stopped_job_begins_nothing(at: Standing) -> None:
    assert not at.stopping or decide(at) in {Step.WAIT, Step.CONCLUDE}


@given(at=STANDINGS)
def test_wave_without_a_budget_never_pauses(at: Standing) -> None:
    assume(at.may_fail is None)
    assert decide(at) not in {Step.PAUSE, Step.TAKE_BACK}


@dataclass
class Played:
    """A whole without rows: its shards begin and end as the test draws it."""

    plan: Plan
    size: int
    data: st.DataObject
    number: int = 0
    endings: dict[int, bool] = field(default_factory=dict)
    queued: list[tuple[int, ...]] = field(default_factory=list)
    running: list[tuple[int, ...]] = field(default_factory=list)

    def standing(self) -> Standing:
        wave = self.plan.waves[self.number - 1] if self.number else Wave(title="", nodes=())
        mine = [self.endings[node] for node in wave.nodes if node in self.endings]
        return Standing(
            ok=sum(mine),
            bad=len(mine) - sum(mine),
            running=sum(len(part) for part in self.running),
            queued=sum(len(part) for part in self.queued),
            unbegun=len(self.rest()),
            later=self.plan.after(self.number),
            may_fail=wave.may_fail,
        )

    def rest(self) -> list[int]:
        held = {node for part in (*self.queued, *self.running) for node in part}
        nodes = self.plan.waves[self.number - 1].nodes if self.number else ()
        return [node for node in nodes if node not in self.endings and node not in held]

    def go(self, step: Step) -> None:
        if step is Step.TAKE_BACK:
            self.queued.clear()
        elif step is Step.WAIT:
            self.work()
        else:
            if step is Step.PAUSE:
                self.plan = self.plan.resumed(self.number, again=[], rest=self.rest())
            self.number += step is not Step.FILL
            self.queued += shards(self.rest(), size=self.size)

    def work(self) -> None:
        if self.queued and (not self.running or self.data.draw(st.booleans())):
            self.running.append(self.queued.pop(0))
            return
        place = self.data.draw(st.integers(min_value=0, max_value=len(self.running) - 1))
        for node in self.running.pop(place):
            assert node not in self.endings
            self.endings[node] = self.data.draw(st.booleans())


@given(
    nodes=st.integers(min_value=1, max_value=40),
    asked=ASKED,
    size=st.integers(min_value=1, max_value=9),
    data=st.data(),
)
def test_every_run_comes_to_an_end_in_which_each_node_ran_once(
    nodes: int, asked: Asked, size: int, data: st.DataObject
) -> None:
    """Shards begin and end in any order, some nodes fail, and every pause is resumed."""
    played = Played(plan=plan(range(nodes), asked), size=size, data=data)
    for _ in range(nodes * 12):
        step = decide(played.standing())
        if step is Step.CONCLUDE:
            break
        played.go(step)
    assert set(played.endings) == set(range(nodes))
    assert played.queued == played.running == []


def test_exactly_the_budget_goes_on_and_one_more_pauses() -> None:
    spent = {"ok": 37, "later": 57, "may_fail": 3}
    assert decide(Standing(bad=3, **spent)) is Step.NEXT
    assert decide(Standing(bad=4, **spent)) is Step.PAUSE


def test_budget_of_nothing_pauses_at_the_first_failure() -> None:
    assert decide(Standing(ok=1, bad=1, later=5, may_fail=0)) is Step.PAUSE


def test_budget_that_is_spent_with_the_last_node_needs_nobody() -> None:
    assert decide(Standing(ok=1, bad=3, may_fail=0)) is Step.CONCLUDE


def test_what_runs_is_waited_for_after_the_budget_is_spent() -> None:
    assert decide(Standing(bad=3, running=2, unbegun=4, later=9, may_fail=1)) is Step.WAIT


def test_stopped_job_waits_for_what_runs_and_then_ends() -> None:
    assert decide(Standing(running=1, later=9, stopping=True)) is Step.WAIT
    assert decide(Standing(bad=9, later=9, may_fail=0, stopping=True)) is Step.CONCLUDE


def test_resumed_plan_runs_what_failed_then_the_rest_of_the_wave_then_the_waves_after() -> None:
    budget = Budget(count=10, is_percent=True)
    cut = plan(range(20), Asked(canary=2, percentages=(50,), budget=budget))
    again = cut.resumed(2, again=[3, 4], rest=[8, 9])
    assert [(wave.title, wave.nodes) for wave in again.waves[2:]] == [
        ("what failed, again", (3, 4)),
        ("the rest of up to 50 %", (8, 9)),
        ("the rest", tuple(range(10, 20))),
    ]
    assert again.waves[2].budget == budget


def test_pause_is_said_in_one_sentence() -> None:
    at = Standing(ok=37, bad=3, unbegun=7, later=50, may_fail=2)
    assert say_pause(at, number=2, waves=4) == (
        "3 of 40 nodes failed, the budget of wave 2 of 4 is 2; resume runs the 57 that remain, stop ends it here."
    )
    one = Standing(bad=1, later=1, may_fail=0)
    assert say_pause(one, number=1, waves=2) == (
        "1 of 1 node failed, the budget of wave 1 of 2 is 0; resume runs the 1 that remains, stop ends it here."
    )


def test_progress_is_said_in_one_sentence() -> None:
    at = Standing(ok=4, bad=1, running=5, may_fail=1)
    assert say_progress(at, number=2, waves=3, title="up to 50 %") == (
        "Wave 2 of 3, up to 50 %: 5 of 10 nodes are done, 1 of them not ok."
    )
    assert say_progress(Standing(queued=1), number=1, waves=1, title="all") == "0 of 1 node is done."
    spent = say_progress(Standing(bad=1, running=1, may_fail=0), number=1, waves=2, title="the canary")
    assert "its budget is spent, so it pauses when what runs has ended" in spent
