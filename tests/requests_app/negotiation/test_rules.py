"""What an offer costs, when it helps, whether it is sound, and whether an ask is too late: without a database."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from requests_app.negotiation.costs import cost_per_month
from requests_app.negotiation.proposals import KINDS, Proposal, amounts, complaints, relief
from requests_app.negotiation.windows import Window, asked_window

TODAY = date(2026, 12, 2)
LATER = TODAY + timedelta(days=10)
prices = st.decimals(min_value=0, max_value=100, places=4)


def test_a_month_is_730_hours_of_every_gpu() -> None:
    assert cost_per_month(32, Decimal("2.10")) == Decimal("49056.00")


def test_no_price_is_unknown_and_no_gpu_is_free() -> None:
    assert cost_per_month(32, None) is None
    assert cost_per_month(0, Decimal("2.10")) == 0


@given(st.integers(0, 4096), st.integers(0, 4096), prices)
def test_more_never_costs_less(few: int, more: int, price: Decimal) -> None:
    small, large = cost_per_month(few, price), cost_per_month(few + more, price)
    assert small is not None
    assert large is not None
    assert 0 <= small <= large


@given(
    st.sampled_from(sorted(KINDS)),
    st.integers(1, 50),
    st.none() | st.integers(0, 60),
    st.none() | st.integers(0, 60),
)
def test_a_sound_proposal_never_offers_more_than_was_asked(
    kind: str, asked: int, now: int | None, later: int | None
) -> None:
    made = Proposal(position=1, kind=kind, now_qty=now, later_qty=later, later_on=LATER)
    found = complaints(made, asked=asked, today=TODAY)
    amount = amounts(made, asked)
    if found or kind == "instead":
        return
    assert 0 <= amount.now + amount.later <= asked
    assert kind == "no" or amount.now + amount.later >= 1


@pytest.mark.parametrize(
    ("proposal", "field"),
    [
        (Proposal(position=1, kind="perhaps"), "kind"),
        (Proposal(position=1, kind="now", now_qty=3), "now_qty"),
        (Proposal(position=1, kind="part", now_qty=5), "now_qty"),
        (Proposal(position=1, kind="part", now_qty=4, later_qty=1), "later_on"),
        (Proposal(position=1, kind="part", now_qty=4, later_qty=2, later_on=LATER), "later_qty"),
        (Proposal(position=1, kind="part", now_qty=4), "reason_code"),
        (Proposal(position=1, kind="later"), "later_on"),
        (Proposal(position=1, kind="later", later_on=TODAY), "later_on"),
        (Proposal(position=1, kind="instead"), "instead_label"),
        (Proposal(position=1, kind="no", reason="Full."), "reason_code"),
        (Proposal(position=1, kind="no", reason_code="capacity"), "reason"),
        (Proposal(position=1, kind="no", reason_code="because", reason="x"), "reason_code"),
        (Proposal(position=1, kind="now", reliability="gold"), "reliability"),
        (Proposal(position=1, kind="now", relief_days=-1), "relief_days"),
    ],
)
def test_what_is_not_sound_is_said_by_field(proposal: Proposal, field: str) -> None:
    assert field in complaints(proposal, asked=5, today=TODAY)


def test_less_for_good_is_sound_with_a_reason() -> None:
    less = Proposal(position=1, kind="part", now_qty=4, reason_code="capacity")
    assert complaints(less, asked=5, today=TODAY) == {}


def test_relief_comes_at_once_in_a_day_or_on_its_day() -> None:
    now = Proposal(position=1, kind="now")
    later = Proposal(position=1, kind="later", later_on=LATER)
    assert relief(now, asked=5, at_once=True, today=TODAY) == 0
    assert relief(now, asked=5, at_once=False, today=TODAY) == 1
    assert relief(later, asked=5, at_once=False, today=TODAY) == 10
    assert relief(Proposal(position=1, kind="no"), asked=5, at_once=True, today=TODAY) is None


def test_what_was_asked_for_november_has_passed_in_december_and_shifts_by_its_length() -> None:
    november = asked_window(
        fulfilment="cluster_build", filed_on=date(2026, 10, 20), wanted_by=date(2026, 11, 1), days=29
    )
    assert november == Window(start=date(2026, 11, 1), end=date(2026, 11, 30))
    assert november.has_passed(TODAY)
    assert november.shifted(TODAY) == Window(start=TODAY, end=date(2026, 12, 31))


def test_the_last_day_still_counts_and_less_than_a_week_is_soon() -> None:
    window = Window(start=date(2026, 11, 1), end=TODAY)
    assert not window.has_passed(TODAY)
    assert window.ends_soon(TODAY)
    assert not window.ends_soon(TODAY - timedelta(days=7))


@pytest.mark.parametrize(
    ("fulfilment", "days", "found"),
    [("quota_boost", 7, True), ("cluster_build", 14, False), ("quota_raise", None, False)],
)
def test_only_a_boost_has_a_window_without_a_day(fulfilment: str, days: int | None, found: bool) -> None:
    window = asked_window(fulfilment=fulfilment, filed_on=TODAY, wanted_by=None, days=days)
    assert (window is not None) is found
