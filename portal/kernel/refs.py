"""How do people name a row? `T-1042`: a letter for the kind and the row's number."""

from __future__ import annotations

import re

from portal.kernel.errors import NotFound

KINDS = {
    "T": "ticket",
    "O": "order",
    "C": "cluster",
    "J": "job",
    "W": "workaround",
    "R": "replacement",
    "Q": "quota",
}
_SHAPE = re.compile(r"^([A-Z])-([1-9][0-9]{0,17})\Z")


def format_ref(kind: str, number: int) -> str:
    """`format_ref("T", 1042)` is `T-1042`."""
    if kind not in KINDS:
        raise ValueError(f"no kind {kind!r}; the kinds are {', '.join(KINDS)}")
    return f"{kind}-{number}"


def parse_ref(text: str, kind: str) -> int:
    """The number in `text`; NotFound when it isn't a reference of this kind."""
    match = _SHAPE.match(text)
    if match is None or match[1] != kind:
        raise NotFound(f"{text[:40]!r} is not the reference of a {KINDS[kind]}; they look like {kind}-12.")
    return int(match[2])
