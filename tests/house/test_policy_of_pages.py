"""No page carries script or style of its own: the policy would block it, and so it is not written."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
FORBIDDEN = {
    "an inline style": re.compile(r"\sstyle\s*=", re.IGNORECASE),
    "a style element": re.compile(r"<style", re.IGNORECASE),
    "an event attribute": re.compile(r"\son[a-z]+\s*=", re.IGNORECASE),
    "an inline script": re.compile(r"<script(?![^>]*\ssrc=)", re.IGNORECASE),
    "an htmx script": re.compile(r"hx-on|js:", re.IGNORECASE),
    "another host": re.compile(r"(src|href|action)\s*=\s*[\"'](https?:)?//", re.IGNORECASE),
    "markup marked safe": re.compile(r"\|\s*safe\b|autoescape off"),
}


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: str(path.relative_to(ROOT)))
def test_template_holds_nothing_that_the_policy_blocks(template: Path) -> None:
    text = re.sub(r"\{%\s*comment.*?endcomment\s*%\}", "", template.read_text("utf-8"), flags=re.DOTALL)
    assert [what for what, pattern in FORBIDDEN.items() if pattern.search(text)] == []


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: str(path.relative_to(ROOT)))
def test_template_stays_readable(template: Path) -> None:
    assert len(template.read_text("utf-8").splitlines()) <= 160


def test_forms_that_post_carry_the_token() -> None:
    bare = [
        str(path.relative_to(ROOT))
        for path in TEMPLATES
        for form in re.findall(
            r"<form[^>]*method=.post.*?</form>", path.read_text("utf-8"), re.DOTALL | re.IGNORECASE
        )
        if "csrf_token" not in form
    ]
    assert bare == []
