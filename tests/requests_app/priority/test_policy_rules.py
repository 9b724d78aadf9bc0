"""Constants that can't be a policy are said beside their field."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from requests_app.priority.policy_rules import CONSTANTS, complaints

GOOD: dict[str, Any] = {
    "half_life_hours": 24,
    "person_day": 530,
    "median_ratio": 60,
    "share_half_life_days": 14,
    "flood_hours": 6,
    "reason": "A crunch is coming.",
}
NAMES = {constant.name for constant in CONSTANTS}


def test_the_portals_own_constants_are_good() -> None:
    assert complaints(GOOD) == {}


@pytest.mark.parametrize("name", sorted(NAMES))
@pytest.mark.parametrize("value", [None, "24", True, float("nan"), float("inf"), -1, 1e12])
def test_what_is_no_constant_is_refused(name: str, value: Any) -> None:
    assert set(complaints({**GOOD, name: value})) == {name}


@pytest.mark.parametrize("reason", [None, " ", "x" * 2001])
def test_policy_without_a_reason_is_refused(reason: Any) -> None:
    assert set(complaints({**GOOD, "reason": reason})) == {"reason"}


@given(
    st.dictionaries(st.sampled_from([*sorted(NAMES), "reason", "other"]), st.none() | st.text() | st.floats())
)
def test_whatever_is_given_is_judged_without_a_crash(given_values: dict[str, Any]) -> None:
    assert set(complaints(given_values)) <= {*NAMES, "reason"}
