"""Which text may people write, and how is it kept? NFC, no control characters, no characters that reorder a line."""

from __future__ import annotations

import unicodedata

SHORT = 200
LONG = 5000
_REORDERING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_LINE_BREAKS = "\u2028\u2029\u0085"
_HIDDEN = frozenset("\ufeff\u200b\u2060")


def tidy(text: str, *, limit: int) -> str:
    """NFC, lines that end in a line feed, no white space around. A text far over `limit` is left as it is: it fails."""
    if len(text) > 4 * limit:
        return text
    return unicodedata.normalize("NFC", text.replace("\r\n", "\n").replace("\r", "\n")).strip()


def complaint(text: str, *, limit: int, lines: bool) -> str | None:
    """What is wrong with `text`, None when nothing is. `lines` allows line breaks and tabs."""
    if len(text) > limit:
        return f"At most {limit} characters; this has {len(text)}."
    for character in text:
        said = _about(character, lines=lines)
        if said is not None:
            return said
    return None


def _about(character: str, *, lines: bool) -> str | None:
    if character in "\n\t" and lines:
        return None
    code = f"U+{ord(character):04X}"
    if character in "\n\t" or (character in _LINE_BREAKS and not lines):
        return f"One line only: it holds a line break or a tab ({code})."
    if character in _REORDERING:
        return f"It holds a character that changes the direction of the text ({code}); leave it out."
    category = unicodedata.category(character)
    if character in _HIDDEN or category in {"Cc", "Cs", "Zl", "Zp"}:
        return f"It holds a character that can't be seen ({code}); leave it out."
    return None
