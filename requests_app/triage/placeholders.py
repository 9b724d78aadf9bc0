"""What may a canned text leave open? A few names in braces, filled as plain text; anything else in braces is refused."""

from __future__ import annotations

import re
from collections.abc import Mapping

NAMES: dict[str, str] = {
    "requester": "who filed the request",
    "team": "the team's name",
    "title": "the request's title",
    "ref": "its number, such as T-12",
    "offering": "what was asked for",
    "me": "who writes",
}
_HOLE = re.compile(r"\{([^{}]*)\}")


def complaint(body: str) -> str | None:
    """What is wrong with the placeholders of a text; None when nothing is."""
    unknown = sorted({name for name in _HOLE.findall(body) if name not in NAMES})
    if unknown:
        known = ", ".join(f"{{{name}}}" for name in NAMES)
        return f"There is no {{{unknown[0][:30]}}}. Known: {known}."
    return None


def fill(body: str, values: Mapping[str, str]) -> str:
    """The text with its holes filled, once: what a value holds in braces stays as it is."""
    return _HOLE.sub(lambda match: values.get(match[1], match[0]), body)
