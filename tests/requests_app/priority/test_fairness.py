"""Who had more than their share lately waits a little longer, for that resource and no other."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from requests_app.priority.fairness import Share, Use, decayed_hours, fairness, has_leapt, shares

DAY = 86_400.0
AT = 1_800_000_000.0


def use(team: str, resource: str, amount: float, days_ago: float, days: float = 1) -> Use:
    start = AT - days_ago * DAY
    return Use(team=team, resource=resource, amount=amount, start=start, end=start + days * DAY)


def found(uses: list[Use], due: dict[tuple[str, str], float]) -> dict[tuple[str, str], Share]:
    return shares(uses, due, at=AT, half_life_days=14)


def test_fair_share_stands_at_one() -> None:
    assert fairness(0.5, 0.5) == 1
    assert fairness(0.25, 0.25) == 1


def test_twice_the_share_is_half_and_nothing_is_double() -> None:
    assert fairness(0.5, 0.25) == 0.5
    assert fairness(0.0, 0.25) == 2


@given(st.floats(0, 1), st.floats(0, 1))
def test_fairness_stays_within_its_limits(used: float, entitled: float) -> None:
    assert 0.25 <= fairness(used, entitled) <= 4


def test_use_is_forgotten_by_half_in_fourteen_days() -> None:
    fresh = decayed_hours(use("vision", "h100", 8, days_ago=1), at=AT, half_life_days=14)
    old = decayed_hours(use("vision", "h100", 8, days_ago=15), at=AT, half_life_days=14)
    assert old == pytest.approx(fresh / 2)
    assert fresh == pytest.approx(8 * 24, rel=0.03)


def test_use_that_is_still_to_come_does_not_count() -> None:
    assert decayed_hours(use("vision", "h100", 8, days_ago=-1), at=AT, half_life_days=14) == 0


def test_team_over_its_share_of_one_kind_is_not_behind_for_another() -> None:
    """kueue#9406: borrowing one flavor must not cost the entitlement to another."""
    due = {(team, sku): 64.0 for team in ("vision", "speech") for sku in ("a10", "h100")}
    uses = [use("vision", "a10", 64, 1), use("speech", "h100", 64, 1)]
    result = found(uses, due)
    assert result[("vision", "a10")].fairness == 0.5
    assert result[("vision", "h100")].fairness == 2
    assert result[("speech", "h100")].fairness == 0.5


def test_of_a_resource_that_nobody_used_nobody_had_too_little() -> None:
    assert found([], {("vision", "h100"): 64.0, ("speech", "h100"): 8.0})[("speech", "h100")].fairness == 1


@given(
    st.dictionaries(st.sampled_from(["a", "b", "c"]), st.floats(1, 100), min_size=1),
    st.dictionaries(st.sampled_from(["a", "b", "c"]), st.floats(1, 100), min_size=1),
)
def test_shares_of_a_resource_make_a_whole(used: dict[str, float], due: dict[str, float]) -> None:
    result = found(
        [use(team, "h100", amount, 1) for team, amount in used.items()],
        {(team, "h100"): amount for team, amount in due.items()},
    )
    assert sum(share.used for share in result.values()) == pytest.approx(1)
    assert sum(share.entitled for share in result.values()) == pytest.approx(1)


def test_small_moves_re_rank_nobody() -> None:
    assert not has_leapt(1.0, 2**0.24)
    assert not has_leapt(1.0, 2**-0.24)
    assert has_leapt(1.0, 2**0.26)
    assert has_leapt(1.0, 2**-0.26)
