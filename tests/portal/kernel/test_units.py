"""How quantities are said."""

from __future__ import annotations

from datetime import timedelta

import pytest

from portal.kernel.units import gpu_hours, say_share, say_some, say_span


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0, "0 s"),
        (59, "59 s"),
        (61, "1 min 1 s"),
        (3600, "1 h"),
        (90_061, "1 d 1 h"),
        (86_401, "1 d"),
        (-60, "−1 min"),
    ],
)
def test_span_is_said_in_its_two_largest_units(seconds: int, said: str) -> None:
    assert say_span(timedelta(seconds=seconds)) == said


def test_gpu_hours_are_gpus_times_hours() -> None:
    assert gpu_hours(8, timedelta(minutes=90)) == 12


def test_share_is_a_percentage_with_one_digit() -> None:
    assert say_share(0.0634) == "6.3 %"


@pytest.mark.parametrize(
    ("words", "said"),
    [([], ""), (["a"], "a"), (["a", "b"], "a, b"), (["a", "b", "c", "d"], "a, b and 2 more")],
)
def test_of_many_words_the_first_are_said(words: list[str], said: str) -> None:
    assert say_some(words, most=2) == said
