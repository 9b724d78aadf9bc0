"""One function judges answers; the form, the API and the published schema agree with it."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils.datastructures import MultiValueDict
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from portal.kernel.errors import Invalid
from requests_app.catalogue.answers import clean_answers
from requests_app.catalogue.forms import AnswersForm
from requests_app.catalogue.questions import Question, asked_only, questions_of
from requests_app.catalogue.schema import json_schema
from requests_app.catalogue.typed import to_typed
from tests.requests_app.catalogue.strategies import (
    EVERY_TYPE,
    KEY,
    LIVE,
    NO_LIVE,
    SHIPPED,
    TODAY,
    answers_to,
    good_answers,
)

ALL = {slug: questions_of(content) for slug, content in SHIPPED.items()} | {"every type": EVERY_TYPE}


def judge(questions: tuple[Question, ...], raw: object) -> tuple[dict[str, Any] | None, dict[str, list[str]]]:
    """Clean answers, or None and the complaints."""
    try:
        return clean_answers(questions, raw, live=LIVE, today=TODAY), {}
    except Invalid as problem:
        return None, problem.fields


def posted(questions: tuple[Question, ...], answers: dict[str, Any]) -> MultiValueDict[str, str]:
    """What a browser would post for these answers."""
    data: MultiValueDict[str, str] = MultiValueDict()
    for question in questions:
        value = to_typed(question, answers.get(question.name))
        if isinstance(value, bool):
            if value:
                data[f"q-{question.name}"] = "on"
        elif isinstance(value, list):
            data.setlist(f"q-{question.name}", [str(each) for each in value])
        elif value is not None:
            data[f"q-{question.name}"] = str(value)
    return data


def with_boxes(questions: tuple[Question, ...], answers: dict[str, Any]) -> dict[str, Any]:
    """A form always answers its boxes: one that isn't ticked says no."""
    boxes = {each.name: False for each in questions if each.type == "boolean"}
    return {**boxes, **answers}


@given(data=st.data())
@settings(max_examples=150, deadline=None)
def test_form_and_api_accept_and_refuse_the_same_answers(data: st.DataObject) -> None:
    questions = data.draw(st.sampled_from(list(ALL.values())))
    answers = with_boxes(questions, data.draw(answers_to(questions)))
    form = AnswersForm(questions, live=LIVE, today=TODAY, data=posted(questions, answers))
    by_api, complaints = judge(questions, asked_only(questions, answers))
    assert form.is_valid() == (by_api is not None), (form.errors, complaints)
    if by_api is None:
        assert set(form.errors) == set(complaints)
        assert {name: list(said) for name, said in form.errors.items()} == complaints
    else:
        assert form.answers == by_api


@given(data=st.data())
@settings(max_examples=150, deadline=None)
def test_published_schema_accepts_what_is_accepted(data: st.DataObject) -> None:
    questions = data.draw(st.sampled_from(list(ALL.values())))
    clean, _ = judge(questions, data.draw(answers_to(questions)))
    if clean is not None:
        Draft202012Validator(json_schema(questions, LIVE)).validate(clean)


@given(data=st.data())
@settings(max_examples=150, deadline=None)
def test_published_schema_and_judge_agree_on_which_answers_belong(data: st.DataObject) -> None:
    """Missing, surplus and unknown answers: where every given answer is good by itself, both say the same."""
    slug = data.draw(st.sampled_from(list(SHIPPED)))
    questions = ALL[slug]
    names = data.draw(st.sets(st.sampled_from([each.name for each in questions])))
    answers = {name: value for name, value in _one_good_each(questions, data).items() if name in names}
    if data.draw(st.booleans()):
        answers["surplus"] = "x"
    schema = json_schema(questions, LIVE)
    accepted = Draft202012Validator(schema).is_valid(answers)
    assert accepted == (judge(questions, answers)[0] is not None), judge(questions, answers)[1]


def _one_good_each(questions: tuple[Question, ...], data: st.DataObject) -> dict[str, Any]:
    return {each.name: _good(each, data) for each in questions}


