"""What does JSON Schema (2020-12) say of an offering's questions? API clients read it, and answers are held to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from requests_app.catalogue import texts
from requests_app.catalogue.questions import FORMATS, Choice, Condition, Live, Question, QuestionType

DIALECT = "https://json-schema.org/draft/2020-12/schema"
LARGEST = 1_000_000
MOST_ITEMS = 20
DATE_PATTERN = r"^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$"
KEY_PATTERN = (
    r"^(ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp(256|384|521)|sk-ssh-ed25519@openssh\.com) "
    r"[A-Za-z0-9+/]{32,1600}={0,2}( [A-Za-z0-9._@+-]{1,100})?$"
)
MOUNT_SOURCE = r"^[A-Za-z0-9][A-Za-z0-9.-]{0,120}(@(tcp|o2ib)[0-9]{0,2})?:/[A-Za-z0-9._-]{0,60}(/[A-Za-z0-9._-]{1,60}){0,9}$"
MOUNT_PATH = r"^/(mnt|data|scratch|shared|datasets)(/[A-Za-z0-9_-][A-Za-z0-9._-]{0,60}){0,6}$"
MOUNT_TYPES = ("nfs", "nfs4", "lustre")


def json_schema(questions: Sequence[Question], live: Live, *, title: str = "") -> dict[str, Any]:
    """One JSON Schema for the answers to all `questions`; choices are those of this moment."""
    schema: dict[str, Any] = {
        "$schema": DIALECT,
        "type": "object",
        "properties": {each.name: question_schema(each, live) for each in questions},
        "required": [each.name for each in questions if each.show_if is None and _must(each)],
        "additionalProperties": False,
    }
    if title:
        schema["title"] = title
    by_name = {each.name: each for each in questions}
    rules = [_rule(each, by_name) for each in questions if each.show_if is not None]
    return {**schema, "allOf": rules} if rules else schema


def question_schema(question: Question, live: Live) -> dict[str, Any]:
    """JSON Schema of one answer."""
    schema = {"title": question.label, **_SHAPES[question.type](question, live)}
    if question.help:
        schema["description"] = question.help
    if question.unit:
        schema["x-unit"] = question.unit
    if question.default is not None:
        schema["default"] = question.default
    return schema


def _must(question: Question) -> bool:
    return question.required and question.default is None


def _rule(question: Question, by_name: Mapping[str, Question]) -> dict[str, Any]:
    condition = question.show_if
    assert condition is not None
    then = {"required": [question.name]} if _must(question) else {}
    return {
        "if": _when(condition, by_name),
        "then": then,
        "else": {"properties": {question.name: False}},
    }


def _when(condition: Condition, by_name: Mapping[str, Question]) -> dict[str, Any]:
    """True of answers that lead to the question; an earlier question with a fitting default may be left out."""
    earlier = by_name[condition.question]
    values = list(condition.values)
    several = earlier.type is QuestionType.MULTI_CHOICE
    fits: dict[str, Any] = {"contains": {"enum": values}} if several else {"enum": values}
    when: dict[str, Any] = {"properties": {earlier.name: fits}}
    if earlier.default is None or earlier.default not in condition.values:
        when["required"] = [earlier.name]
    elif earlier.show_if is not None:
        when = {"allOf": [when, _when(earlier.show_if, by_name)]}
    return when


def _text(question: Question, _live: Live) -> dict[str, Any]:
    limit = texts.LONG if question.type is QuestionType.LONG_TEXT else texts.SHORT
    shape: dict[str, Any] = {"type": "string", "maxLength": min(question.max_length or limit, limit)}
    if question.format:
        shape["pattern"] = f"^(?:{FORMATS[question.format].pattern})$"
    elif question.required:
        shape["pattern"] = r"\S"
    return shape


def _number(question: Question, _live: Live) -> dict[str, Any]:
    whole = question.type is not QuestionType.DECIMAL
    shape: dict[str, Any] = {
        "type": "integer" if whole else "number",
        "minimum": 0 if question.minimum is None else question.minimum,
        "maximum": LARGEST if question.maximum is None else question.maximum,
    }
    if whole and question.step is not None:
        shape["multipleOf"] = question.step
    return shape


def _picked(question: Question, live: Live) -> dict[str, Any]:
    return {"type": "string", "enum": _values(question.options(live))}


def _several(question: Question, live: Live) -> dict[str, Any]:
    return {
        "type": "array",
        "minItems": 1 if question.required else 0,
        "maxItems": max(1, len(question.options(live))),
        "items": {"type": "string", "enum": _values(question.options(live))},
        "uniqueItems": True,
    }


def _values(choices: Sequence[Choice]) -> list[str]:
    return [choice.value for choice in choices]


def _date(_question: Question, _live: Live) -> dict[str, Any]:
    return {"type": "string", "format": "date", "pattern": DATE_PATTERN}


def _boolean(_question: Question, _live: Live) -> dict[str, Any]:
    return {"type": "boolean"}


def _keys(question: Question, _live: Live) -> dict[str, Any]:
    return {
        "type": "array",
        "minItems": 1 if question.required else 0,
        "maxItems": MOST_ITEMS,
        "items": {"type": "string", "maxLength": 2000, "pattern": KEY_PATTERN},
        "uniqueItems": True,
    }


def _mounts(question: Question, _live: Live) -> dict[str, Any]:
    mount = {
        "type": "object",
        "properties": {
            "source": {"type": "string", "maxLength": 250, "pattern": MOUNT_SOURCE},
            "path": {"type": "string", "maxLength": 250, "pattern": MOUNT_PATH},
            "fstype": {"type": "string", "enum": list(MOUNT_TYPES)},
        },
        "required": ["source", "path", "fstype"],
        "additionalProperties": False,
    }
    return {
        "type": "array",
        "minItems": 1 if question.required else 0,
        "maxItems": MOST_ITEMS,  # before the items: a million of them is refused at a glance
        "items": mount,
        "uniqueItems": True,
    }


_SHAPES: Mapping[QuestionType, Callable[[Question, Live], dict[str, Any]]] = {
    QuestionType.TEXT: _text,
    QuestionType.LONG_TEXT: _text,
    QuestionType.INTEGER: _number,
    QuestionType.DECIMAL: _number,
    QuestionType.DURATION: _number,
    QuestionType.CHOICE: _picked,
    QuestionType.SKU: _picked,
    QuestionType.TEAM_CLUSTER: _picked,
    QuestionType.MULTI_CHOICE: _several,
    QuestionType.DATE: _date,
    QuestionType.BOOLEAN: _boolean,
    QuestionType.SSH_KEYS: _keys,
    QuestionType.STORAGE_MOUNTS: _mounts,
}
