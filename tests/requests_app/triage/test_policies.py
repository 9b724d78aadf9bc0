"""What passes without a person, and what it says when it doesn't."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from requests_app.triage.policies import Limits, Seen, decide

LIMITS = Limits(enabled=True, max_gpus=32, max_share_of_free=0.5, max_days=30, max_open=1)
SMALL = Seen(gpus=16, quota_left=64, free_gpus=96, days=14, open_asks=0)


def test_a_small_ask_within_quota_and_capacity_passes() -> None:
    assert decide(LIMITS, SMALL).approved


def test_an_offering_without_a_policy_always_waits_for_a_person() -> None:
    decision = decide(Limits(), SMALL)
    assert not decision.approved
    assert decision.reasons == ("this offering is always decided by a person",)


def test_every_rule_that_fails_is_named() -> None:
    seen = Seen(gpus=64, quota_left=0, free_gpus=64, days=None, open_asks=2)
    assert len(decide(LIMITS, seen).reasons) == 5


def test_no_quota_left_is_not_read_as_no_limit() -> None:
    assert not decide(LIMITS, replace(SMALL, quota_left=0)).approved
    assert decide(LIMITS, replace(SMALL, quota_left=None)).approved


def test_unknown_capacity_is_not_read_as_enough() -> None:
    assert not decide(LIMITS, replace(SMALL, free_gpus=None)).approved


@given(st.integers(0, 200), st.integers(0, 200) | st.none(), st.integers(0, 400) | st.none())
def test_what_passes_always_fits_the_quota_and_the_free_share(
    gpus: int, left: int | None, free: int | None
) -> None:
    seen = Seen(gpus=gpus, quota_left=left, free_gpus=free, days=1)
    if decide(LIMITS, seen).approved:
        assert gpus <= 32
        assert left is None or gpus <= left
        assert free is not None
        assert gpus <= free / 2
