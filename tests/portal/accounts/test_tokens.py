"""Is a token's text read only when it is whole?"""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from portal.accounts.tokens import ALPHABET, make_token, read_token


def test_token_has_the_shape_that_scanners_know() -> None:
    assert re.fullmatch(r"qm_pat_[0-9A-Za-z]{10}_[0-9A-Za-z]{38}", make_token().text)


def test_token_reads_back() -> None:
    made = make_token()
    assert read_token(made.text) == made


def test_two_tokens_share_neither_id_nor_secret() -> None:
    one, two = make_token(), make_token()
    assert one.public_id != two.public_id
    assert one.secret != two.secret


@given(st.integers(0, 55), st.sampled_from(ALPHABET))
def test_token_with_one_wrong_letter_is_refused_without_a_query(at: int, letter: str) -> None:
    text = make_token().text
    at = at % len(text)
    wrong = text[:at] + letter + text[at + 1 :]
    assert (read_token(wrong) is None) == (wrong != text)


@given(st.text(max_size=80))
def test_any_text_is_read_without_raising(text: str) -> None:
    read_token(text)


def test_token_with_a_newline_behind_is_refused() -> None:
    assert read_token(make_token().text + "\n") is None


def test_repr_shows_no_secret() -> None:
    made = make_token()
    assert made.secret not in repr(made)
