"""How big and how many may files be, and what are they called? Pure; sizes are bytes."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

MIB = 1024 * 1024
MOST_AT_ONCE = 10
LONGEST_NAME = 150
_SEPARATORS = re.compile(r"[/\\]")


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Bytes of one file, of all files of a ticket, and of a team's tickets."""

    file: int
    ticket: int
    team: int


def complaint(sizes: Sequence[int], *, limits: Limits, ticket_has: int, team_has: int) -> str | None:
    """What is wrong with files of these sizes beside those that are there; None when nothing is."""
    if len(sizes) > MOST_AT_ONCE:
        return f"At most {MOST_AT_ONCE} files at once; these are {len(sizes)}."
    if any(size == 0 for size in sizes):
        return "One of the files is empty."
    if any(size > limits.file for size in sizes):
        return f"A file may have {say_size(limits.file)}; put larger ones on shared storage and say where."
    total = sum(sizes)
    for whose, has, limit in (
        ("this request", ticket_has, limits.ticket),
        ("this team", team_has, limits.team),
    ):
        if has + total > limit:
            return (
                f"The files of {whose} may have {say_size(limit)} together; {say_size(has)} are there, "
                f"so there is room for {say_size(max(0, limit - has))}."
            )
    return None


def say_size(size: int) -> str:
    """`4.2 MiB`."""
    if size < 1024:
        return f"{size} bytes"
    return f"{size / 1024:.1f} KiB" if size < MIB else f"{size / MIB:.1f} MiB"


def shown_name(name: str) -> str:
    """What a file is called on pages and when it is saved: no folders, nothing invisible, not too long, never empty."""
    last = _SEPARATORS.split(unicodedata.normalize("NFC", name))[-1]
    kept = "".join(each for each in last if unicodedata.category(each)[0] not in "CZ" or each == " ")
    kept = " ".join(kept.split()).strip(". ")
    if len(kept) <= LONGEST_NAME:
        return kept or "file"
    stem, dot, ending = kept.rpartition(".")
    if not dot or len(ending) > 12:
        return kept[:LONGEST_NAME]
    return f"{stem[: LONGEST_NAME - len(ending) - 1]}.{ending}"