def _good(question: Question, data: st.DataObject) -> Any:
    shapes = {
        "host-label": "train",
        "version": "570.1",
        "path": "/data/x",
        "repository": "https://a.example/b",
    }
    plain: dict[str, Any] = {
        "text": shapes.get(question.format, "some words"),
        "long_text": "some words",
        "date": "2026-12-10",
        "ssh_keys": [KEY],
        "storage_mounts": [{"source": "nas-1:/x", "path": "/data/x", "fstype": "nfs4"}],
    }
    kind = str(question.type)
    if kind in plain:
        return plain[kind]
    if kind == "boolean":
        return data.draw(st.booleans())
    if kind in ("integer", "duration", "decimal"):
        return int(question.minimum or 0) + 1
    picked = data.draw(st.sampled_from(question.options(LIVE))).value
    return [picked] if kind == "multi_choice" else picked


@given(
    raw=st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20)),
        lambda inner: st.one_of(
            st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=8), inner, max_size=3)
        ),
        max_leaves=6,
    ),
    name=st.sampled_from([each.name for each in EVERY_TYPE]),
)
@settings(max_examples=150, deadline=None)
def test_any_json_is_judged_without_a_crash(raw: Any, name: str) -> None:
    judge(EVERY_TYPE, raw)
    judge(EVERY_TYPE, {name: raw})


@pytest.mark.parametrize("slug", list(SHIPPED))
def test_shipped_offerings_accept_sensible_answers_twice_over(slug: str) -> None:
    clean, complaints = judge(ALL[slug], good_answers(slug))
    assert complaints == {}
    assert judge(ALL[slug], clean)[0] == clean


@pytest.mark.parametrize("slug", list(SHIPPED))
def test_published_schemas_are_json_schema_2020_12(slug: str) -> None:
    for live in (LIVE, NO_LIVE):
        Draft202012Validator.check_schema(json_schema(ALL[slug], live, title=slug))


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("count", None, "This is needed."),
        ("count", "four", "A whole number is expected."),
        ("count", True, "A whole number is expected."),
        ("count", 1, "At least 2 nodes."),
        ("count", 0, "At least 2 nodes."),
        ("count", 42, "At most 40 nodes."),
        ("count", 5, "In steps of 2 nodes."),
        ("share", float("nan"), "A number is expected."),
        ("share", float("inf"), "A number is expected."),
        ("share", 0.75, "In steps of 0.5."),
        ("line", "x" * 21, "At most 20 characters; this has 21."),
        ("line", "x" * 1_000_000, "At most 20 characters; this has 1000000."),
        ("line", "a\nb", "One line only: it holds a line break or a tab (U+000A)."),
        ("line", "a\x00b", "It holds a character that can't be seen (U+0000); leave it out."),
        (
            "line",
            "a\u202eb",
            "It holds a character that changes the direction of the text (U+202E); leave it out.",
        ),
        ("line", "a\ud800b", "It holds a character that can't be seen (U+D800); leave it out."),
        (
            "host",
            "Train_1",
            "Use 1 to 32 small letters, digits and hyphens, beginning with a letter and not ending with a hyphen.",
        ),
        ("sku", "nonsense", "Pick one of: h100-sxm5-80g, b200-sxm-180g."),
        ("day", "2026-11-29", "This day is over; the first that can be asked for is 2026-11-30."),
        ("day", "2027-01-30", "At most 60 days from now: until 2027-01-29."),
        ("day", "2026-02-30", "A date is expected, such as 2026-11-30."),
        ("parts", ["a", "a"], "Each only once."),
        ("parts", ["a", "c"], "Pick one of: a, b."),
        ("why", "because", "Leave this out: it is only asked after another answer to 'mode'."),
        ("nodez", 1, "There is no such question."),
    ],
)
def test_client_is_told_in_plain_words(name: str, value: Any, said: str) -> None:
    answers = {"line": "x", "count": 4, "sku": "h100-sxm5-80g", name: value}
    assert judge(EVERY_TYPE, answers)[1] == {name: [said]}


