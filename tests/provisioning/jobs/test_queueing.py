"""Who runs next: class, share, age; nodes all or none, kept for who waited long; one slot for jobs that unblock a team."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provisioning.jobs.queueing import PATIENCE, Class, Queue, Waiting, class_of, decide

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


def job(number: int, *nodes: int, waited: float = 1, **more: Any) -> Waiting:
    told = {"team": "", "class_": Class.ORDINARY, "priority": 0, **more}
    return Waiting(job=number, nodes=frozenset(nodes), since=NOW - timedelta(minutes=waited), **told)


def decided(*waiting: Waiting, **queue: Any) -> Any:
    names = {node: f"gpu-{node:03d}" for each in waiting for node in each.nodes}
    refs = {each.job: f"J-{each.job}" for each in waiting}
    return decide(waiting, Queue(**queue), at=NOW, names=names, refs=refs)


def test_unblock_jobs_come_first_and_sweeps_last_then_the_urgent_then_the_oldest() -> None:
    found = decided(
        job(1, class_=Class.ROOM, waited=500),
        job(2, waited=2),
        job(3, waited=3),
        job(4, priority=5, waited=1),
        job(5, class_=Class.UNBLOCK, waited=0),
    )
    assert found.runnable == (5, 4, 3, 2, 1)


@pytest.mark.parametrize(
    ("priority", "unblocks", "class_"),
    [
        (0, True, Class.UNBLOCK),
        (10, False, Class.UNBLOCK),
        (9, False, Class.ORDINARY),
        (-1, False, Class.ROOM),
    ],
)
def test_class_follows_from_priority_and_order(priority: int, unblocks: bool, class_: Class) -> None:
    assert class_of(priority, unblocks=unblocks) == class_


def test_team_that_has_its_share_lets_others_pass_and_runs_all_the_same_when_nobody_else_waits() -> None:
    bulk = [job(number, team="bulk", waited=90 - number) for number in range(1, 6)]
    small = job(9, team="small", waited=1)
    running = {"running_by_team": {"bulk": 2}, "running_ordinary": 2, "slots": 5}
    assert decided(*bulk, small, **running).runnable[0] == 9
    assert (
        decided(*bulk, **{**running, "running_by_team": {"bulk": 4}, "running_ordinary": 3}).runnable[0] == 1
    )


def test_job_waits_for_a_node_and_says_who_has_it() -> None:
    found = decided(job(1, 4, 5), busy={5: "J-7 holds"})
    assert found.runnable == ()
    assert found.why == {1: "Waits for gpu-005, which J-7 holds."}


def test_job_with_many_nodes_is_overtaken_until_it_waited_long_and_then_no_more() -> None:
    young = (job(1, 1, 2, waited=5), job(2, 2, waited=1))
    assert decided(*young, busy={1: "J-7 holds"}).runnable == (2,)
    patient = (job(1, 1, 2, waited=PATIENCE.total_seconds() / 60), job(2, 2, waited=1))
    found = decided(*patient, busy={1: "J-7 holds"})
    assert found.runnable == ()
    assert found.why[2] == "Waits for gpu-002, which is kept for J-1: that has waited longest."
    assert decided(*patient).runnable == (1,)


def test_of_two_that_waited_long_the_older_keeps_the_node() -> None:
    found = decided(job(1, 1, 2, waited=60), job(2, 2, 3, waited=90), busy={1: "J-7 holds", 3: "J-8 holds"})
    assert found.runnable == ()
    assert decided(job(1, 1, 2, waited=60), job(2, 2, 3, waited=90)).runnable == (2,)


def test_last_slot_is_for_jobs_that_unblock() -> None:
    waiting = (job(1), job(2, class_=Class.UNBLOCK))
    found = decided(*waiting, slots=3, running_ordinary=2)
    assert found.runnable == (2,)
    assert (
        found.why[1] == "Waits for a worker: the one slot that is free is kept for jobs that unblock a team."
    )
    full = decided(*waiting, slots=3, running_ordinary=2, running_unblock=1)
    assert full.runnable == ()
    assert set(full.why.values()) == {"Waits for a worker: all 3 slots are taken."}


def test_too_few_slots_keep_none_free() -> None:
    assert decided(job(1), slots=2, running_ordinary=1).runnable == (1,)


def test_queue_without_workers_says_so_and_one_that_nobody_counted_runs() -> None:
    assert decided(job(1), slots=0).why == {1: "No worker takes jobs right now."}
    assert decided(job(1), slots=None).runnable == (1,)


JOBS = st.lists(
    st.builds(
        lambda nodes, waited, class_, team: (nodes, waited, class_, team),
        st.frozensets(st.integers(1, 6), min_size=1, max_size=4),
        st.integers(0, 100),
        st.sampled_from(Class),
        st.sampled_from(["", "a", "b"]),
    ),
    max_size=12,
)


@given(told=JOBS, busy=st.frozensets(st.integers(1, 6)), slots=st.none() | st.integers(0, 6))
def test_every_job_runs_or_says_why_not_and_none_takes_a_busy_node(
    told: list[tuple[frozenset[int], int, Class, str]], busy: frozenset[int], slots: int | None
) -> None:
    waiting = [
        job(number, *nodes, waited=waited, class_=class_, team=team)
        for number, (nodes, waited, class_, team) in enumerate(told, start=1)
    ]
    found = decided(*waiting, busy=dict.fromkeys(busy, "J-99 holds"), slots=slots)
    assert sorted([*found.runnable, *found.why]) == [each.job for each in waiting]
    by_number = {each.job: each for each in waiting}
    assert not any(by_number[number].nodes & busy for number in found.runnable)
    assert all(text.endswith(".") for text in found.why.values())


@given(told=JOBS)
def test_job_that_waited_longest_runs_when_its_nodes_are_free(
    told: list[tuple[frozenset[int], int, Class, str]],
) -> None:
    waiting = [
        job(number, *nodes, waited=waited, class_=class_, team=team)
        for number, (nodes, waited, class_, team) in enumerate(told, start=1)
    ]
    patient = [each for each in waiting if each.class_ != Class.ROOM and NOW - each.since >= PATIENCE]
    if patient:
        oldest = min(patient, key=lambda each: (each.since, each.job))
        assert oldest.job in decided(*waiting).runnable


@given(
    told=JOBS,
    slots=st.integers(3, 6),
    ordinary=st.integers(0, 6),
    unblock=st.integers(0, 6),
    site=st.sampled_from(["", "north"]),
)
def test_at_every_site_the_last_slot_is_left_to_jobs_that_unblock_and_they_wait_for_none_that_is_free(
    told: list[tuple[frozenset[int], int, Class, str]], slots: int, ordinary: int, unblock: int, site: str
) -> None:
    waiting = [
        job(number, *nodes, waited=waited, class_=class_, team=team)
        for number, (nodes, waited, class_, team) in enumerate(told, start=1)
    ]
    found = decided(*waiting, slots=slots, running_ordinary=ordinary, running_unblock=unblock, site=site)
    classes = {each.job: each.class_ for each in waiting}
    runs = {classes[number] for number in found.runnable}
    if ordinary >= slots - 1:
        assert runs <= {Class.UNBLOCK}
    if ordinary + unblock >= slots:
        assert runs == set()
    elif any(class_ == Class.UNBLOCK for class_ in classes.values()):
        slotless = [number for number, text in found.why.items() if text.startswith("Waits for a worker")]
        assert not [number for number in slotless if classes[number] == Class.UNBLOCK]


def test_site_without_a_worker_is_said_before_anything_else() -> None:
    found = decided(job(1, 4), busy={4: "J-7 holds"}, slots=0, site="north")
    assert found.why == {1: "No worker of site north is there: start one, or its nodes can't be reached."}
