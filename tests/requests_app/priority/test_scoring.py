"""The rule that ranks: additive to the second, constant in time, and never starving."""

from __future__ import annotations

from dataclasses import asdict, replace
from math import log2
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from requests_app.priority.advice import differences, standing
from requests_app.priority.scoring import Facts, Policy, Rank, impact, rank

POLICY = Policy()
DAY = 86_400

facts = st.builds(
    Facts,
    ready_at=st.integers(1_700_000_000, 1_900_000_000),
    paused=st.integers(0, 30 * DAY),
    idle_gpu_hours=st.floats(0, 1e6),
    people=st.floats(0, 500),
    dated_loss=st.floats(0, 1e5),
    confidence=st.sampled_from([0.5, 0.8, 1.0]),
    residual=st.floats(0.01, 1.5),
    fairness=st.floats(0.01, 100),
    effort_hours=st.floats(0, 1000),
)


def test_rank_of_the_worked_example() -> None:
    blocked = Facts(ready_at=0, idle_gpu_hours=768, people=3, confidence=1.0, effort_hours=2)
    assert impact(blocked, POLICY) == 2358
    assert rank(blocked, POLICY).head_start / 3600 == pytest.approx(103.1, abs=0.1)
    relieved = replace(blocked, residual=0.3)
    assert rank(relieved, POLICY).head_start / 3600 == pytest.approx(61.4, abs=0.1)
    overdue = replace(blocked, residual=0.3 * 1.1**3)
    assert rank(overdue, POLICY).head_start / 3600 == pytest.approx(71.3, abs=0.1)


@given(facts)
def test_bars_add_up_to_the_head_start_to_the_second(given_facts: Facts) -> None:
    ranked = rank(given_facts, POLICY)
    assert sum(bar.seconds for bar in ranked.bars) == ranked.head_start
    assert ranked.key == given_facts.ready_at + given_facts.paused - ranked.head_start


@given(facts, facts, st.integers(0, 400 * DAY))
def test_order_of_two_tickets_does_not_depend_on_when_they_are_compared(
    one: Facts, two: Facts, later: int
) -> None:
    first, second = rank(one, POLICY), rank(two, POLICY)
    later_first = rank(replace(one, ready_at=one.ready_at + later), POLICY)
    later_second = rank(replace(two, ready_at=two.ready_at + later), POLICY)
    assert (first.key < second.key) == (later_first.key < later_second.key)


@given(facts)
def test_nothing_is_overtaken_by_what_comes_more_than_twelve_days_later(given_facts: Facts) -> None:
    most = Facts(
        ready_at=given_facts.ready_at + given_facts.paused + 12 * DAY + 1, idle_gpu_hours=1e12, confidence=1
    )
    assert rank(given_facts, POLICY).key < rank(most, POLICY).key


@given(facts, st.floats(1, 1000))
def test_more_lost_gpu_hours_never_move_a_ticket_back(given_facts: Facts, more: float) -> None:
    worse = replace(given_facts, idle_gpu_hours=given_facts.idle_gpu_hours + more)
    assert rank(worse, POLICY).key <= rank(given_facts, POLICY).key


def test_a_doubling_of_impact_buys_a_day() -> None:
    once = Facts(ready_at=0, idle_gpu_hours=1000, confidence=1)
    twice = replace(once, idle_gpu_hours=2000)
    assert rank(twice, POLICY).head_start - rank(once, POLICY).head_start == DAY


def test_ten_percent_more_remaining_moves_a_ticket_by_three_hours_and_a_third() -> None:
    """Scenario 2: a replacement is overdue by a week, so its residual grows by 10 %: H·log2(1.1) = 3.3 h."""
    relieved = Facts(ready_at=0, idle_gpu_hours=768, people=3, confidence=1.0, residual=0.3)
    week_late = replace(relieved, residual=0.3 * 1.1)
    moved = rank(relieved, POLICY).key - rank(week_late, POLICY).key
    assert moved == pytest.approx(24 * 3600 * log2(1.1), abs=1)
    assert moved / 3600 == pytest.approx(3.3, abs=0.01)


@given(facts, st.integers(-30 * DAY, 30 * DAY))
def test_pin_is_a_bar_of_its_own_and_moves_by_exactly_its_seconds(given_facts: Facts, pin: int) -> None:
    plain, pinned = rank(given_facts, POLICY), rank(replace(given_facts, pin=pin), POLICY)
    assert plain.key - pinned.key == pin
    assert [bar.seconds for bar in pinned.bars if bar.name == "pin"] == ([pin] if pin else [])
    assert sum(bar.seconds for bar in pinned.bars) == pinned.head_start


def test_a_thousand_random_pairs_differ_by_exactly_what_their_bars_say() -> None:
    """Scenario 5."""
    dice = Random(20261130)
    policies = [POLICY, Policy(version=2, half_life_hours=48, person_day=400, median_ratio=90)]

    def one() -> tuple[Facts, Rank]:
        some = Facts(
            ready_at=dice.randint(1_700_000_000, 1_900_000_000),
            paused=dice.choice([0, dice.randint(0, 30 * DAY)]),
            idle_gpu_hours=dice.choice([0.0, 2 ** dice.uniform(0, 18)]),
            people=dice.choice([0.0, dice.uniform(0, 40)]),
            dated_loss=dice.choice([0.0, dice.uniform(0, 5000)]),
            confidence=dice.choice([0.25, 0.5, 0.8, 1.0]),
            people_confidence=dice.choice([None, 0.5, 0.63, 0.8]),
            dated_confidence=dice.choice([None, 0.8, 1.0]),
            residual=dice.choice([1.0, dice.uniform(0.05, 1.5)]),
            fairness=2 ** dice.uniform(-3, 3),
            effort_hours=dice.uniform(0.1, 100),
            pin=dice.choice([0, dice.randint(-DAY, DAY)]),
        )
        return some, rank(some, dice.choice(policies))

    for _ in range(1000):
        (mine_facts, mine), (other_facts, other) = one(), one()
        by_bars = differences(
            standing(asdict(mine_facts), asdict(mine)), standing(asdict(other_facts), asdict(other))
        )
        assert sum(by_bars.values()) == mine.key - other.key


@given(facts, facts, st.integers(0, 400 * DAY), st.sampled_from([Policy(), Policy(half_life_hours=72)]))
def test_order_by_key_is_the_order_at_any_later_time(
    one: Facts, two: Facts, later: int, policy: Policy
) -> None:
    """Scenario 6: a ticket's urgency at a moment is how long it waits since its virtual start; both grow alike."""
    first, second = rank(one, policy), rank(two, policy)
    at = max(first.key, second.key) + later
    urgency_of_first, urgency_of_second = at - first.key, at - second.key
    assert (first.key < second.key) == (urgency_of_first > urgency_of_second)


def test_confirmed_people_among_claimed_ones_count_for_themselves() -> None:
    claimed = Facts(ready_at=0, people=4)
    half_confirmed = replace(claimed, people_confidence=0.65)
    assert impact(half_confirmed, POLICY) == pytest.approx(0.65 * 4 * 530)
    assert rank(half_confirmed, POLICY).key < rank(claimed, POLICY).key
