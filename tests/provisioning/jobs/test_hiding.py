"""A secret is taken out of all that was said, and out of nothing by which events are told apart."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portal.kernel.clock import now
from provisioning.jobs.hiding import Hiding
from provisioning.jobs.runner_events import read_event

SECRET = "hunter2-hunter2"


def failed(host: str = "gpu-00001", **result: Any) -> dict[str, Any]:
    return {
        "event": "runner_on_failed",
        "uuid": "0d1e",
        "created": "2026-11-30T10:00:00+00:00",
        "stdout": f"fatal: [{host}]: {SECRET}",
        "event_data": {
            "host": host,
            "play": f"for {SECRET}",
            "task": f"use {SECRET}",
            "task_args": f"_raw_params={SECRET}",
            "duration": 1.5,
            "res": {"msg": SECRET, "changed": True, **result},
        },
    }


def test_secret_is_taken_out_of_every_place_where_somebody_speaks() -> None:
    told = Hiding([SECRET], hosts=["gpu-00001"]).event(
        failed(
            results=[{"item": SECRET, "stderr_lines": [f"at {SECRET}"]}],
            ansible_facts={"report": {"note": SECRET}, SECRET: SECRET},
            exception=f'Traceback (most recent call last):\n  File "x", line 1\nKeyError: {SECRET!r}',
        )
    )
    assert SECRET not in str(told)


@pytest.mark.parametrize(
    "word",
    ["runner_on_failed", "gpu-00001", "2026-11-30", "changed", "report", "ansible_facts", "event_data"],
)
def test_password_that_is_a_word_of_ours_changes_nothing_of_what_happened(word: str) -> None:
    raw = failed(ansible_facts={"report": {"driver": "570"}})
    told = read_event(Hiding([word], hosts=["gpu-00001"]).event(raw), default_at=now())
    whole = read_event(raw, default_at=now())
    assert (told.kind, told.host, told.at, told.changed, told.failed) == (
        whole.kind,
        "gpu-00001",
        whole.at,
        True,
        True,
    )
    assert told.gathered() == {"report": {"driver": "570"}}


def test_statistics_count_for_nodes_whatever_they_are_called() -> None:
    raw = {
        "event": "playbook_on_stats",
        "event_data": {
            "ok": {"gpu-00001": 3, f"odd-{SECRET}": 1},
            "processed": {"gpu-00001": 1},
            "artifact_data": {"x": SECRET},
        },
    }
    told = Hiding([SECRET, "gpu-00001", "processed"], hosts=["gpu-00001"]).event(raw)
    assert told["event_data"]["ok"]["gpu-00001"] == 3
    assert told["event_data"]["processed"] == {"gpu-00001": 1}
    assert SECRET not in str(told)


def test_host_that_is_none_of_the_nodes_may_be_named_by_a_secret() -> None:
    assert Hiding([SECRET], hosts=["gpu-00001"]).event(failed(host=SECRET))["event_data"]["host"] != SECRET


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20) | st.just(f"so {SECRET} it is"),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=8) | st.just(SECRET), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(data=st.dictionaries(st.sampled_from(["res", "task", "host", "ok", "play", "x", SECRET]), VALUES))
def test_no_event_of_whatever_shape_keeps_the_secret(data: dict[str, Any]) -> None:
    for event in ("runner_on_ok", "playbook_on_stats", "odd"):
        told = Hiding([SECRET], hosts=["gpu-00001"]).event(
            {"event": event, "event_data": data, "stdout": SECRET}
        )
        assert SECRET not in str(told)
