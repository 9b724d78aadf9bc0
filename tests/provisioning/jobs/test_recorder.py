"""What is kept of a log: redacted, capped, contiguous, the same however often the spool is read."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from portal.kernel.clock import now
from provisioning.fleet.models import Node
from provisioning.jobs import caps
from provisioning.jobs.models import HostResult, Job, JobEvent
from provisioning.jobs.recorder import Recorder
from provisioning.jobs.redaction import Redactor
from provisioning.jobs.spool import SpoolReader

pytestmark = pytest.mark.django_db

Nodes = Callable[..., list[Node]]
Queue = Callable[..., Job]


def ok(host: str = "gpu-001", text: str = "ok", **result: Any) -> dict[str, Any]:
    return {
        "event": "runner_on_ok",
        "stdout": text,
        "created": "2026-11-30T10:00:00+00:00",
        "event_data": {"host": host, "task": "a task", "play": "a play", "res": result},
    }


@pytest.fixture
def job(make_nodes: Nodes, queue: Queue) -> Job:
    return queue(make_nodes(2))


@pytest.fixture
def recorder(job: Job) -> Recorder:
    return recorder_for(job)


def recorder_for(job: Job) -> Recorder:
    nodes = {row.node.name: row.node_id for row in HostResult.objects.filter(job=job).select_related("node")}
    return Recorder(job_id=job.pk, attempt=1, nodes=nodes, redactor=Redactor(["hunter2-hunter2"]))


def write(recorder: Recorder, *raw: dict[str, Any]) -> list[JobEvent]:
    for each in raw:
        recorder.take(each, at=now())
    recorder.flush()
    recorder.flushed()
    return list(JobEvent.objects.order_by("counter"))


def test_secret_is_kept_nowhere(recorder: Recorder) -> None:
    secret = "hunter2-hunter2"
    write(
        recorder,
        ok(text=f"said {secret}", msg=secret, report={"note": secret}, **{secret: 1}),
        {
            "event": "runner_on_failed",
            "stdout": f"fatal: {json.dumps(secret)}",
            "event_data": {
                "host": "gpu-002",
                "task": f"task {secret}",
                "res": {"msg": f"no {secret}", "stderr": secret},
            },
        },
        {"event": "verbose", "stdout": f"[ERROR]: {secret}"},
    )
    everything = [*JobEvent.objects.values(), *HostResult.objects.values()]
    assert secret not in str(everything)
    assert secret not in recorder.last_words
    assert "secret" in str(everything)


def test_text_that_a_database_can_not_hold_is_made_holdable(recorder: Recorder) -> None:
    odd = "a\0b \ud800 c"
    (event,) = write(recorder, ok(text=odd, msg=odd, **{odd: [odd, float("nan")]}, report={odd: odd}))
    assert event.text == "a\ufffdb ? c"
    assert "\0" not in str(HostResult.objects.get(node__name="gpu-001").data)


def test_long_text_keeps_its_head_and_its_tail_and_says_so(recorder: Recorder) -> None:
    (event,) = write(recorder, ok(text="first " + "x" * 300_000 + " last"))
    assert len(event.text.encode()) <= caps.EVENT_LIMIT
    assert event.text.startswith("first ")
    assert event.text.endswith(" last")
    assert (event.truncated, event.on_disk) == (True, True)
    assert Job.objects.get().bytes_dropped == 0, "the whole of it is on disk"


def test_large_result_is_left_out_and_says_so(recorder: Recorder) -> None:
    (event,) = write(recorder, ok(msg="x" * 300_000))
    assert event.truncated
    assert "result" not in event.data


def test_job_that_says_too_much_keeps_its_events_without_their_text(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("provisioning.jobs.recorder.JOB_LIMIT", 1000)
    events = write(recorder, *[ok(text="y" * 400) for _ in range(5)])
    assert [bool(event.text) for event in events] == [True, True, False, False, False]
    assert [event.counter for event in events] == [1, 2, 3, 4, 5]
    assert HostResult.objects.get(node__name="gpu-001").tasks_done == 5


def test_what_a_module_gathered_stays_with_its_node_and_not_in_the_log(recorder: Recorder) -> None:
    probe = {"schema": 1, "evidence": [{"stdout": "H4sI" * 60_000}]}
    (event,) = write(recorder, ok(probe=probe, changed=False))
    assert HostResult.objects.get(node__name="gpu-001").data == {"probe": probe}
    assert HostResult.objects.get(node__name="gpu-002").data == {}
    assert "H4sI" not in json.dumps(event.data)
    assert not event.truncated


def test_what_a_module_gathered_beyond_all_measure_is_left_out_and_says_so(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("provisioning.jobs.recorder.HOST_DATA_LIMIT", 1000)
    write(recorder, ok(probe={"x": "y" * 2000}))
    row = HostResult.objects.get(node__name="gpu-001")
    assert row.data_truncated
    assert list(row.data) == ["left_out"]


def test_later_events_do_not_lose_what_was_gathered(recorder: Recorder) -> None:
    write(recorder, ok(report={"driver": "570"}))
    write(recorder, ok(), ok(probe={"schema": 1}))
    assert HostResult.objects.get(node__name="gpu-001").data == {
        "report": {"driver": "570"},
        "probe": {"schema": 1},
    }


def test_spool_read_twice_is_kept_once(job: Job) -> None:
    raw = [
        ok(),
        {"event": "verbose", "stdout": "   "},
        ok("gpu-002"),
        {"event": "runner_on_start", "event_data": {}},
    ]
    first = write(recorder_for(job), *raw)
    again = write(recorder_for(job), *raw)
    assert [event.pk for event in first] == [event.pk for event in again]
    assert [event.counter for event in again] == [1, 2]


def test_lines_end_as_everywhere_else(recorder: Recorder) -> None:
    (event,) = write(recorder, ok(text="\r\nTASK [x]\r\nline\r\n"))
    assert event.text == "TASK [x]\nline"


def test_error_that_came_first_explains_why_nothing_began(recorder: Recorder) -> None:
    write(
        recorder,
        {"event": "verbose", "stdout": "\x1b[0;34mUsing a config\x1b[0m"},
        {"event": "verbose", "stdout": "\x1b[0;31m[ERROR]: couldn't resolve module\x1b[0m"},
        {"event": "verbose", "stdout": "\x1b[0;31m3     - name: Odd\x1b[0m"},
    )
    assert recorder.last_words == "couldn't resolve module"


def test_spool_gives_whole_lines_only_and_keeps_the_end_apart(tmp_path: Path) -> None:
    path = tmp_path / "events.spool"
    reader = SpoolReader(path)
    assert list(reader.new_events()) == []
    with path.open("wb") as file:
        file.write(b'{"event": "a"}\n{"event": "b"')
        file.flush()
        assert list(reader.new_events()) == [{"event": "a"}]
        file.write(b'}\nnot json\n[1]\n{"end": {"rc": 0}}\n{"torn')
        file.flush()
        assert list(reader.new_events()) == [{"event": "b"}]
    assert reader.end == {"rc": 0}
    assert reader.unreadable == 2
    reader.close()
