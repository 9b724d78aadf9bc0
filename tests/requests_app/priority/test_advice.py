"""A rank in words: why others are ahead, and what would move this one, by exactly how much."""

from __future__ import annotations

from dataclasses import asdict, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from requests_app.priority.advice import because, in_words, main_reason, ordinal, standing, what_would_change
from requests_app.priority.scoring import Facts, Policy, rank

POLICY = Policy()
DAY = 86_400
BLOCKED = Facts(ready_at=0, idle_gpu_hours=768, people=2)


def changes(facts: Facts) -> dict[str, int]:
    return {change.name: change.seconds for change in what_would_change(facts, POLICY)}


def stand(facts: Facts) -> object:
    return standing(asdict(facts), asdict(rank(facts, POLICY)))


def test_twice_the_loss_is_a_day_earlier() -> None:
    assert changes(BLOCKED)["double"] == DAY


def test_measurement_of_what_is_claimed_doubles_what_counts() -> None:
    assert changes(Facts(ready_at=0, idle_gpu_hours=768))["measure"] == DAY


def test_nothing_lost_has_nothing_to_confirm() -> None:
    assert changes(Facts(ready_at=0)) == {}


def test_confirming_people_moves_nothing_once_they_are_confirmed() -> None:
    assert "confirm_people" in changes(BLOCKED)
    assert "confirm_people" not in changes(replace(BLOCKED, people_confidence=0.8))


def test_workaround_moves_back_what_it_relieves() -> None:
    assert changes(BLOCKED)["workaround"] < 0


facts = st.builds(
    Facts,
    ready_at=st.integers(0, 10 * DAY),
    idle_gpu_hours=st.floats(0, 1e5),
    people=st.floats(0, 50),
    confidence=st.sampled_from([0.5, 0.8, 1.0]),
    residual=st.floats(0.1, 1.5),
)


@given(facts)
def test_no_advice_to_prove_a_loss_moves_a_ticket_back(some: Facts) -> None:
    found = changes(some)
    assert all(
        found[name] > 0 for name in ("double", "confirm_people", "confirm", "measure") if name in found
    )


def test_reason_is_the_largest_difference() -> None:
    mine = stand(Facts(ready_at=10 * DAY))
    assert main_reason(mine, stand(Facts(ready_at=0))) == "filed"  # type: ignore[arg-type]
    assert main_reason(mine, stand(replace(BLOCKED, ready_at=10 * DAY))) == "impact"  # type: ignore[arg-type]
    assert main_reason(mine, stand(Facts(ready_at=10 * DAY, pin=DAY))) == "pin"  # type: ignore[arg-type]


def test_reasons_are_counted_and_name_nobody() -> None:
    mine = stand(Facts(ready_at=10 * DAY))
    others = [stand(Facts(ready_at=0)), stand(Facts(ready_at=DAY)), stand(replace(BLOCKED, ready_at=9 * DAY))]
    assert in_words(because(mine, others)) == (  # type: ignore[arg-type]
        "2 were filed earlier",
        "1 loses more GPU-hours a day",
    )


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (1, "1st"),
        (2, "2nd"),
        (3, "3rd"),
        (4, "4th"),
        (11, "11th"),
        (12, "12th"),
        (21, "21st"),
        (112, "112th"),
    ],
)
def test_places_are_said_as_people_do(number: int, said: str) -> None:
    assert ordinal(number) == said
