"""Sizes, counts and names of files."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from requests_app.attachments.limits import LONGEST_NAME, Limits, complaint, say_size, shown_name

LIMITS = Limits(file=100, ticket=250, team=400)


@pytest.mark.parametrize(
    ("sizes", "ticket_has", "team_has", "fits"),
    [
        ([100], 0, 0, True),
        ([101], 0, 0, False),
        ([0], 0, 0, False),
        ([10] * 10, 0, 0, True),
        ([10] * 11, 0, 0, False),
        ([50, 50], 150, 0, True),
        ([50, 51], 150, 0, False),
        ([100], 0, 300, True),
        ([100], 0, 301, False),
    ],
)
def test_files_fit_or_not(sizes: list[int], ticket_has: int, team_has: int, fits: bool) -> None:
    said = complaint(sizes, limits=LIMITS, ticket_has=ticket_has, team_has=team_has)
    assert (said is None) is fits


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("../../etc/passwd", "passwd"),
        ("C:\\Users\\x\\log.txt", "log.txt"),
        ("a\r\nSet-Cookie: x", "aSet-Cookie: x"),
        ("gpj.\u202eexe", "gpj.exe"),
        ("", "file"),
        ("...", "file"),
        ("  two  words .txt", "two words .txt"),
    ],
)
def test_names_are_only_names(name: str, shown: str) -> None:
    assert shown_name(name) == shown


@given(st.text(max_size=400))
def test_any_name_can_be_shown(name: str) -> None:
    shown = shown_name(name)
    assert 0 < len(shown) <= LONGEST_NAME
    assert not set("/\\\r\n\0") & set(shown)


def test_sizes_are_said() -> None:
    assert (say_size(10), say_size(2048), say_size(3 * 1024 * 1024)) == ("10 bytes", "2.0 KiB", "3.0 MiB")
