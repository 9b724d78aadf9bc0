"""Can everybody read it? Every pair of ink and ground in use, in both themes, by WCAG 2.2's formula."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TOKENS = Path(__file__).resolve().parents[3] / "portal" / "static" / "css" / "tokens.css"
_PAIR = re.compile(r"--([a-z0-9-]+):\s*light-dark\((#[0-9a-f]{6}),\s*(#[0-9a-f]{6})\)")
COLOURS = {name: (light, dark) for name, light, dark in _PAIR.findall(TOKENS.read_text(encoding="utf-8"))}
TONES = ("ok", "warn", "danger", "info", "active", "quiet")
ANSI = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")

LETTERS = [
    *[
        (ink, ground)
        for ink in ("ink", "ink-soft", "accent", "accent-strong")
        for ground in ("ground", "surface")
    ],
    *[(ink, "sunken") for ink in ("ink", "ink-soft")],
    *[(ink, "raised") for ink in ("ink", "ink-soft")],
    ("on-accent", "accent"),
    ("on-accent", "accent-strong"),
    ("on-danger", "danger-strong"),
    ("accent-strong", "accent-soft"),
    ("ink", "accent-soft"),
    ("ink-soft", "accent-soft"),
    ("rail-ink", "rail"),
    ("rail-ink", "rail-raised"),
    ("rail-soft", "rail"),
    *[(tone, f"{tone}-soft") for tone in TONES],
    *[(tone, "surface") for tone in TONES],
    *[("ink", f"{tone}-soft") for tone in TONES],
    ("log-ink", "log"),
    ("log-ink", "log-line"),
    ("log-soft", "log"),
    *[(f"ansi-{name}", "log") for name in ANSI],
    ("chart-soft", "surface"),
]
MARKS = [  # borders of what can be filled in, bars, focus, marks: 3 to 1 is enough
    ("line-firm", "surface"),
    ("line-firm", "ground"),
    ("focus", "ground"),
    ("focus", "surface"),
    ("flag", "rail"),
    *[(f"{tone}-firm", "surface") for tone in TONES],
    *[(f"chart-{number}", "surface") for number in range(1, 7)],
]


def luminance(colour: str) -> float:
    """Relative luminance of `#rrggbb`, WCAG 2.2."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """From 1 (alike) to 21 (black on white)."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_formula_gives_the_known_ends() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(("ink", "ground"), LETTERS)
def test_reader_can_read_the_letters(ink: str, ground: str, theme: str) -> None:
    at = ("light", "dark").index(theme)
    assert contrast(COLOURS[ink][at], COLOURS[ground][at]) >= 4.5


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(("mark", "ground"), MARKS)
def test_reader_can_see_the_marks(mark: str, ground: str, theme: str) -> None:
    at = ("light", "dark").index(theme)
    assert contrast(COLOURS[mark][at], COLOURS[ground][at]) >= 3


def test_every_token_of_colour_has_both_themes() -> None:
    lines = [
        line
        for line in TOKENS.read_text(encoding="utf-8").splitlines()
        if re.search(r"#[0-9a-f]{3,8}\b", line)
    ]
    assert [line for line in lines if not _PAIR.search(line) and "/*" not in line] == []
