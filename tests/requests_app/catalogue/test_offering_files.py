"""A broken file is complained about by file and line, and loads nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from requests_app.catalogue.offering_files import OFFERINGS_DIR, OfferingFileError, read_folder, read_text

GOOD = """\
slug: thing
pillar: data
kind: change
title: Thing
promise: A thing for you.
description: |
  Words.
lead_time: A day.
fulfilment: manual
effort_hours: 1
ticket_title: "Thing {what}"
schema:
  - name: what
    label: What?
    type: text
  - name: mode
    label: Mode
    type: choice
    default: a
    choices:
      - {value: a, label: A}
      - {value: b, label: B}
  - name: more
    label: More
    type: integer
    min: 1
    max: 9
    show_if: {question: mode, equals: b}
"""


def complaints(text: str, *, file: str = "thing.yaml") -> list[str]:
    with pytest.raises(OfferingFileError) as caught:
        read_text(text, file=file)
    return [str(each) for each in caught.value.complaints]


def test_shipped_offerings_are_good_and_cover_every_pillar() -> None:
    files = read_folder()
    assert {"gpu-cluster", "cluster-resize", "quota-raise", "quota-boost", "unblock", "shared-storage"} <= {
        file.slug for file in files
    }
    assert len({file.content["pillar"] for file in files}) == 5


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("title: Thing\n", "", "thing.yaml:1: 'title' is a required property"),
        ("pillar: data", "pillar: dta", "thing.yaml:2: pillar: 'dta' is not one of"),
        (
            "title: Thing\n",
            "title: Thing\ntitel: x\n",
            "thing.yaml:1: Additional properties are not allowed ('titel'",
        ),
        ("    type: text", "    type: txet", "thing.yaml:15: schema.0.type: 'txet' is not one of"),
        ("slug: thing", "slug: think", "thing.yaml:1: the slug is 'think', the file says 'thing'"),
        (
            "    default: a",
            "    default: c",
            "thing.yaml:19: mode: the default can't be an answer: Pick one of: a, b.",
        ),
        ("equals: b}", "equals: c}", "thing.yaml:28: more: 'c' is no choice of 'mode'"),
        (
            "{question: mode,",
            "{question: later,",
            "thing.yaml:28: more: there is no earlier question called 'later'",
        ),
        (
            "{question: mode,",
            "{question: what,",
            "thing.yaml:28: more: 'what' is neither a choice nor a yes or no",
        ),
        ("    min: 1", "    min: 10", "thing.yaml:26: more: min is above max"),
        ("name: mode", "name: what", "thing.yaml:16: there are two questions called 'what'"),
        ("{value: b,", "{value: a,", "thing.yaml:20: mode: two choices have the same value"),
        ("title: Thing\n", "title: Thing\ntitle: Other\n", "thing.yaml:5: the key 'title' is there twice"),
        ("{what}", "{waht}", "thing.yaml:11: there is no question called 'waht'"),
        ("    type: text", "    type: text\n    min: 3", "thing.yaml:16: what: min belongs to numbers"),
        ("    type: integer", "    type: duration", "thing.yaml:23: more: a duration is in days or in hours"),
        ("manual", "quota_raise", "thing.yaml:9: quota_raise needs a required question 'sku' of type sku"),
        (
            "manual\n",
            "manual\nquantity: {question: what, unit: TB}\n",
            "thing.yaml:10: quantity names a question",
        ),
        ("label: What?", "label: [unclosed", "thing.yaml:"),
    ],
)
def test_author_is_told_file_line_and_reason(old: str, new: str, said: str) -> None:
    assert old in GOOD
    found = complaints(GOOD.replace(old, new, 1))
    assert any(line.startswith(said) for line in found), found


def test_author_is_told_of_every_file_at_once(tmp_path: Path) -> None:
    (tmp_path / "thing.yaml").write_text(GOOD.replace("pillar: data", "pillar: x"))
    (tmp_path / "other.yaml").write_text("just a word")
    (tmp_path / "bytes.yaml").write_bytes(b"slug: \xff")
    with pytest.raises(OfferingFileError) as caught:
        read_folder(tmp_path)
    assert {each.file for each in caught.value.complaints} == {"thing.yaml", "other.yaml", "bytes.yaml"}


def test_an_empty_folder_is_no_catalogue(tmp_path: Path) -> None:
    with pytest.raises(OfferingFileError):
        read_folder(tmp_path)


def test_hash_is_of_the_content_and_not_of_its_looks() -> None:
    first = read_text(GOOD, file="thing.yaml")
    lines = GOOD.splitlines()
    moved = "\n".join(["# a comment", lines[0], *lines[2:5], lines[1], *lines[5:]])
    assert read_text(moved, file="thing.yaml").content_hash == first.content_hash
    assert (
        read_text(GOOD.replace("A day.", "Two days."), file="thing.yaml").content_hash != first.content_hash
    )


def test_every_shipped_file_is_named_by_its_slug() -> None:
    assert {path.stem for path in OFFERINGS_DIR.glob("*.yaml")} == {file.slug for file in read_folder()}
