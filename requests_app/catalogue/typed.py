"""What does a posted string answer? Strings of a form become the values that an API client would send, and back."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from requests_app.catalogue.questions import Question, QuestionType

_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")
_DECIMAL = re.compile(r"[+-]?[0-9]{1,18}(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?")
MOST_LINES = 200


def to_answer(question: Question, typed: Any) -> Any:
    """The value behind what was typed. What can't be read stays the text it is, and is refused as such."""
    if isinstance(typed, str):
        return _from_text(question, typed)
    return typed or None if isinstance(typed, list) else typed


def _from_text(question: Question, typed: str) -> Any:
    text = typed.strip()
    match question.type:
        case QuestionType.INTEGER | QuestionType.DURATION if _WHOLE.fullmatch(text):
            return int(text)
        case QuestionType.DECIMAL if _DECIMAL.fullmatch(text):
            return float(text)
        case QuestionType.SSH_KEYS:
            return _lines(text) or None
        case QuestionType.STORAGE_MOUNTS:
            return [_mount(line) for line in _lines(text)] or None
        case _:
            return typed if text else None


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines()[:MOST_LINES] if line.strip()]


def _mount(line: str) -> dict[str, str] | str:
    words = line.split()
    if len(words) not in (2, 3):
        return line
    return {"source": words[0], "path": words[1], "fstype": words[2] if len(words) == 3 else "nfs4"}


def to_typed(question: Question, answer: Any) -> Any:
    """What stands in the field for an answer that is kept."""
    if question.type is QuestionType.SSH_KEYS and answer:
        return "\n".join(answer)
    if question.type is QuestionType.STORAGE_MOUNTS and answer:
        return "\n".join(f"{each['source']} {each['path']} {each['fstype']}" for each in answer)
    return answer


def to_typed_all(questions: Sequence[Question], answers: Mapping[str, Any]) -> dict[str, Any]:
    """What stands in the fields for all of `answers`, and for what they leave out."""
    return {each.name: to_typed(each, answers.get(each.name, each.default)) for each in questions}
