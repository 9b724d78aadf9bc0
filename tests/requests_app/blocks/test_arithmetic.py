"""Hours are lost once, by whoever tells them, and by what was measured where something was."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from requests_app.blocks.arithmetic import (
    Level,
    Loss,
    claim_ratio,
    hours,
    hours_once,
    measured_over_claimed,
    part_of_a_person,
    parts_of_one_loss,
)

NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


def after(count: float) -> datetime:
    return NOON + timedelta(hours=count)


def level(since: float, amount: float) -> Level:
    return Level(since=after(since), amount=amount)


levels = st.lists(
    st.builds(level, st.floats(0, 100), st.integers(0, 1000)),
    min_size=1,
    max_size=5,
    unique_by=lambda x: x.since,
)
losses = st.builds(
    lambda team, resource, steps, until: Loss(
        team=team, resource=resource, levels=tuple(steps), until=after(until)
    ),
    st.sampled_from(["vision", "speech"]),
    st.sampled_from(["", "h100"]),
    levels,
    st.floats(0, 200),
)


def test_sixty_four_idle_gpus_for_half_a_day() -> None:
    assert hours([level(0, 64)], after(12)) == 768


def test_corrected_facts_count_from_their_correction_on() -> None:
    assert hours([level(0, 64), level(2, 8)], after(5)) == 64 * 2 + 8 * 3


def test_nothing_is_lost_before_it_began() -> None:
    assert hours([level(3, 64)], after(2)) == 0
    assert hours([], after(2)) == 0


def test_measurement_takes_the_place_of_the_claim_from_then_on() -> None:
    counted = measured_over_claimed([level(0, 64), level(6, 100)], [level(4, 16)])
    assert hours(counted, after(10)) == 64 * 4 + 16 * 6


def test_two_blocks_on_one_resource_lose_its_hours_once() -> None:
    one = Loss(team="vision", resource="h100", levels=(level(0, 64),), until=after(10))
    two = Loss(team="vision", resource="h100", levels=(level(5, 32),), until=after(12))
    assert hours_once([one, two]) == 64 * 10 + 32 * 2
    other = Loss(team="vision", resource="a100", levels=(level(5, 32),), until=after(12))
    assert hours_once([one, other]) == 64 * 10 + 32 * 7


@given(st.lists(losses, max_size=5))
def test_losses_together_are_never_more_than_their_sum_nor_less_than_the_largest(found: list[Loss]) -> None:
    each = [hours(loss.levels, loss.until) for loss in found]
    together = hours_once(found)
    assert together <= sum(each) + 1e-6
    assert together >= max(each, default=0.0) - 1e-6


@given(losses)
def test_the_same_loss_told_twice_is_lost_once(loss: Loss) -> None:
    assert hours_once([loss, loss]) == pytest.approx(hours(loss.levels, loss.until), abs=1e-6)


@given(st.dictionaries(st.integers(1, 9), st.floats(0, 1e4), min_size=1))
def test_parts_of_one_loss_make_the_largest_claim_together(claims: dict[int, float]) -> None:
    parts = parts_of_one_loss(claims)
    together = sum(claims[key] * parts[key] for key in claims)
    assert together == pytest.approx(max(claims.values()), abs=1e-6)
    assert all(0 < part <= 1 for part in parts.values())


def test_person_is_split_over_the_blocks_that_name_them() -> None:
    assert part_of_a_person(half=False, named_in=1) == 1
    assert part_of_a_person(half=False, named_in=4) == 0.25
    assert part_of_a_person(half=True, named_in=2) == 0.25


def test_claim_ratio_is_what_was_measured_of_what_was_claimed_within_its_limits() -> None:
    assert claim_ratio([]) == 1
    assert claim_ratio([(0, 0)]) == 1
    assert claim_ratio([(100, 70)]) == pytest.approx(0.7)
    assert claim_ratio([(1000, 1)]) == 0.5
    assert claim_ratio([(10, 1000)]) == 1
