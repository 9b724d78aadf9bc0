"""Percentiles are those of PostgreSQL's percentile_cont, and say how many values they come from."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from requests_app.clocks.percentiles import percentile, spread


def test_between_neighbours_in_proportion() -> None:
    assert percentile([10, 20, 30, 40], 0.5) == 25
    assert percentile([40, 10, 30, 20], 0.9) == pytest.approx(37)


def test_of_nothing_is_nothing() -> None:
    assert (spread([]).n, spread([]).p50, spread([]).p90) == (0, None, None)


@given(st.lists(st.floats(0, 1e9), min_size=1), st.floats(0, 1))
def test_stays_within_the_values(values: list[float], share: float) -> None:
    found = percentile(values, share)
    assert found is not None
    assert min(values) <= found <= max(values)


def test_a_share_is_a_share() -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        percentile([1.0], 50)