def test_client_is_told_everything_at_once() -> None:
    _, complaints = judge(EVERY_TYPE, {"count": 1, "host": "-", "zone": 1})
    assert set(complaints) == {"line", "count", "host", "sku", "zone"}


def test_a_made_up_name_is_shown_harmless() -> None:
    _, complaints = judge(EVERY_TYPE, {"<script>\u202e": 1, "line": "x", "count": 4, "sku": "h100-sxm5-80g"})
    assert list(complaints) == ["?script??"]


def test_text_is_kept_in_nfc_with_plain_line_ends() -> None:
    answers = {"line": " Cafe\u0301 ", "long": "a\r\nb\rc", "count": 4, "sku": "h100-sxm5-80g"}
    clean, _ = judge(EVERY_TYPE, answers)
    assert clean is not None
    assert (clean["line"], clean["long"]) == ("Caf\u00e9", "a\nb\nc")


def test_whole_numbers_of_other_kinds_are_kept_as_whole_numbers() -> None:
    clean, _ = judge(EVERY_TYPE, {"line": "x", "count": 4.0, "sku": "h100-sxm5-80g"})
    assert clean is not None
    assert type(clean["count"]) is int


def test_a_conditional_question_is_needed_only_when_asked() -> None:
    base = {"line": "x", "count": 4, "sku": "h100-sxm5-80g"}
    assert judge(EVERY_TYPE, base)[1] == {}
    assert judge(EVERY_TYPE, {**base, "mode": "other"})[1] == {"why": ["This is needed."]}
    assert judge(EVERY_TYPE, {**base, "mode": "wrong"})[1].keys() == {"mode"}
    assert judge(EVERY_TYPE, {**base, "mode": "wrong", "why": "x"})[1].keys() == {"mode"}


def test_a_key_whose_blob_says_another_type_is_refused() -> None:
    answers = {"line": "x", "count": 4, "sku": "h100-sxm5-80g", "keys_wanted": True}
    assert judge(EVERY_TYPE, {**answers, "keys": [KEY]})[1] == {}
    for forged in (KEY.replace("ssh-ed25519", "ssh-rsa"), f'command="x" {KEY}', f"{KEY}\n{KEY}"):
        assert judge(EVERY_TYPE, {**answers, "keys": [forged]})[1]["keys"][0].startswith(
            "Line 1: Public SSH keys"
        )


@pytest.mark.parametrize(
    "mount",
    [
        {"source": "nas:/x", "path": "/etc/cron.d", "fstype": "nfs4"},
        {"source": "nas:/x", "path": "/data/../etc", "fstype": "nfs4"},
        {"source": "nas:/x /y", "path": "/data/x", "fstype": "nfs4"},
        {"source": "nas:/x", "path": "/data/x", "fstype": "ext4"},
        {"source": "nas:/x", "path": "/data/x\n", "fstype": "nfs4"},
        {"source": "nas:/x", "path": "/data/x", "fstype": "nfs4", "options": "suid"},
        {"source": "{{ lookup('pipe', 'id') }}:/x", "path": "/data/x", "fstype": "nfs4"},
        "nas:/x /data/x",
    ],
)
def test_a_mount_that_could_do_harm_is_refused(mount: Any) -> None:
    answers = {"line": "x", "count": 4, "sku": "h100-sxm5-80g", "mounts": [mount]}
    assert judge(EVERY_TYPE, answers)[1].keys() == {"mounts"}


def test_nothing_can_be_picked_where_there_is_nothing() -> None:
    answers = {"line": "x", "count": 4, "sku": "h100-sxm5-80g"}
    with pytest.raises(Invalid) as caught:
        clean_answers(EVERY_TYPE, answers, live=NO_LIVE, today=TODAY)
    assert caught.value.fields == {"sku": ["There is nothing to pick from at the moment."]}
