"""Is what a node sends unpacked safely, and is every way of sending nothing told apart?"""

from __future__ import annotations

import base64
import gzip
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from provisioning.validation.evidence import MAX_RAW_BYTES, Outcome, Probe, pack, read_probe
from tests.provisioning.validation.healthy import evidence, probe


def lone(**changed: Any) -> Probe:
    return read_probe({"schema": 1, "node": "n", "evidence": [evidence("kernel", b"6.8\n") | changed]})


@settings(max_examples=50)
@given(raw=st.binary(max_size=2000))
def test_what_is_packed_comes_back_whole(raw: bytes) -> None:
    found = lone(stdout=pack(raw)).evidence[0]
    assert (found.outcome, found.stdout) == (Outcome.RAN, raw)


def test_bytes_packed_by_pythons_gzip_are_read_too() -> None:
    assert lone(stdout=base64.b64encode(gzip.compress(b"hello")).decode()).evidence[0].stdout == b"hello"


@pytest.mark.parametrize("word", ["missing", "timed_out", "failed_to_start"])
def test_a_tool_that_did_not_run_has_its_outcome_and_no_output(word: str) -> None:
    found = lone(outcome=word).evidence[0]
    assert (found.outcome.value, found.stdout) == (word, b"")


@pytest.mark.parametrize(
    ("stdout", "said"),
    [
        (None, "no output"),
        ("not base64!", "not base64"),
        (base64.b64encode(b"not gzip").decode(), "not gzip"),
        (pack(b"hello world" * 50)[:40], "cut off"),
        ("A" * (5 * 1024 * 1024), "over the limit"),
    ],
)
def test_output_that_cannot_be_unpacked_is_unreadable_and_not_empty(stdout: object, said: str) -> None:
    found = lone(stdout=stdout)
    assert found.evidence[0].outcome is Outcome.UNREADABLE
    assert said in found.problems[0]


def test_a_gzip_bomb_is_refused_before_it_unfolds() -> None:
    found = lone(stdout=pack(b"\0" * (MAX_RAW_BYTES + 1)))
    assert found.evidence[0].outcome is Outcome.UNREADABLE
    assert "more than" in found.problems[0]


def test_many_bombs_share_one_limit() -> None:
    row = evidence("kernel", b"\0" * (MAX_RAW_BYTES - 1))
    found = read_probe({"schema": 1, "evidence": [row] * 6})
    assert [one.outcome for one in found.evidence].count(Outcome.UNREADABLE) >= 2


@pytest.mark.parametrize(
    "data",
    [None, [], "probe", {}, {"schema": 2, "evidence": []}, {"schema": 1}, {"schema": 1, "evidence": {}}],
)
def test_something_that_is_no_probe_is_a_problem_and_no_crash(data: object) -> None:
    found = read_probe(data)
    assert found.evidence == ()
    assert len(found.problems) == 1


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=15,
)


@settings(max_examples=100)
@given(
    row=st.dictionaries(
        st.sampled_from(["id", "run", "rc", "outcome", "stdout", "seconds", "command", "stderr"]), json_values
    )
)
def test_any_json_in_a_row_is_read_without_raising(row: dict[str, object]) -> None:
    read_probe({"schema": 1, "node": row.get("id"), "evidence": [row]})


def test_a_probe_says_that_its_node_is_simulated_only_when_it_is_true() -> None:
    assert read_probe(probe()).simulated is True
    assert read_probe(probe() | {"simulated": "yes"}).simulated is False
