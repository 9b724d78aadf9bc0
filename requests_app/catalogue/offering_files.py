"""Is an offering's file good? Read it, and complain by file and line where it isn't."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator

from requests_app.catalogue.answers import complaints_about
from requests_app.catalogue.offering_shape import NEEDED, OFFERING, OPTIONAL
from requests_app.catalogue.questions import (
    NUMBERS,
    TEXTS,
    Live,
    Question,
    QuestionType,
    condition_of,
    questions_of,
)

OFFERINGS_DIR = Path(__file__).with_name("offerings")
Step = str | int
_Loader: type[yaml.SafeLoader] | type[yaml.CSafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_JUDGE = Draft202012Validator(OFFERING)
_WORD = re.compile(r"\{([a-z0-9_]*)\}")


@dataclass(frozen=True, order=True)
class Complaint:
    """One thing that is wrong, and where."""

    file: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.message}"


class OfferingFileError(ValueError):
    """Some files can't be loaded; `complaints` lists all of them."""

    def __init__(self, complaints: Sequence[Complaint]) -> None:
        super().__init__("\n".join(str(each) for each in complaints))
        self.complaints = tuple(complaints)


@dataclass(frozen=True)
class OfferingFile:
    """The content of a good file, and its hash: same content, same hash, whatever the comments and the order."""

    slug: str
    content: Mapping[str, Any]
    content_hash: str


def read_folder(folder: Path = OFFERINGS_DIR) -> tuple[OfferingFile, ...]:
    """Every offering of a folder, by slug. Raises OfferingFileError with the complaints of all files."""
    complaints: list[Complaint] = []
    good: list[OfferingFile] = []
    for path in sorted(folder.glob("*.yaml")):
        try:
            good.append(read_text(path.read_text(encoding="utf-8"), file=path.name))
        except OfferingFileError as problem:
            complaints.extend(problem.complaints)
        except UnicodeDecodeError as problem:
            complaints.append(Complaint(path.name, 1, f"not UTF-8: {problem.reason}"))
    if not complaints and not good:
        complaints.append(Complaint(str(folder), 1, "there is no offering (*.yaml) in this folder"))
    if complaints:
        raise OfferingFileError(complaints)
    return tuple(good)


def read_text(text: str, *, file: str) -> OfferingFile:
    """One offering. Raises OfferingFileError."""
    try:
        root = yaml.compose(text, Loader=_Loader)
        content = yaml.load(text, Loader=_Loader)  # noqa: S506 - a safe loader either way
    except yaml.YAMLError as problem:
        raise OfferingFileError([_not_yaml(problem, file)]) from problem
    if not isinstance(root, yaml.MappingNode):
        raise OfferingFileError([Complaint(file, 1, "a mapping of keys is expected")])
    found = [*_doubled(root), *_shape(content)]
    found = found or list(_meaning(content, Path(file).stem))
    if found:
        complaints = {Complaint(file, _line(root, path), message) for path, message in found}
        raise OfferingFileError(sorted(complaints))
    return OfferingFile(content["slug"], content, _hash(content))


