"""A log of any length: read from either end, filtered, searched, outlined and downloaded, with what lies on disk in its place."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from portal.accounts.models import User
from provisioning.fleet.models import Node
from provisioning.jobs import log_view
from provisioning.jobs.log_filter import LogFilter
from provisioning.jobs.models import Job
from provisioning.jobs.outline import hosts_of_task, outline
from tests.provisioning.jobs.test_views import HTMX, ended, get, log, result, task

pytestmark = pytest.mark.django_db

Nodes = Callable[..., list[Node]]
Queue = Callable[..., Job]


def play(name: str) -> dict[str, Any]:
    return {"event": "playbook_on_play_start", "stdout": f"PLAY [{name}]", "event_data": {"play": name}}


@pytest.fixture
def job(make_nodes: Nodes, queue: Queue) -> Job:
    """Two tasks on two nodes; the second one fails on gpu-002."""
    job = ended(queue(make_nodes(2)))
    log(
        job,
        play("Provision"),
        task("One"),
        result("gpu-001", "ok: [gpu-001] calm"),
        result("gpu-002", "changed: [gpu-002] Needle", changed=True),
        task("Two"),
        result("gpu-001", "ok: [gpu-001]"),
        result("gpu-002", "fatal: [gpu-002]", "runner_on_failed", msg="no"),
    )
    return job


def texts(piece: log_view.Piece) -> list[str]:
    return [str(line.html) for each in piece.tasks for line in each.lines]


@pytest.mark.parametrize(
    ("only", "found"),
    [
        (LogFilter(host="gpu-002"), ["changed: [gpu-002] Needle", "fatal: [gpu-002]"]),
        (LogFilter(only="failed"), ["fatal: [gpu-002]"]),
        (LogFilter(only="changed"), ["changed: [gpu-002] Needle"]),
        (LogFilter(words="needle"), ["changed: [gpu-002] Needle"]),
        (LogFilter(words="needle", host="gpu-001"), []),
        (LogFilter(words="50%_"), []),
    ],
)
def test_log_is_filtered_by_node_by_what_happened_and_by_words(
    only: LogFilter, found: list[str], job: Job
) -> None:
    piece = log_view.piece(job, 1, 0, only=only)
    assert texts(piece) == found
    assert piece.ended


def test_line_that_a_filter_leaves_alone_says_which_task_it_belongs_to(job: Job) -> None:
    piece = log_view.piece(job, 1, 0, only=LogFilter(host="gpu-002"))
    assert [(each.title, each.continued) for each in piece.tasks] == [("One", True), ("Two", True)]


def test_filter_that_there_is_not_is_refused(job: Job, client: Client, operator: User) -> None:
    assert get(client, operator, f"/jobs/{job.ref}/?only=odd").status_code == 422
    assert get(client, operator, f"/jobs/{job.ref}/?q={'x' * 201}").status_code == 422


def test_log_is_read_backwards_to_its_beginning(make_nodes: Nodes, queue: Queue) -> None:
    job = ended(queue(make_nodes(1)))
    log(job, task("One"), *[result("gpu-001", f"line {number}") for number in range(700)])
    lines: list[str] = []
    before = 702
    while True:
        piece = log_view.piece_before(job, 1, before)
        lines = texts(piece) + lines
        assert all(len(each.lines) <= 300 for each in piece.tasks)
        if piece.after == 0:
            break
        before = piece.after + 1
    assert lines == [f"line {number}" for number in range(700)]


def test_page_opens_at_the_end_when_asked(
    make_nodes: Nodes, queue: Queue, client: Client, operator: User
) -> None:
    job = ended(queue(make_nodes(1)))
    log(job, task("One"), *[result("gpu-001", f"line {number}.") for number in range(700)])
    page = get(client, operator, f"/jobs/{job.ref}/?end=1").content.decode()
    assert "line 699." in page
    assert "line 300." not in page
    assert "Earlier" in page


def test_outline_counts_events_and_failures_of_each_task(job: Job) -> None:
    (provision,) = outline(job, 1)
    assert provision.title == "Provision"
    assert [(each.title, each.events, each.failed) for each in provision.tasks] == [
        ("One", 2, 0),
        ("Two", 2, 1),
    ]


def test_task_is_told_by_node_failures_first(job: Job) -> None:
    assert [(each.node, each.ending) for each in hosts_of_task(job, 1, 5)] == [
        ("gpu-002", "failed"),
        ("gpu-001", "ok"),
    ]
    assert [(each.node, each.ending) for each in hosts_of_task(job, 1, 2)] == [
        ("gpu-001", "ok"),
        ("gpu-002", "changed"),
    ]


def test_outline_is_a_page_and_a_fragment(job: Job, client: Client, operator: User) -> None:
    page = get(client, operator, f"/jobs/{job.ref}/outline").content.decode()
    assert "<html" in page
    part = get(client, operator, f"/jobs/{job.ref}/outline?head=5", **HTMX).content.decode()
    assert "<html" not in part
    assert 'data-state="failed"' in part


def test_what_lies_on_disk_is_shown_found_and_downloaded(
    make_nodes: Nodes, queue: Queue, client: Client, operator: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("provisioning.jobs.recorder.JOB_LIMIT", 300)
    job = ended(queue(make_nodes(1)))
    big = "x" * 90_000
    log(
        job,
        task("One"),
        result("gpu-001", "kept " * 40),
        result("gpu-001", "on disk: needle", msg="whole"),
        result("gpu-001", f"begin {big} end"),
    )
    page = get(client, operator, f"/jobs/{job.ref}/").content.decode()
    assert "on disk: needle" in page
    assert f'href="/jobs/{job.ref}/log/1/4">all of it' in page
    assert texts(log_view.piece(job, 1, 0, only=LogFilter(words="NEEDLE"))) == ["on disk: needle"]
    assert client.get(f"/jobs/{job.ref}/log/1/4").content.decode() == f"begin {big} end"
    text = b"".join(client.get(f"/jobs/{job.ref}/log.txt")).decode()  # type: ignore[arg-type]
    assert f"begin {big} end\n" in text
    assert "[shortened]" not in text
    rows = [json.loads(line) for line in b"".join(client.get(f"/jobs/{job.ref}/log.ndjson")).splitlines()]  # type: ignore[arg-type]
    assert [row["counter"] for row in rows] == [1, 2, 3, 4]
    assert rows[2]["details"]["result"] == {"msg": "whole"}
    assert not any(row["truncated"] for row in rows)


def test_event_that_there_is_not_is_not_found(job: Job, client: Client, operator: User) -> None:
    assert get(client, operator, f"/jobs/{job.ref}/log/1/99").status_code == 404


def test_replay_begins_with_nothing(job: Job, client: Client, operator: User) -> None:
    page = get(client, operator, f"/jobs/{job.ref}/?replay=10").content.decode()
    assert "replayed at 10 times its speed" in page
    assert "Needle" not in page
    assert "replay=10" in page
