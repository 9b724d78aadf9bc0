"""When more comes in than goes out the desk is told, and what could be given now."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from requests_app.priority.crunch import Ask, Flow, offer_less, percentile, reasons


def flow(arrivals: int = 20, completions: int = 20, wait: float = 10) -> Flow:
    return Flow(arrivals=arrivals, completions=completions, wait_p95_hours=wait)


def ask(ticket: str, asked: int, room: int) -> Ask:
    return Ask(ticket=ticket, title="", label="", sku="h100", unit="nodes", asked=asked, room=room)


def test_calm_queue_is_no_crunch() -> None:
    assert reasons(flow(), half_life_hours=24) == []


def test_two_weeks_of_more_arrivals_than_completions_are_one() -> None:
    (said,) = reasons(flow(arrivals=30), half_life_hours=24)
    assert "30 requests came and 20 were decided" in said


def test_a_handful_of_requests_is_no_trend() -> None:
    assert reasons(flow(arrivals=4, completions=0), half_life_hours=24) == []


def test_waiting_longer_than_five_half_lives_is_one() -> None:
    assert reasons(flow(wait=120), half_life_hours=24) == []
    (said,) = reasons(flow(wait=121), half_life_hours=24)
    assert "120 h" in said


def test_largest_asks_whose_part_would_fit_are_suggested() -> None:
    found = offer_less([ask("T-1", 4, 4), ask("T-2", 16, 3), ask("T-3", 8, 5), ask("T-4", 32, 0)])
    assert [each.ticket for each in found] == ["T-2", "T-3"]


@pytest.mark.parametrize(("values", "expected"), [([], 0), ([5], 5), (list(range(1, 101)), 95)])
def test_percentile_of_what_is_there(values: list[float], expected: float) -> None:
    assert percentile(values, 0.95) == expected


@given(st.lists(st.floats(0, 1e6), min_size=1))
def test_percentile_is_one_of_the_values_and_enough_are_below(values: list[float]) -> None:
    found = percentile(values, 0.95)
    assert found in values
    assert sum(value <= found for value in values) >= 0.95 * len(values) - 1e-6
