"""What is kept fits, ends as it began, and can be held by a database, whatever a node printed."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from provisioning.jobs.caps import bytes_of, head_and_tail, json_of, plain_json_of, storable, storable_value

ODD = st.text(st.characters(exclude_categories=()), max_size=30)  # lone surrogates and NUL, too
JSON = st.recursive(
    ODD | st.integers(-(2**70), 2**70) | st.floats() | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ODD, inner, max_size=4),
    max_leaves=8,
)


@given(ODD)
def test_text_becomes_what_a_database_holds_and_stays_what_it_was_where_it_can(text: str) -> None:
    kept = storable(text)
    assert "\0" not in kept.encode().decode()
    assert len(kept) == len(text)
    assert all(a == b or b in "?\ufffd" for a, b in zip(text, kept, strict=True))


@given(JSON)
def test_value_becomes_json_that_a_database_holds(value: Any) -> None:
    text = json_of(value)
    text.encode()
    assert "\\u0000" not in text.replace("\\\\", "")
    assert json.loads(text, parse_constant=lambda _: 1 / 0) == storable_value(value)


@given(JSON)
def test_quick_way_says_the_same_as_the_careful_one_or_nothing(value: Any) -> None:
    quick = plain_json_of(value)
    assert quick is None or json.loads(quick) == storable_value(value) == value


@given(st.text(max_size=400), st.integers(80, 300))
def test_long_text_fits_and_keeps_its_head_and_its_tail(text: str, limit: int) -> None:
    kept, dropped = head_and_tail(text, limit)
    if bytes_of(text) <= limit:
        assert (kept, dropped) == (text, 0)
        return
    assert bytes_of(kept) <= limit
    assert dropped == len(text.encode()) - limit
    head, _, tail = kept.partition("\n… ")
    assert text.startswith(head)
    assert text.endswith(tail.partition(" …\n")[2])


@given(ODD)
def test_size_is_in_bytes(text: str) -> None:
    assert bytes_of(text) == len(text.encode("utf-8", "replace"))
