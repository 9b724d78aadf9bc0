"""Do the robust numbers hold against wild values and against values that repeat exactly?"""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provisioning.validation.robust import (
    cut_of,
    log_ratio,
    moderated_scale,
    relative_spread,
    robust_scale,
    robust_z,
    share_of,
)

positive = st.floats(min_value=0.1, max_value=1e6)


@given(values=st.lists(positive, min_size=1, max_size=40), order=st.randoms(use_true_random=False))
def test_the_scale_does_not_depend_on_the_order(values: list[float], order: object) -> None:
    shuffled = sorted(values, reverse=True)
    assert robust_scale(values) == robust_scale(shuffled)


def test_one_wild_value_among_many_does_not_move_the_scale() -> None:
    calm = [100.0, 101.0, 99.0, 100.5, 99.5]
    assert robust_scale([*calm, 1e9]) < 3 * robust_scale(calm)


def test_values_that_repeat_exactly_have_no_z_and_nothing_is_divided() -> None:
    assert robust_z(399.0, [400.0] * 8) is None
    assert robust_z(1.0, [1.0]) is None


def test_z_of_a_normal_value_is_its_distance_in_scales() -> None:
    assert robust_z(90.0, [98.0, 99.0, 100.0, 101.0, 102.0]) == pytest.approx(-10 / 1.4826)


def test_few_nodes_lean_on_the_prior_and_many_on_themselves() -> None:
    assert moderated_scale(0.5, 1, prior=0.01, freedom=10) == pytest.approx(0.01)
    assert moderated_scale(0.5, 10_000, prior=0.01, freedom=10) == pytest.approx(0.5, rel=0.01)


def test_one_dip_of_three_is_no_spread_and_three_levels_are() -> None:
    assert relative_spread([100.0, 93.0, 100.2]) < 0.01
    assert relative_spread([100.0, 97.0, 94.0]) > 0.02


@given(share=st.floats(min_value=0.0, max_value=0.9))
def test_a_share_survives_the_way_into_logs_and_back(share: float) -> None:
    assert share_of(-cut_of(share)) == pytest.approx(share, abs=1e-12)


@given(value=positive, against=positive)
def test_the_log_ratio_is_negative_exactly_when_slower(value: float, against: float) -> None:
    assert (
        math.copysign(1, log_ratio(value, against)) == math.copysign(1, value - against) or value == against
    )
