"""What does an offering ask? Typed questions, made from the plain data of its file."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class QuestionType(StrEnum):
    """How a question is answered."""

    TEXT = "text"
    LONG_TEXT = "long_text"
    INTEGER = "integer"
    DECIMAL = "decimal"
    DURATION = "duration"
    CHOICE = "choice"
    MULTI_CHOICE = "multi_choice"
    DATE = "date"
    BOOLEAN = "boolean"
    SKU = "sku"
    TEAM_CLUSTER = "team_cluster"
    SSH_KEYS = "ssh_keys"
    STORAGE_MOUNTS = "storage_mounts"


NUMBERS = frozenset({QuestionType.INTEGER, QuestionType.DECIMAL, QuestionType.DURATION})
TEXTS = frozenset({QuestionType.TEXT, QuestionType.LONG_TEXT})
PICKED = frozenset({QuestionType.CHOICE, QuestionType.SKU, QuestionType.TEAM_CLUSTER})


@dataclass(frozen=True)
class Format:
    """A shape that a text must have, and how it is said."""

    pattern: str
    words: str

    def fits(self, text: str) -> bool:
        """True when the whole of `text` has the shape."""
        return re.fullmatch(self.pattern, text) is not None


FORMATS: Mapping[str, Format] = {
    "host-label": Format(
        r"[a-z]([a-z0-9-]{0,30}[a-z0-9])?",
        "Use 1 to 32 small letters, digits and hyphens, beginning with a letter and not ending with a hyphen.",
    ),
    "version": Format(r"[0-9]{1,4}(\.[0-9]{1,4}){1,3}", "Use a version such as 570.172.08."),
    "path": Format(r"/[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+){0,9}", "Use an absolute path such as /data/vision."),
    "repository": Format(
        r"https://[A-Za-z0-9.-]+(:[0-9]{1,5})?(/[A-Za-z0-9._~-]+){1,8}",
        "Use the https address of a repository.",
    ),
}


@dataclass(frozen=True, kw_only=True)
class Choice:
    """One answer that can be picked."""

    value: str
    label: str


@dataclass(frozen=True, kw_only=True)
class LiveCluster:
    """A cluster that the asking team has now."""

    ref: str
    label: str
    sku: str
    nodes: int


@dataclass(frozen=True, kw_only=True)
class Live:
    """Choices that no file can hold: what the fleet and the team have at this moment."""

    skus: tuple[Choice, ...] = ()
    clusters: tuple[LiveCluster, ...] = ()

    def cluster(self, ref: str) -> LiveCluster | None:
        """The cluster called `ref`, None when the team has none of that name."""
        return next((cluster for cluster in self.clusters if cluster.ref == ref), None)


@dataclass(frozen=True, kw_only=True)
class Condition:
    """Ask only when an earlier question was answered with one of `values`."""

    question: str
    values: tuple[Any, ...]


@dataclass(frozen=True, kw_only=True)
class Question:
    """One question. `minimum`, `maximum` and `step` are in `unit`; `within_days` bounds a date from today on."""

    name: str
    label: str
    type: QuestionType
    help: str = ""
    required: bool = True
    default: Any = None
    unit: str = ""
    minimum: float | None = None
    maximum: float | None = None
    step: float | None = None
    max_length: int | None = None
    format: str = ""
    within_days: int | None = None
    choices: tuple[Choice, ...] = ()
    show_if: Condition | None = None

    def options(self, live: Live) -> tuple[Choice, ...]:
        """What can be picked now."""
        if self.type is QuestionType.SKU:
            return live.skus
        if self.type is QuestionType.TEAM_CLUSTER:
            return tuple(Choice(value=each.ref, label=each.label) for each in live.clusters)
        return self.choices


def questions_of(content: Mapping[str, Any]) -> tuple[Question, ...]:
    """The questions of an offering's content, which the loader has checked."""
    return tuple(_question(entry) for entry in content["schema"])


def _question(entry: Mapping[str, Any]) -> Question:
    return Question(
        name=entry["name"],
        label=entry["label"],
        type=QuestionType(entry["type"]),
        help=entry.get("help", ""),
        required=entry.get("required", True),
        default=entry.get("default"),
        unit=entry.get("unit", ""),
        minimum=entry.get("min"),
        maximum=entry.get("max"),
        step=entry.get("step"),
        max_length=entry.get("max_length"),
        format=entry.get("format", ""),
        within_days=entry.get("within_days"),
        choices=_choices(entry.get("choices", ())),
        show_if=condition_of(entry.get("show_if")),
    )


def _choices(entries: Sequence[Mapping[str, str]]) -> tuple[Choice, ...]:
    return tuple(Choice(value=entry["value"], label=entry["label"]) for entry in entries)


def condition_of(entry: Mapping[str, Any] | None) -> Condition | None:
    """The condition that an entry of a file states; None where there is none."""
    if entry is None:
        return None
    values = entry["in"] if "in" in entry else [entry["equals"]]
    return Condition(question=entry["question"], values=tuple(values))


def is_met(condition: Condition | None, answers: Mapping[str, Any]) -> bool:
    """True when earlier `answers` meet a condition; no condition is always met."""
    if condition is None:
        return True
    given = answers.get(condition.question)
    if isinstance(given, list):
        return any(value in given for value in condition.values)
    return any(given is value if isinstance(value, bool) else given == value for value in condition.values)


def is_asked(question: Question, answers: Mapping[str, Any]) -> bool:
    """True when the earlier `answers` lead to this question."""
    return is_met(question.show_if, answers)


def asked_only(questions: Sequence[Question], given: Mapping[str, Any]) -> dict[str, Any]:
    """What of `given` answers a question that is asked; a page without scripts shows, and posts, the others too."""
    kept: dict[str, Any] = {}
    for question in questions:
        if is_asked(question, kept):
            value = given.get(question.name)
            kept[question.name] = question.default if value is None else value
    return {name: given[name] for name in kept if given.get(name) is not None}
