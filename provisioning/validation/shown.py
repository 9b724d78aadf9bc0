"""How is what a node printed shown on a page? As text and nothing else: every sign that could act becomes visible."""

from __future__ import annotations

import re

LIMIT = 200_000
"""Bytes of one output that a page shows; of more, its beginning and its end."""
_TAIL = 40_000
_NEWLINES = re.compile(r"\r\n?")
_CONTROL = {number: chr(0x2400 + number) for number in range(32) if chr(number) not in "\n\t"}
_CONTROL[0x7F] = "\u2421"
_HIDDEN = (
    *range(0x80, 0xA0),
    0xAD,
    0x61C,
    *range(0x200B, 0x2010),
    *range(0x2028, 0x202F),
    *range(0x2060, 0x2070),
    0xFEFF,
)
"""C1 controls, and signs that have no width or turn the direction of the text around them."""
_VISIBLE = _CONTROL | {number: f"\\u{number:04x}" for number in _HIDDEN}


def visible(text: str) -> str:
    """`text` with its controls and hidden signs spelled out; line ends and tabs stay."""
    return _NEWLINES.sub("\n", text).translate(_VISIBLE)


def output(raw: bytes, limit: int = LIMIT) -> tuple[str, int]:
    """An output as a page shows it, and how many bytes of its middle were left out."""
    if len(raw) <= limit:
        return visible(_text(raw)), 0
    tail = min(_TAIL, limit // 2)
    left_out = len(raw) - limit
    middle = f"\n… {left_out} bytes are left out here …\n"
    return visible(_text(raw[: limit - tail]) + middle + _text(raw[-tail:])), left_out


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", errors="replace")
