"""Which names may stand on a page?"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portal.accounts.names import plain_name


@pytest.mark.parametrize("name", ["Vision", "Grüße aus Zürich", "データ基盤", "O'Hara & co", "{{ 7*7 }}"])
def test_visible_letters_of_any_script_are_taken_as_they_are(name: str) -> None:
    assert plain_name(name, longest=80) == name


@pytest.mark.parametrize("name", ["a\nb", "a\x00b", "a\u202eb", "a\u2066b", "\x1b[31mred", "a\tb", "\ud800"])
def test_what_can_not_be_seen_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="visible"):
        plain_name(name, longest=80)


@pytest.mark.parametrize("name", ["", "   ", "x" * 81])
def test_length_is_held(name: str) -> None:
    with pytest.raises(ValueError, match="1 to 80"):
        plain_name(name, longest=80)


@given(st.text(max_size=60))
def test_a_name_that_is_taken_is_taken_again_unchanged(text: str) -> None:
    try:
        name = plain_name(text, longest=80)
    except ValueError:
        return
    assert plain_name(name, longest=80) == name
