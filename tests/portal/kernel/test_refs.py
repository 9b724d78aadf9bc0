"""References that people type."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portal.kernel.errors import NotFound
from portal.kernel.refs import format_ref, parse_ref


@given(st.integers(1, 10**17))
def test_reference_reads_back_what_it_wrote(number: int) -> None:
    assert parse_ref(format_ref("T", number), "T") == number


@pytest.mark.parametrize(
    "text", ["", "T", "T-", "T-0", "T-01", "t-1", "C-1", "T-1 ", "T-1\n", "T-" + "9" * 19, "T-١"]
)
def test_anything_else_is_not_found(text: str) -> None:
    with pytest.raises(NotFound):
        parse_ref(text, "T")
