"""How is a terminal's text shown on a page? Escaped first, then coloured by classes (`ansi-31`); every other control is dropped."""

from __future__ import annotations

import re
from html import escape

_CONTROL = re.compile(
    r"\x1b\[([0-9;:]*)m"  # colours and weights: the only ones with a meaning here
    r"|\x1b\[[0-?]*[ -/]*[@-~]"  # other control sequences: cursor, clearing, ...
    r"|\x1b[\]PX^_].*?(?:\x1b\\|\x07|\Z)"  # titles, hyperlinks and other strings, with what they hold
    r"|\x1b[ -/]*[0-~]?"  # any other escape
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f]",  # control characters, except tab and line feed
    re.DOTALL,
)


def plain(text: str) -> str:
    """`text` without any control, as a file or a sentence can hold it."""
    return _CONTROL.sub("", text)


def to_html(text: str) -> str:
    """Safe HTML: the text escaped, colours as `<span class="ansi-31 ansi-bold">`. Never more than nested spans of ours."""
    parts: list[str] = []
    style = _Style()
    place = 0
    for found in _CONTROL.finditer(text):
        parts.append(style.span(text[place : found.start()]))
        place = found.end()
        if found[1] is not None:
            style = style.after(found[1])
    parts.append(style.span(text[place:]))
    return "".join(parts)


class _Style:
    """What the terminal would be set to."""

    def __init__(self, *, colour: int = 0, bold: bool = False) -> None:
        self.colour = colour
        self.bold = bold

    def after(self, codes: str) -> _Style:
        """The style after a colour sequence; codes that are not known change nothing."""
        numbers = [int(code) if code.isdigit() else 0 for code in re.split("[;:]", codes[:60])]
        if numbers[0] in {38, 48}:
            return self  # one of 256 colours: shown in the colour before
        style = self
        for number in numbers:
            style = style._after_one(number)
        return style

    def _after_one(self, number: int) -> _Style:
        if number == 0:
            return _Style()
        if number in {1, 22}:
            return _Style(colour=self.colour, bold=number == 1)
        if number == 39:
            return _Style(bold=self.bold)
        if number // 10 in {3, 9} and number % 10 < 8:
            return _Style(colour=number, bold=self.bold)
        return self

    def span(self, text: str) -> str:
        """`text` escaped, in a span when it has a style."""
        names = [f"ansi-{self.colour}"] if self.colour else []
        names += ["ansi-bold"] if self.bold else []
        shown = escape(text)
        return f'<span class="{" ".join(names)}">{shown}</span>' if names and text else shown
