"""What a team says about its block is held to what can be."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from requests_app.blocks.rules import MOST_GPUS, MOST_PEOPLE, OLDEST, complaints

AT = datetime(2026, 11, 30, 10, 0, tzinfo=UTC)


def claim(**more: Any) -> dict[str, Any]:
    return {
        "since": AT - timedelta(hours=3),
        "people": 4,
        "idle_gpus": 32,
        "what": "The share is gone.",
        **more,
    }


def test_plain_facts_are_taken() -> None:
    assert complaints(claim(), now=AT) == {}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("people", -1),
        ("people", True),
        ("people", None),
        ("people", MOST_PEOPLE + 1),
        ("idle_gpus", MOST_GPUS + 1),
        ("idle_gpus", "8"),
        ("since", None),
        ("since", "today"),
        ("since", AT.replace(tzinfo=None)),
        ("since", AT + timedelta(minutes=5)),
        ("since", AT - OLDEST - timedelta(days=1)),
        ("what", " "),
        ("what", "x" * 501),
        ("what", "left\u202eright"),
    ],
)
def test_what_can_not_be_is_said_beside_its_field(name: str, value: Any) -> None:
    assert set(complaints(claim(**{name: value}), now=AT)) == {name}


def test_nobody_and_nothing_blocked_is_no_block() -> None:
    assert set(complaints(claim(people=0, idle_gpus=0), now=AT)) == {"people"}
    assert complaints(claim(people=0, idle_gpus=1), now=AT) == {}
    assert complaints(claim(people=1, idle_gpus=0), now=AT) == {}


_anything = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.datetimes(), st.binary()
)


@given(st.dictionaries(st.sampled_from(["since", "people", "idle_gpus", "what", "priority"]), _anything))
@settings(deadline=None)
def test_whatever_is_said_is_judged_without_a_crash(said: dict[str, Any]) -> None:
    assert set(complaints(said, now=AT)) <= {"since", "people", "idle_gpus", "what"}
