"""Who is named in a text: `@name` outside code and links, and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from requests_app.conversation.mentions import Named, names_in, pieces


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("@lead can you look?", ("lead",)),
        ("Ask @lead.", ("lead",)),
        ("(@lead, @member)", ("lead", "member")),
        ("@lead and @lead", ("lead",)),
        ("**@lead**", ("lead",)),
        ("mail lead@example.org", ()),
        ("`@lead`", ()),
        ("```\n@lead\n```", ()),
        ("[@lead](https://example.org)", ()),
        ("https://example.org/@lead", ()),
        ("@", ()),
        ("@first.last-name", ("first.last-name",)),
        ("> @lead said so", ("lead",)),
    ],
)
def test_names_are_found_where_people_mean_them(text: str, names: tuple[str, ...]) -> None:
    assert names_in(text) == names


@given(st.text(max_size=300))
def test_pieces_put_together_are_the_text(text: str) -> None:
    again = "".join(("@" if piece.kind is Named.PERSON else "") + piece.text for piece in pieces(text))
    assert again == text


@given(st.text(alphabet="@ab.T-12 hts:/()`[]", max_size=80))
def test_any_text_can_be_asked(text: str) -> None:
    assert len(names_in(text)) <= 20


def test_full_stop_is_no_part_of_an_address() -> None:
    assert [piece.text for piece in pieces("See https://example.org/a_(b).") if piece.kind is Named.URL] == [
        "https://example.org/a_(b)"
    ]
