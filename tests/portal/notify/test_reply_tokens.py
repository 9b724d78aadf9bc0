"""Reply addresses: they say whose reply to what it is, fit any mail server, and can't be made by others."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from portal.notify.reply_tokens import Reply, address, find, read, write

KEY = b"k" * 32
replies = st.builds(Reply, st.integers(0, 2**40 - 1), st.integers(0, 2**40 - 1), st.booleans())


@given(replies)
def test_token_says_what_it_was_made_for(reply: Reply) -> None:
    assert read(write(reply, key=KEY), key=KEY) == reply


@given(replies)
def test_address_is_short_and_survives_any_case(reply: Reply) -> None:
    made = address("reply", reply, key=KEY, domain="portal.example")
    assert len(made.partition("@")[0]) <= 64
    assert find((made.upper().lower(),), what="reply", key=KEY) == reply
    assert find((made.upper(),), what="reply", key=KEY) == reply


@given(replies, st.integers(0, 36), st.sampled_from("abcdefghijklmnopqrstuvwxyz234567"))
def test_changed_token_says_nothing_else(reply: Reply, place: int, letter: str) -> None:
    token = write(reply, key=KEY)
    place %= len(token)
    changed = token[:place] + letter + token[place + 1 :]
    assert read(changed, key=KEY) in (None, reply)


@given(st.text(max_size=60))
def test_any_text_can_be_read(text: str) -> None:
    assert read(text, key=KEY) is None


@given(replies)
def test_token_of_another_portal_says_nothing(reply: Reply) -> None:
    assert read(write(reply, key=b"other"), key=KEY) is None


def test_address_for_bounces_is_none_for_replies() -> None:
    made = address("bounce", Reply(1, 2, internal=False), key=KEY, domain="portal.example")
    assert find((made,), what="reply", key=KEY) is None
