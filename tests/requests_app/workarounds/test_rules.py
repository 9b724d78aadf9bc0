"""The rules by themselves: ageing, the ladder, the half-life, kinds and classes."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portal.shell.tones import known
from requests_app.workarounds.ageing import MOST, aged, late_from, turns_at, weeks_begun
from requests_app.workarounds.kinds import Kind, class_of, complaints_about
from requests_app.workarounds.ladder import (
    NONE_SAID,
    STEPS,
    due_steps,
    renewed_until,
    said_at_the_start,
)
from requests_app.workarounds.states import REPLACEMENT, WORKAROUND
from requests_app.workarounds.survival import Life, half_life, share_at, survival

DUE = date(2027, 2, 28)
MOMENTS = st.datetimes(datetime(2026, 1, 1), datetime(2029, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001


@pytest.mark.parametrize(
    ("at", "weeks"),
    [
        (datetime(2027, 2, 28, 23, 59, 59, tzinfo=UTC), 0),
        (datetime(2027, 3, 1, 0, 0, 0, tzinfo=UTC), 1),
        (datetime(2027, 3, 7, 23, 59, 59, tzinfo=UTC), 1),
        (datetime(2027, 3, 8, 0, 0, 0, tzinfo=UTC), 2),
        (datetime(2027, 3, 15, 12, 0, 0, tzinfo=UTC), 3),
    ],
)
def test_week_begins_when_the_target_day_is_over(at: datetime, weeks: int) -> None:
    assert weeks_begun(due_on=DUE, at=at) == weeks


@given(at=MOMENTS)
def test_week_number_n_is_the_one_that_began_last(at: datetime) -> None:
    weeks = weeks_begun(due_on=DUE, at=at)
    assert (weeks == 0) == (at < late_from(DUE))
    if weeks:
        assert turns_at(due_on=DUE, weeks=weeks) <= at < turns_at(due_on=DUE, weeks=weeks + 1)


@given(residual=st.floats(0, 1), weeks=st.integers(0, 500))
def test_what_remains_grows_by_a_tenth_a_week_and_never_above_one_and_a_half(
    residual: float, weeks: int
) -> None:
    now, later = aged(residual, weeks=weeks), aged(residual, weeks=weeks + 1)
    assert residual <= now <= later <= MOST
    if later < MOST:
        assert later == pytest.approx(now * 1.1)


def test_worked_example_of_the_design() -> None:
    assert aged(0.3, weeks=3) == pytest.approx(0.3993)


@given(
    ends=MOMENTS,
    looks=st.lists(st.integers(0, 60 * 24 * 30), min_size=1, max_size=12),
    term=st.integers(1, 92),
)
def test_each_step_of_the_ladder_is_said_once_however_often_anybody_looks(
    ends: datetime, looks: list[int], term: int
) -> None:
    said = said_at_the_start(ends_at=ends, at=ends - timedelta(days=term))
    told: list[int] = []
    for minutes in sorted(looks, reverse=True):
        steps = due_steps(ends_at=ends, said=said, at=ends - timedelta(minutes=minutes))
        told += steps
        said = min((said, *steps))
    told += due_steps(ends_at=ends, said=said, at=ends)
    assert told == [days for days in STEPS if days < term]


def test_whole_term_is_no_warning() -> None:
    at = datetime(2027, 1, 1, tzinfo=UTC)
    assert said_at_the_start(ends_at=at + timedelta(days=2), at=at) == 3
    assert said_at_the_start(ends_at=at + timedelta(days=30), at=at) == NONE_SAID


def test_renewal_counts_from_the_end_or_from_now_when_that_is_later() -> None:
    ends = datetime(2027, 2, 28, tzinfo=UTC)
    early, late = ends - timedelta(days=20), ends + timedelta(days=5)
    assert renewed_until(ends_at=ends, at=early, days=30) == datetime(2027, 3, 30, tzinfo=UTC)
    assert renewed_until(ends_at=ends, at=late, days=30) == late + timedelta(days=30)


# Replaced after 2, 5, 5 and 9 days; seen for 3, 5 and 12 days.
LIVES = [
    Life(2, True),
    Life(3, False),
    Life(5, True),
    Life(5, True),
    Life(5, False),
    Life(9, True),
    Life(12, False),
]


def test_half_life_by_hand() -> None:
    """7 at risk: 6/7 = 0.857; then 5 at risk at 5 days, 2 go: 0.857·3/5 = 0.514; then 2 at 9 days: 0.257."""
    steps = survival(LIVES)
    assert [(step.days, step.at_risk, step.replaced) for step in steps] == [(2, 7, 1), (5, 5, 2), (9, 2, 1)]
    assert [step.share for step in steps] == pytest.approx([6 / 7, 18 / 35, 9 / 35])
    assert half_life(steps) == 9
    assert share_at(steps, 4.9) == pytest.approx(6 / 7)
    assert share_at(steps, 1) == 1.0


def test_nothing_replaced_has_no_half_life() -> None:
    assert survival([Life(10, False)]) == ()
    assert half_life(survival([])) is None


AGES = st.lists(st.builds(Life, st.floats(0, 1000), st.booleans()), max_size=60)


@given(lives=AGES)
def test_share_falls_from_one_towards_nought(lives: list[Life]) -> None:
    shares = [1.0, *(step.share for step in survival(lives))]
    assert all(0 <= after < before for before, after in zip(shares, shares[1:], strict=False))


@given(ages=st.lists(st.floats(0, 1000), min_size=1, max_size=60))
def test_without_anything_censored_it_is_the_share_still_there(ages: list[float]) -> None:
    for step in survival([Life(age, True) for age in ages]):
        assert step.share == pytest.approx(sum(age > step.days for age in ages) / len(ages))


@given(lives=AGES, seen=st.floats(0, 1000))
def test_one_more_that_still_lives_never_lowers_the_estimate(lives: list[Life], seen: float) -> None:
    before, after = survival(lives), survival([*lives, Life(seen, False)])
    for step in before:
        assert share_at(after, step.days) >= share_at(before, step.days) - 1e-9


def test_same_need_is_the_same_class_whatever_the_spelling() -> None:
    one = class_of(
        offering="unblock", kind=Kind.MANUAL, tag="", closure_test="A job reads 1 TB in an hour, from NAS-2."
    )
    other = class_of(
        offering="unblock", kind=Kind.MANUAL, tag="", closure_test="from nas-7: a JOB reads 30 TB in the hour"
    )
    assert one == other
    assert class_of(offering="unblock", kind=Kind.MANUAL, tag="NAS!", closure_test="x") == class_of(
        offering="unblock", kind=Kind.MANUAL, tag="nas", closure_test="y"
    )
    assert one != class_of(offering="unblock", kind=Kind.QUOTA, tag="", closure_test="A job reads 1 TB")


@given(text=st.text(max_size=400))
def test_any_words_make_a_class_that_fits(text: str) -> None:
    assert len(class_of(offering="unblock", kind=Kind.NODES, tag=text, closure_test=text)) <= 200


@pytest.mark.parametrize(
    ("kind", "params", "field"),
    [
        ("quota", {"sku": "h100", "gpus": 0}, "gpus"),
        ("quota", {"sku": "h100", "gpus": True}, "gpus"),
        ("quota", {"sku": "H 100", "gpus": 1}, "sku"),
        ("quota", {"sku": "h100", "gpus": 1, "nodes": 2}, "nodes"),
        ("nodes", {"sku": "h100", "nodes": 2, "cluster": "T-1"}, "cluster"),
        ("playbook", {"cluster": "C-1", "remedy": "sysctl", "settings": {}}, "settings"),
        ("playbook", {"cluster": "C-1", "remedy": "sysctl", "settings": {"a": 1}}, "settings"),
        ("manual", {"steps": "  "}, "steps"),
        ("manual", {}, "steps"),
    ],
)
def test_what_a_kind_is_told_is_complained_about_by_field(
    kind: str, params: dict[str, object], field: str
) -> None:
    assert field in complaints_about(Kind(kind), params)


def test_every_state_has_a_tone() -> None:
    assert [state for state in (*WORKAROUND.states, *REPLACEMENT.states) if not known(state)] == []


def test_only_what_is_over_is_final() -> None:
    assert [state for state in WORKAROUND.states if WORKAROUND.is_final(state)] == ["ended"]


def test_diagrams_of_the_page_are_the_tables() -> None:
    page = (Path(__file__).resolve().parents[3] / "docs/reference/workarounds.md").read_text("utf-8")
    assert WORKAROUND.diagram() in page
    assert REPLACEMENT.diagram() in page
