"""What a comment looks like: Markdown, and nothing that runs, fetches or passes anything on."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from requests_app.conversation.prose import _TAGS, comment_html
from tests.requests_app.hostile import HOSTILE


def test_markdown_is_shown() -> None:
    html = comment_html("# Title\n**bold**, `code`\n\n- one\n- two\n\n| a | b |\n|---|---|\n| 1 | 2 |")
    assert "<h3>Title</h3>" in html
    assert "<strong>bold</strong>" in html
    assert "<li>one</li>" in html
    assert "<td>1</td>" in html


def test_line_ends_stay() -> None:
    assert "one<br>" in comment_html("one\ntwo")


def test_links_pass_nothing_on() -> None:
    html = comment_html("[docs](https://example.org) and https://example.net/x.")
    assert html.count('rel="nofollow noopener noreferrer"') == 2
    assert 'href="https://example.net/x"' in html


def test_images_are_their_words() -> None:
    html = comment_html("![a chart](https://evil.example/pixel.png)")
    assert "<img" not in html
    assert "evil.example" not in html
    assert "a chart" in html


def test_people_and_requests_are_marked() -> None:
    html = comment_html("@lead, see T-12")
    assert '<span class="mention">@lead</span>' in html
    assert 'href="/tickets/T-12/"' in html


@pytest.mark.parametrize(
    "text",
    [
        *(text for text in HOSTILE if len(text) < 10_000),
        "[x](javascript:alert(1))",
        "[x](data:text/html;base64,PHNjcmlwdD4=)",
        "<svg onload=alert(1)>",
        "<a href='javascript:alert(1)'>x</a>",
        "`<script>alert(1)</script>`",
        "[x](https://example.org 'onmouseover=alert(1)')",
        '<span class="chip" style="position:fixed">x</span>',
        "> " * 900 + "deep",
        "[" * 2000,
        "*" * 3000,
    ],
)
def test_nothing_runs(text: str) -> None:
    html = comment_html(text).lower()
    assert not re.search(r"<(script|svg|img|style)|<[^>]*( style=| on[a-z]+=|javascript:|data:)", html)


@given(st.text(alphabet="<>\"'`[]()!*_~#@&;:/ ahrefjvscipt\n", max_size=200))
def test_only_allowed_tags_leave(text: str) -> None:
    html = comment_html(text)
    assert set(re.findall(r"</?([a-z0-9]+)", html)) <= _TAGS
