"""Is this a name that may stand on a page? Pure: one line of visible letters, no control and no direction marks."""

from __future__ import annotations

import unicodedata

# Letters that turn or hide the letters beside them: a name must not make another name look different.
_DIRECTION = frozenset("\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def plain_name(text: str, *, longest: int, least: int = 1) -> str:
    """`text` with single spaces; ValueError when it is too short, too long, or holds what can't be seen."""
    name = " ".join(text.split(" ")).strip()
    if any(
        unicodedata.category(letter) in {"Cc", "Cs", "Cn", "Co"} or letter in _DIRECTION for letter in name
    ):
        raise ValueError("Use visible letters only.")
    name = " ".join(name.split())
    if not least <= len(name) <= longest:
        raise ValueError(f"Use {least} to {longest} letters.")
    return name