def _hash(content: Mapping[str, Any]) -> str:
    plain = json.dumps(content, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(plain.encode("ascii")).hexdigest()


def _not_yaml(problem: yaml.YAMLError, file: str) -> Complaint:
    mark = getattr(problem, "problem_mark", None)
    said = getattr(problem, "problem", None) or str(problem).splitlines()[0]
    return Complaint(file, 1 if mark is None else mark.line + 1, f"not YAML: {said}")


Found = tuple[tuple[Step, ...], str]


def _shape(content: object) -> Iterator[Found]:
    for problem in _JUDGE.iter_errors(content):
        path = tuple(problem.absolute_path)
        where = ".".join(str(step) for step in path)
        yield path, f"{where}: {problem.message}" if where else problem.message


def _doubled(node: yaml.Node, path: tuple[Step, ...] = ()) -> Iterator[Found]:
    """YAML lets the last of two equal keys win; here that is a mistake."""
    if isinstance(node, yaml.SequenceNode):
        for position, child in enumerate(node.value):
            yield from _doubled(child, (*path, position))
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, child in node.value:
            if key.value in seen:
                yield (*path, key.value), f"the key {key.value!r} is there twice"
            seen.add(key.value)
            yield from _doubled(child, (*path, key.value))


def _line(root: yaml.Node, path: Sequence[Step]) -> int:
    """The line of what `path` leads to, or of the nearest thing around it; of two equal keys, the last."""
    node, line = root, root.start_mark.line
    for step in path:
        if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
            node = node.value[step]
            line = node.start_mark.line
        elif isinstance(node, yaml.MappingNode):
            pairs = [(key, child) for key, child in node.value if key.value == step]
            if not pairs:
                break
            line, node = pairs[-1][0].start_mark.line, pairs[-1][1]
    return line + 1


def _meaning(content: Mapping[str, Any], stem: str) -> Iterator[Found]:
    if content["slug"] != stem:
        yield ("slug",), f"the slug is {content['slug']!r}, the file says {stem!r}"
    questions = questions_of(content)
    yield from _names(questions)
    for position, question in enumerate(questions):
        for key, message in _about(question, questions[:position]):
            yield ("schema", position, key), f"{question.name}: {message}"
    by_name = {each.name: each for each in questions}
    yield from _fulfilment(content, by_name)
    yield from _quantity_and_title(content, by_name)


def _names(questions: Sequence[Question]) -> Iterator[Found]:
    seen: set[str] = set()
    for position, question in enumerate(questions):
        if question.name in seen:
            yield ("schema", position, "name"), f"there are two questions called {question.name!r}"
        seen.add(question.name)


def _about(question: Question, earlier: Sequence[Question]) -> Iterator[tuple[str, str]]:
    """What is wrong with one question by itself and with those before it: (key, message)."""
    yield from _misplaced(question)
    picks = question.type in {QuestionType.CHOICE, QuestionType.MULTI_CHOICE}
    if picks != bool(question.choices):
        yield (
            "choices" if question.choices else "type",
            "choices belong to choice and multi_choice, and only there",
        )
    if len({choice.value for choice in question.choices}) != len(question.choices):
        yield "choices", "two choices have the same value"
    if None not in (question.minimum, question.maximum) and (question.minimum or 0) > (question.maximum or 0):
        yield "min", "min is above max"
    if question.default is not None:
        said = complaints_about(question, question.default, live=Live(), today=date.min)
        if said:
            yield "default", f"the default can't be an answer: {said[0]}"
    if question.show_if is not None:
        yield from _condition(question, earlier)


def _misplaced(question: Question) -> Iterator[tuple[str, str]]:
    numeric = {"min": question.minimum, "max": question.maximum, "step": question.step}
    if question.type not in NUMBERS:
        for key in (key for key, value in numeric.items() if value is not None):
            yield key, f"{key} belongs to numbers"
    if question.max_length is not None and question.type not in TEXTS:
        yield "max_length", "max_length belongs to texts"
    if question.format and question.type is not QuestionType.TEXT:
        yield "format", "format belongs to type text"
    if question.within_days is not None and question.type is not QuestionType.DATE:
        yield "within_days", "within_days belongs to dates"
    if question.type is QuestionType.DURATION and question.unit not in {"days", "hours"}:
        yield "unit", "a duration is in days or in hours"


def _condition(question: Question, earlier: Sequence[Question]) -> Iterator[tuple[str, str]]:
    condition = question.show_if
    assert condition is not None
    asked = next((each for each in earlier if each.name == condition.question), None)
    if asked is None:
        yield "show_if", f"there is no earlier question called {condition.question!r}"
        return
    if asked.type is QuestionType.BOOLEAN:
        if not all(isinstance(value, bool) for value in condition.values):
            yield "show_if", f"{asked.name!r} is answered with true or false"
        return
    if asked.type not in {QuestionType.CHOICE, QuestionType.MULTI_CHOICE}:
        yield "show_if", f"{asked.name!r} is neither a choice nor a yes or no"
        return
    known = {choice.value for choice in asked.choices}
    for value in condition.values:
        if value not in known:
            yield "show_if", f"{value!r} is no choice of {asked.name!r}"


def _fulfilment(content: Mapping[str, Any], by_name: Mapping[str, Question]) -> Iterator[Found]:
    for name, kind in NEEDED[content["fulfilment"]].items():
        asked = by_name.get(name)
        if asked is None or asked.type is not kind or not asked.required or asked.show_if is not None:
            yield (
                ("fulfilment",),
                f"{content['fulfilment']} needs a required question {name!r} of type {kind}, always asked",
            )
    for name, kind in OPTIONAL.items():
        if name in by_name and by_name[name].type is not kind:
            yield ("schema",), f"a question called {name!r} has the type {kind} in every offering"
    lines = content.get("lines")
    if (lines is not None) != (content["fulfilment"] == "bundle"):
        yield ("fulfilment",), "lines belong to a bundle, and a bundle has lines"
    for position, line in enumerate(lines or ()):
        for message in _bundled(line, by_name):
            yield ("lines", position), f"{line['title']}: {message}"


def _bundled(line: Mapping[str, Any], by_name: Mapping[str, Question]) -> Iterator[str]:
    """What is wrong with one line of a bundle: whatever it needs is asked whenever the line is."""
    takes, fulfilment = line.get("takes", {}), line["fulfilment"]
    for name, kind in NEEDED[fulfilment].items():
        asked = by_name.get(takes.get(name, ""))
        if asked is None or asked.type is not kind or not asked.required:
            yield f"{fulfilment} takes {name!r} from a required question of type {kind}"
        elif asked.show_if is not None and asked.show_if != condition_of(line.get("show_if")):
            yield f"{asked.name!r} is not asked whenever this line is"
    for name, question in takes.items():
        wanted = {**NEEDED[fulfilment], **OPTIONAL}.get(name)
        if wanted is None or question not in by_name or by_name[question].type is not wanted:
            yield f"{fulfilment} takes no {name!r} from {question!r}"
    condition = line.get("show_if")
    if condition is not None and condition["question"] not in by_name:
        yield f"there is no question called {condition['question']!r}"
    if not _counts(line, by_name):
        yield "quantity names a question of type integer, in a manual line"


def _counts(content: Mapping[str, Any], by_name: Mapping[str, Question]) -> bool:
    """True when what says how many is a whole number, and the offering or line is fulfilled by hand."""
    quantity = content.get("quantity")
    if quantity is None:
        return True
    asked = by_name.get(quantity["question"])
    return content["fulfilment"] == "manual" and asked is not None and asked.type is QuestionType.INTEGER


def _quantity_and_title(content: Mapping[str, Any], by_name: Mapping[str, Question]) -> Iterator[Found]:
    if not _counts(content, by_name):
        yield ("quantity",), "quantity names a question of type integer, in a manual offering"
    for name in _WORD.findall(content["ticket_title"]):
        if name not in by_name:
            yield ("ticket_title",), f"there is no question called {name!r}"
