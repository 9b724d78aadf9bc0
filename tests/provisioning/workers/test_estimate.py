"""When one more job would start follows from what runs, what waits, and how long jobs take here."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provisioning.workers.estimate import Line, RunTime, estimate, run_time

TIMES = {"build": RunTime(usual=600.0, late=900.0, runs=50), "probe": RunTime(usual=60.0, late=90.0, runs=1)}


def test_run_time_is_the_middle_of_the_last_runs_and_what_nine_of_ten_keep_to() -> None:
    found = run_time([float(number) for number in range(100, 0, -1)])
    assert (found.usual, found.late, found.runs) == (50.5, 91.0, 100)
    assert run_time([7.0]) == RunTime(usual=7.0, late=7.0, runs=1)


def test_free_slot_and_nobody_before_one_means_now() -> None:
    found = estimate(Line(slots=3, kept=1, running=[("build", 5.0)]), TIMES)
    assert (found.usual, found.late) == (0.0, 0.0)
    assert found.says == "A slot is free and nobody waits for one."


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (Line(slots=None), "No worker was ever heard of."),
        (Line(slots=0, ahead={"build": 3}), "No worker is there, so nothing starts."),
    ],
)
def test_without_workers_nobody_can_tell(line: Line, says: str) -> None:
    found = estimate(line, TIMES)
    assert (found.usual, found.late, found.says) == (None, None, says)


def test_without_measured_runs_nobody_can_tell() -> None:
    assert estimate(Line(slots=1, running=[("build", 5.0)]), {}).usual is None


def test_queue_is_played_through_and_the_sentence_says_with_what() -> None:
    line = Line(
        slots=3,
        kept=1,
        running=[("build", 100.0), ("build", 500.0)],
        ahead={"build": 1, "probe": 2},
        blocked=4,
    )
    found = estimate(line, TIMES)
    # After 100 s a slot is free and builds until 700 s; after 500 s the other one probes twice, until 620 s.
    assert found.usual == pytest.approx(620.0)
    assert found.late == pytest.approx(980.0)
    assert found.says == (
        "2 running and 3 waiting are played through 2 slots; with build 10 min (the middle of 50 runs), "
        "probe 1 min (its one run); 4 more wait for nodes and are left out."
    )


def test_job_that_runs_longer_than_usual_is_taken_to_need_a_tenth_of_it_yet() -> None:
    assert estimate(Line(slots=1, running=[("build", 4000.0)]), TIMES).usual == pytest.approx(60.0)


def test_playbook_that_never_ended_here_counts_as_the_middle_of_the_others_and_says_so() -> None:
    found = estimate(Line(slots=1, running=[("new", 0.0)]), TIMES)
    assert found.usual == pytest.approx(330.0)
    assert "new never ended here and count as the middle of the others" in found.says


@given(
    slots=st.integers(1, 20),
    running=st.lists(st.tuples(st.sampled_from(["build", "probe", "new"]), st.floats(0, 5000)), max_size=20),
    ahead=st.dictionaries(st.sampled_from(["build", "probe", "new"]), st.integers(0, 300)),
)
def test_more_before_it_never_makes_it_sooner_and_more_slots_never_later(
    slots: int, running: list[tuple[str, float]], ahead: dict[str, int]
) -> None:
    def usual(**more: object) -> float:
        told = {"slots": slots, "running": running[:slots], "ahead": ahead} | more
        found = estimate(Line(**told), TIMES)  # type: ignore[arg-type]
        assert found.usual is not None
        assert found.late is not None
        assert 0 <= found.usual <= found.late
        return found.usual

    here = usual()
    assert usual(ahead={**ahead, "build": ahead.get("build", 0) + 1}) >= here - 1e-6
    work = sum(TIMES.get(name, TIMES["build"]).usual * count for name, count in ahead.items())
    assert here <= work + len(running) * 600.0
    assert usual(slots=slots + 400) == 0.0 or sum(ahead.values()) >= 400
