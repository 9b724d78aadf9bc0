"""A known secret is not kept, in whichever spelling it comes back."""

from __future__ import annotations

import json
import re
import shlex
from base64 import b64encode
from hashlib import sha512
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from provisioning.jobs import redaction
from provisioning.jobs.redaction import SHORTEST, STARS, Redactor, spellings

SECRET = "s3cr3t\"{x}' &/é"
KEY = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAE\nbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZWQy\n-----END OPENSSH PRIVATE KEY-----\n"


@pytest.mark.parametrize(
    "spelling",
    [
        SECRET,
        json.dumps(SECRET),
        json.dumps(SECRET, ensure_ascii=False),
        json.dumps(json.dumps(SECRET)),
        json.dumps(json.dumps(json.dumps(SECRET), ensure_ascii=False)),
        json.dumps(shlex.quote(SECRET)),
        json.dumps(shlex.quote(f"it's {SECRET}")),
        SECRET.replace("'", "'\\''"),
        json.dumps([repr(SECRET)], ensure_ascii=False),
        quote(SECRET),
        repr(SECRET.encode()),
        repr([SECRET, '"']),
        repr("it's \" " + SECRET),
        shlex.quote(SECRET),
        quote(SECRET, safe=""),
        repr(SECRET),
        f"https://user:{quote(SECRET, safe='')}@host/",
    ],
)
def test_secret_is_hidden_in_every_spelling(spelling: str) -> None:
    shown = Redactor([SECRET]).text(f"before {spelling} after")
    assert "s3cr3t" not in shown
    assert STARS in shown
    assert shown.startswith("before")
    assert shown.endswith("after")


def test_private_key_is_hidden_line_by_line() -> None:
    shown = Redactor([KEY]).text("stderr: b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAE")
    assert shown == f"stderr: {STARS}"


def test_secret_is_hidden_deep_in_a_result_and_in_its_keys() -> None:
    shown = json.dumps(Redactor(["hunter2!"]).value({"a": [{"b": "x hunter2! y"}], "hunter2!": 1}))
    assert "hunter2" not in shown


def test_secret_too_short_to_tell_apart_is_not_searched_for() -> None:
    assert Redactor(["abc"]).text("abc abcabc") == "abc abcabc"


def test_longer_secret_wins_over_one_that_it_holds() -> None:
    assert Redactor(["hunter2", "hunter2-hunter2"]).text("hunter2-hunter2") == STARS


@given(st.text(min_size=6).filter(lambda text: len(text.strip()) >= 6), st.text(), st.text())
def test_no_secret_is_left_whatever_surrounds_it(secret: str, before: str, after: str) -> None:
    assert secret not in Redactor([secret]).text(f"{before}{secret}{after}").replace(STARS, "\ue000")


def test_text_without_secrets_is_left_alone() -> None:
    assert Redactor([]).value({"a": ["b", 1, None]}) == {"a": ["b", 1, None]}


def by_one_expression(secrets: list[str], text: str) -> str:
    """What the redactor is a quick way to: every spelling searched for in every text, longest first."""
    known = sorted({word for secret in secrets for word in spellings(secret)}, key=len, reverse=True)
    return re.sub("|".join(map(re.escape, known)), STARS, text) if known else text


PIECES = st.sampled_from(
    ["hunter2", "aB3", "-", "/", '"', "\n", "\r\n", " ", "é", "correcthorsebatterystaple", "\\", "%2F"]
)
SECRETS = st.lists(st.lists(PIECES, min_size=1, max_size=6).map("".join), max_size=8)
TEXTS = st.lists(PIECES | st.text(max_size=3), max_size=30).map("".join)


@settings(max_examples=300)
@given(secrets=SECRETS, text=TEXTS, few=st.sampled_from([0, 16]))
def test_quick_way_finds_what_a_search_for_every_spelling_finds(
    secrets: list[str], text: str, few: int
) -> None:
    """Alike where secrets hold, overlap, and repeat one another, and however many there are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(redaction, "FEW", few)
        redactor = Redactor(secrets)
    for spelled in (text, json.dumps(text), quote(text, safe="")):
        assert redactor.text(spelled) == by_one_expression(secrets, spelled)


@settings(max_examples=300)
@given(
    secrets=SECRETS,
    value=st.recursive(
        TEXTS,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
        max_leaves=6,
    ),
)
def test_value_whose_json_is_not_suspected_holds_no_secret(secrets: list[str], value: Any) -> None:
    redactor = Redactor(secrets)
    if not redactor.suspects(json.dumps(value, ensure_ascii=False)):
        assert redactor.value(value) == value


def test_many_keys_cost_a_clean_text_no_search_for_their_spellings() -> None:
    """A fleet has a key for each of its sites; ten of them are some thousand spellings."""
    keys = [
        b64encode(b"".join(sha512(b"%d.%d" % (key, line)).digest() for line in range(28))).decode()
        for key in range(10)
    ]
    folded = ["\n".join(key[at : at + 70] for at in range(0, len(key), 70)) for key in keys]
    redactor = Redactor(folded)
    assert redactor.text("ok: [gpu-001] => installed the driver " * 50).startswith("ok: [gpu-001]")
    assert redactor._patterns == {}
    shown = redactor.text(f"leaked: {folded[3].splitlines()[5]} and {quote(folded[7])}")
    assert not any(line[:SHORTEST] in shown for line in (folded[3] + folded[7]).splitlines())


def test_secret_with_no_letters_is_hidden_too() -> None:
    assert Redactor(['!"$%&/()=?']).value({"a": ['x !"$%&/()=? y']}) == {"a": [f"x {STARS} y"]}
