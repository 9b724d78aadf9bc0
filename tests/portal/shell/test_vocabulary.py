"""Do the templates keep to the words of looks.md? (That they keep to the policy is held by tests/house.)"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
STYLES = sorted((ROOT / "portal" / "static" / "css").glob("*.css"))
_TAGS = re.compile(r"\{%.*?%\}|\{\{.*?\}\}|\{#.*?#\}", re.DOTALL)
_COMMENT = re.compile(r"\{% comment %\}.*?\{% endcomment %\}", re.DOTALL)

_EVAL = re.compile(r"hx-trigger\s*=\s*[\"'][^\"']*\[")


def markup(path: Path) -> str:
    """The template without its comments."""
    return _COMMENT.sub("", path.read_text(encoding="utf-8"))


def test_no_template_has_a_trigger_that_needs_eval() -> None:
    assert [str(path.relative_to(ROOT)) for path in TEMPLATES if _EVAL.search(markup(path))] == []


def test_style_sheets_ask_for_nothing_elsewhere() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in STYLES)
    assert "@import" not in text
    assert "url(" not in text


def test_every_class_of_every_template_is_in_the_style_sheets() -> None:
    known = set(
        re.findall(r"\.([a-zA-Z_][\w-]*)", "".join(path.read_text(encoding="utf-8") for path in STYLES))
    )
    unknown = set()
    for path in TEMPLATES:
        for value in re.findall(r'class="([^"]*)"', _TAGS.sub("\0", markup(path))):
            unknown |= {
                (str(path.relative_to(ROOT / "templates")), word)
                for word in value.split()
                if "\0" not in word and word not in known
            }
    assert sorted(unknown) == []


def test_every_table_that_stacks_labels_its_cells() -> None:
    bare = [
        str(path.relative_to(ROOT))
        for path in TEMPLATES
        if "table-stack" in markup(path) and "data-label" not in markup(path)
    ]
    assert bare == []


def test_every_word_of_the_vocabulary_exists() -> None:
    known = set(
        re.findall(r"\.([a-zA-Z_][\w-]*)", "".join(path.read_text(encoding="utf-8") for path in STYLES))
    )
    text = (ROOT / "docs" / "reference" / "looks.md").read_text(encoding="utf-8")
    said = {word for value in re.findall(r'class="([^"{}]*)"', text) for word in value.split()}
    assert sorted(said - known) == []
