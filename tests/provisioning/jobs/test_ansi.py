"""What a playbook prints is shown, coloured, and never runs or hides."""

from __future__ import annotations

import re
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provisioning.jobs.ansi import plain, to_html

OURS = re.compile(r'<span class="(ansi-[0-9]{2}|ansi-bold|ansi-[0-9]{2} ansi-bold)">|</span>')


def test_colour_becomes_a_class() -> None:
    assert to_html("\x1b[0;31mfatal\x1b[0m: no") == '<span class="ansi-31">fatal</span>: no'


def test_bold_and_bright_become_classes() -> None:
    assert (
        to_html("\x1b[1;94mx\x1b[22my")
        == '<span class="ansi-94 ansi-bold">x</span><span class="ansi-94">y</span>'
    )


@pytest.mark.parametrize(
    "text",
    [
        "<img src=x onerror=alert(1)>",
        "\x1b]8;;javascript:alert(1)\x1b\\click\x1b]8;;\x1b\\",
        "\x1b]0;title\x07shown",
        "\x1b[2Jgone",
        "\x1b[31m<script>alert(1)</script>\x1b[0m",
        '\x1b[31"onmouseover=alert(1)m',
        "'\"><svg/onload=alert(1)>",
        "\x9b31mx",
    ],
)
def test_nothing_of_a_text_becomes_markup_or_control(text: str) -> None:
    rest = OURS.sub("", to_html(text))
    assert "<" not in rest
    assert "javascript:" not in rest
    assert "title" not in rest
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", rest)


@given(st.text(alphabet=st.sampled_from("\x1b[]0;138m<>&\"'ab\n\x07\\\x9b")))
def test_any_text_keeps_its_plain_words_and_gains_only_our_spans(text: str) -> None:
    shown = to_html(text)
    assert unescape(OURS.sub("", shown)) == plain(text)
    assert shown.count("<span") == shown.count("</span>")
