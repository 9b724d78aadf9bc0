"""Are these answers good, and what are they? One function judges what a form posts and what an API client sends."""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta
from decimal import Decimal
from typing import Any, cast

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

from portal.kernel.errors import Invalid
from requests_app.catalogue import texts
from requests_app.catalogue.questions import (
    FORMATS,
    NUMBERS,
    TEXTS,
    Live,
    Question,
    QuestionType,
    is_asked,
)
from requests_app.catalogue.schema import question_schema

FARTHEST_DAYS = 3 * 366


def clean_answers(questions: Sequence[Question], raw: object, *, live: Live, today: date) -> dict[str, Any]:
    """The answers as they are kept: tidied, defaults filled in, only what is asked.

    Raises Invalid with complaints by question name. None, "" and [] count as no answer.
    """
    if not isinstance(raw, Mapping):
        raise Invalid({"answers": ["An object with an answer per question is expected."]})
    complaints: dict[str, list[str]] = {}
    known = {question.name for question in questions}
    for name in raw:
        if name not in known:
            complaints[_safe(name)] = ["There is no such question."]
    clean: dict[str, Any] = {}
    for question in questions:
        said = _take(question, raw.get(question.name), clean, complaints, live=live, today=today)
        if said:
            complaints[question.name] = said
    if complaints:
        raise Invalid(complaints)
    return clean


def _take(
    question: Question,
    given: object,
    clean: dict[str, Any],
    complaints: Mapping[str, Sequence[str]],
    *,
    live: Live,
    today: date,
) -> list[str]:
    """Put the answer to one question into `clean`, or say what is wrong with it."""
    value = tidied(question, given)
    condition = question.show_if
    if condition is not None and not is_asked(question, clean):
        if value is None or condition.question in complaints:
            return []
        return [f"Leave this out: it is only asked after another answer to {condition.question!r}."]
    if value is None:
        value = question.default
    if value is None:
        return ["This is needed."] if question.required else []
    said = complaints_about(question, value, live=live, today=today)
    if not said:
        clean[question.name] = _kept(question, value)
    return said


def tidied(question: Question, given: object) -> Any:
    """The answer without what means nothing: white space around, empty lists. None stands for no answer."""
    if isinstance(given, str):
        limit = texts.LONG if question.type is QuestionType.LONG_TEXT else texts.SHORT
        tidy = texts.tidy(given, limit=limit)
        return tidy if tidy else None
    if isinstance(given, list):
        return [_tidy_item(item) for item in given] or None
    return given


def _tidy_item(item: object) -> object:
    return " ".join(item.split(" ")).strip() if isinstance(item, str) and len(item) < 4000 else item


def _kept(question: Question, value: Any) -> Any:
    whole = question.type in NUMBERS and question.type is not QuestionType.DECIMAL
    return int(value) if whole else value


def complaints_about(question: Question, value: Any, *, live: Live, today: date) -> list[str]:
    """What is wrong with one answer, in plain words; empty when nothing is."""
    if isinstance(value, float) and not math.isfinite(value):
        return ["A number is expected."]
    found = next(iter(Draft202012Validator(question_schema(question, live)).iter_errors(value)), None)
    if found is not None:
        return [_in_words(question, found)]
    further = _FURTHER.get(question.type)
    said = None if further is None else further(question, value, today)
    return [] if said is None else [said]


def _text(question: Question, value: str, _today: date) -> str | None:
    limit = texts.LONG if question.type is QuestionType.LONG_TEXT else texts.SHORT
    said = texts.complaint(value, limit=limit, lines=question.type is QuestionType.LONG_TEXT)
    if said is None and question.format and not FORMATS[question.format].fits(value):
        return FORMATS[question.format].words
    return said


def _decimal(question: Question, value: float, _today: date) -> str | None:
    step = Decimal(str(question.step)) if question.step is not None else Decimal("0.01")
    return None if Decimal(str(value)) % step == 0 else f"In steps of {step.normalize():f}."


def _date(question: Question, value: str, today: date) -> str | None:
    try:
        day = date.fromisoformat(value)
    except ValueError:
        return _EXPECTED[QuestionType.DATE]
    farthest = FARTHEST_DAYS if question.within_days is None else question.within_days
    if day < today:
        return f"This day is over; the first that can be asked for is {today.isoformat()}."
    if day > today + timedelta(days=farthest):
        return f"At most {farthest} days from now: until {(today + timedelta(days=farthest)).isoformat()}."
    return None


def _keys(_question: Question, value: list[str], _today: date) -> str | None:
    for number, key in enumerate(value, start=1):
        if "\n" in key or not _is_a_key(key):
            return f"Line {number}: {_EXPECTED[QuestionType.SSH_KEYS]}"
    return None


