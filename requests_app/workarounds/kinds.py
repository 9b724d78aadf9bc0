"""What kinds of workaround are there, and what must be said of each? Complaints by field, before anything is touched."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any

MOST_GPUS = 100_000
MOST_NODES = 512
MOST_SETTINGS = 20
LONGEST_STEPS = 5000
Complaints = dict[str, list[str]]


class Kind(StrEnum):
    """How a team gets moving, and how that is taken back."""

    QUOTA = "quota"
    NODES = "nodes"
    PLAYBOOK = "playbook"
    MANUAL = "manual"


class Risk(StrEnum):
    """What can go wrong meanwhile."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


SAYS: Mapping[Kind, str] = {
    Kind.QUOTA: "Temporary quota",
    Kind.NODES: "Borrowed nodes",
    Kind.PLAYBOOK: "A setting on the cluster's nodes",
    Kind.MANUAL: "A step by hand",
}
TAKES_BACK: Mapping[Kind, str] = {
    Kind.QUOTA: "the quota goes back by itself",
    Kind.NODES: "the nodes are drained, wiped and given back",
    Kind.PLAYBOOK: "the setting is taken off the nodes by a job",
    Kind.MANUAL: "its owner takes it back by hand",
}

_CLUSTER = re.compile(r"C-[1-9][0-9]{0,17}")
_SLUG = re.compile(r"[a-z0-9][a-z0-9.-]{0,39}")
_NAME = re.compile(r"[a-z][a-z0-9-]{0,38}[a-z0-9]")


def complaints_about(kind: Kind, params: Mapping[str, Any]) -> Complaints:
    """What is wrong with what a kind is told, by field; unknown fields too."""
    checks = _SHAPES[kind]
    found: Complaints = {
        str(name)[:40]: [f"{SAYS[kind]} has no such field."] for name in params if name not in checks
    }
    for name, check in checks.items():
        said = check(params.get(name))
        if said is not None:
            found[name] = [said]
    return found


def _shaped(pattern: re.Pattern[str], what: str, *, needed: bool = True) -> Callable[[object], str | None]:
    def check(value: object) -> str | None:
        if value in (None, "") and not needed:
            return None
        return None if isinstance(value, str) and pattern.fullmatch(value) else f"Give {what}."

    return check


def _count(most: int, unit: str) -> Callable[[object], str | None]:
    def check(value: object) -> str | None:
        whole = isinstance(value, int) and not isinstance(value, bool)
        return None if whole and 1 <= int(str(value)) <= most else f"From 1 to {most} {unit}."

    return check


def _steps(value: object) -> str | None:
    if not isinstance(value, str) or not value.strip():
        return "Say what is done, and how it is taken back."
    return None if len(value) <= LONGEST_STEPS else f"At most {LONGEST_STEPS} characters."


def _settings(value: object) -> str | None:
    if not isinstance(value, Mapping) or not 1 <= len(value) <= MOST_SETTINGS:
        return f"Give from 1 to {MOST_SETTINGS} settings, one a line, as name=value."
    fits = all(isinstance(name, str) and isinstance(text, str) for name, text in value.items())
    return None if fits else "Names and values are text."


_SHAPES: Mapping[Kind, Mapping[str, Callable[[object], str | None]]] = {
    Kind.QUOTA: {"sku": _shaped(_SLUG, "a SKU"), "gpus": _count(MOST_GPUS, "GPUs")},
    Kind.NODES: {
        "sku": _shaped(_SLUG, "a SKU"),
        "nodes": _count(MOST_NODES, "nodes"),
        "cluster": _shaped(_CLUSTER, "a cluster such as C-12, or nothing for a new one", needed=False),
    },
    Kind.PLAYBOOK: {
        "cluster": _shaped(_CLUSTER, "a cluster such as C-12"),
        "remedy": _shaped(_NAME, "one of the remedies"),
        "settings": _settings,
    },
    Kind.MANUAL: {"steps": _steps},
}


def class_of(*, offering: str, kind: Kind, tag: str, closure_test: str) -> str:
    """Names what is the same need again: offering, kind, and the tag or the words of the closure test.

    Case, punctuation, numbers and the order of words don't make another class.
    """
    return f"{offering}|{kind}|{_words(tag) or _words(closure_test)}"[:200]


def _words(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text).casefold()
    words = re.findall(r"[^\W\d_]+", plain)
    return " ".join(sorted(set(words) - _FILLERS))[:140]


_FILLERS = frozenset({"a", "an", "and", "as", "at", "for", "in", "is", "it", "of", "on", "the", "to", "with"})
