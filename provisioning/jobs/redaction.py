"""Which texts must never be kept? Known secrets in every spelling they may come back in, replaced at the door.

A secret that was transformed (base64, reversed, split by other text) is not found; what is here are the spellings that
logs really hold: as it is, quoted for a shell, an address or by Python, each of these in JSON, and line by line.

A log is almost always clean, and a portal may know thousands of spellings, so a text is first asked for *anchors*: a run
of plain letters and digits that no spelling of a secret changes. Only the spellings of anchors that are there are
searched for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import quote, quote_plus

SHORTEST = 6
"""Characters below which a secret is not searched for: it would turn the log into stars."""
STARS = "«secret»"
DEEPEST = 3
"""Times over that a secret is known within JSON: what a task made JSON of, in a result, as it is printed."""
LONG = 12
"""Characters of an anchor that is found by its hash, however many there are; words of a log are seldom as long."""
FEW = 16
"""Anchors up to which one expression is quicker than hashes."""
_RUN = re.compile(r"[A-Za-z0-9]{4,}+")
_LONG_RUN = re.compile(rf"[A-Za-z0-9]{{{LONG},}}+")


def spellings(secret: str) -> set[str]:
    """Every way in which `secret` is searched for."""
    return {text for base in _bases(secret) for text in _spelled(base)}


def _bases(secret: str) -> set[str]:
    """The secret itself, and each of its lines."""
    found = {secret, secret.strip()}
    lines = [line.strip() for line in secret.splitlines()]
    if len(lines) > 1:
        found.update(line for line in lines if len(line) >= SHORTEST and not line.startswith("-----"))
    return found


def _spelled(known: str) -> set[str]:
    quoted = {quote(known, safe=""), quote(known), quote_plus(known)}
    found = _within_json({known, *quoted, *_within_shell(known), *_within_python(known)})
    return {text for text in found if len(text) >= SHORTEST}


def _within_shell(text: str) -> Iterator[str]:
    """As it stands between single quotes, alone or in the middle of a longer word."""
    for apostrophe in ("'\"'\"'", "'\\''"):
        yield text.replace("'", apostrophe)


def _within_python(text: str) -> Iterator[str]:
    """As Python's own messages show it, as text and as bytes, whichever quotes stand around it."""
    for shown in (repr(text)[1:-1], repr(text.encode("utf-8", "surrogatepass"))[2:-1]):
        bare = shown.replace("\\'", "'")
        yield bare
        yield bare.replace("'", "\\'")


def _within_json(texts: set[str]) -> set[str]:
    """`texts`, also as they stand in a JSON text, which may itself stand in one, `DEEPEST` times over."""
    found, level = set(texts), texts
    for _ in range(DEEPEST):
        level = {json.dumps(text, ensure_ascii=plain)[1:-1] for text in level for plain in (True, False)}
        found |= level
    return found


def _escaped(text: str) -> str:
    """As it stands within a JSON text."""
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _anchor(text: str) -> str:
    """Its longest run of letters and digits, shortened; "" when it has none worth the name."""
    return max(_RUN.findall(text), key=len, default="")[:LONG]


class Redactor:
    """Replaces the secrets it was made with."""

    def __init__(self, secrets: Iterable[str]) -> None:
        self._spellings: dict[str, set[str]] = {}
        for base in {base for secret in secrets for base in _bases(secret)}:
            self._learn(_anchor(base), _spelled(base))
        few = len(self._spellings) <= FEW
        self._long = {anchor for anchor in self._spellings if not few and _is_long(anchor)}
        short = sorted(self._spellings.keys() - self._long)
        self._short = re.compile("|".join(map(re.escape, short))) if short else None
        self._patterns: dict[frozenset[str], re.Pattern[str]] = {}

    def _learn(self, anchor: str, spelled: set[str]) -> None:
        """Without an anchor of its own every spelling is one, also as it would stand within a JSON text."""
        if anchor and spelled:
            self._spellings.setdefault(anchor, set()).update(spelled)
            return
        for text in spelled:
            self._spellings.setdefault(text, set()).add(text)
            self._spellings.setdefault(_escaped(text), set()).add(text)

    def suspects(self, text: str) -> bool:
        """False when no secret is in `text`, nor in any text of the value whose JSON it is."""
        if self._short is not None and self._short.search(text) is not None:
            return True
        return bool(self._long) and not self._long.isdisjoint(_windows(text))

    def text(self, text: str) -> str:
        """`text` without secrets."""
        if not self.suspects(text):
            return text
        return self._pattern(frozenset(anchor for anchor in self._spellings if anchor in text)).sub(
            STARS, text
        )

    def _pattern(self, anchors: frozenset[str]) -> re.Pattern[str]:
        found = self._patterns.get(anchors)
        if found is None:
            known = {text for anchor in anchors for text in self._spellings[anchor]}
            found = re.compile("|".join(map(re.escape, sorted(known, key=len, reverse=True))))
            self._patterns[anchors] = found
        return found

    def value(self, value: Any) -> Any:
        """A JSON value without secrets, in keys and texts."""
        if not self._spellings:
            return value
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.value(item) for item in value]
        if isinstance(value, dict):
            return {self.text(str(key)): self.value(item) for key, item in value.items()}
        return value


def _is_long(anchor: str) -> bool:
    return len(anchor) == LONG and _LONG_RUN.fullmatch(anchor) is not None


def _windows(text: str) -> set[str]:
    """Every `LONG` letters and digits in a row."""
    return {
        run[start : start + LONG] for run in _LONG_RUN.findall(text) for start in range(len(run) - LONG + 1)
    }