def _is_a_key(line: str) -> bool:
    """True when the blob of a public key says the same type as the word before it (RFC 4253, 6.6)."""
    kind, blob = line.split(" ")[:2]
    try:
        raw = base64.b64decode(blob, validate=True)
    except binascii.Error:
        return False
    return raw[:4] == len(kind).to_bytes(4, "big") and raw[4 : 4 + len(kind)] == kind.encode("ascii")


def _mounts(_question: Question, value: list[dict[str, str]], _today: date) -> str | None:
    if any("\n" in text or ".." in text.split("/") for mount in value for text in mount.values()):
        return "A mount may not hold line breaks or '..'."
    paths = [mount["path"] for mount in value]
    return None if len(set(paths)) == len(paths) else "Each mount needs a path of its own."


_FURTHER: Mapping[QuestionType, Callable[[Question, Any, date], str | None]] = {
    QuestionType.TEXT: _text,
    QuestionType.LONG_TEXT: _text,
    QuestionType.DECIMAL: _decimal,
    QuestionType.DATE: _date,
    QuestionType.SSH_KEYS: _keys,
    QuestionType.STORAGE_MOUNTS: _mounts,
}

_EXPECTED: Mapping[QuestionType, str] = {
    QuestionType.TEXT: "Text is expected.",
    QuestionType.LONG_TEXT: "Text is expected.",
    QuestionType.INTEGER: "A whole number is expected.",
    QuestionType.DECIMAL: "A number is expected.",
    QuestionType.DURATION: "A whole number is expected.",
    QuestionType.CHOICE: "Pick one of the choices.",
    QuestionType.SKU: "Pick one of the choices.",
    QuestionType.TEAM_CLUSTER: "Pick one of your team's clusters.",
    QuestionType.MULTI_CHOICE: "Pick from the choices.",
    QuestionType.DATE: "A date is expected, such as 2026-11-30.",
    QuestionType.BOOLEAN: "Yes or no is expected.",
    QuestionType.SSH_KEYS: "Public SSH keys are expected, one a line, such as “ssh-ed25519 AAAA… name@host”.",
    QuestionType.STORAGE_MOUNTS: (
        "Mounts are expected, one a line: source, path and type, such as “nas-1:/exports/vision /data/vision nfs4”; "
        "paths lie under /data, /datasets, /mnt, /scratch or /shared."
    ),
}


def _in_words(question: Question, found: ValidationError) -> str:
    """A JSON Schema error as a person would say it."""
    keyword, limit = str(found.validator), found.validator_value
    if keyword in _BOUNDS:
        unit = f" {question.unit}" if question.unit else ""
        return f"{_BOUNDS[keyword]} {Decimal(str(limit)).normalize():f}{unit}."
    if keyword == "maxLength" and question.type in TEXTS:
        return f"At most {limit} characters; this has {len(str(found.instance))}."
    if keyword == "pattern" and question.format:
        return FORMATS[question.format].words
    if keyword == "enum" and question.type is not QuestionType.STORAGE_MOUNTS:
        return _choices_in_words(cast("Sequence[str]", limit))
    if keyword == "uniqueItems":
        return "Each only once."
    return _item_words(question, found)


_BOUNDS = {
    "minimum": "At least",
    "maximum": "At most",
    "multipleOf": "In steps of",
    "maxItems": "Number of them: at most",
}


def _choices_in_words(choices: Sequence[str]) -> str:
    if not choices:
        return "There is nothing to pick from at the moment."
    named = ", ".join(choices[:12]) + (" …" if len(choices) > 12 else "")
    return f"Pick one of: {named}."


def _item_words(question: Question, found: ValidationError) -> str:
    position = next((step for step in found.absolute_path if isinstance(step, int)), None)
    prefix = "" if position is None else f"Line {position + 1}: "
    return prefix + _EXPECTED[question.type]


def _safe(name: object) -> str:
    """A name a client made up, fit to be shown: short, and nothing but plain characters."""
    return re.sub(r"[^A-Za-z0-9_.-]", "?", str(name))[:60] or "?"


def in_words(question: Question, value: Any) -> str:
    """An answer as pages show it."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if question.type is QuestionType.STORAGE_MOUNTS:
        return "\n".join(f"{each['source']} at {each['path']} ({each['fstype']})" for each in value)
    if isinstance(value, list):
        return "\n".join(_label(question, each) for each in value)
    text = _label(question, value)
    return f"{text} {question.unit}" if question.unit and question.type in NUMBERS else text


def _label(question: Question, value: Any) -> str:
    return next((each.label for each in question.choices if each.value == value), str(value))
