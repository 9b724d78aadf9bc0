"""A cancel may come at any moment of a job's life: it ends ok or cancelled, its nodes agree, and it is told once."""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db.models.functions import Now

from portal.kernel.errors import PortalError
from portal.ledger.models import Event
from provisioning.fleet.models import Node
from provisioning.jobs import attempts, claims, playbooks, watch
from provisioning.jobs.child_process import ChildProcess
from provisioning.jobs.models import HostResult, Job, NodeLease
from provisioning.jobs.preparation import Prepared
from provisioning.jobs.services import cancel_job
from provisioning.jobs.supervisor import run_claimed
from provisioning.jobs.workspace import Workspace

pytestmark = pytest.mark.django_db

RUNS = int(os.environ.get("QM_TESTS_CANCELS", "100"))  # noqa: TID251 - a test's own
"""A boundary each; QM_TESTS_CANCELS=1000 takes some minutes."""
STATS = {"ok": {"gpu-001": 2}, "processed": {"gpu-001": 1}}


def script() -> list[dict[str, Any]]:
    """What the playbook says, event by event."""
    data = {"play": "a play", "task": "a task", "host": "gpu-001"}
    return [
        {"event": "playbook_on_start", "stdout": ""},
        {"event": "playbook_on_play_start", "stdout": "PLAY", "event_data": {"play": "a play"}},
        *[
            each
            for _ in range(2)
            for each in (
                {"event": "playbook_on_task_start", "stdout": "TASK", "event_data": {**data, "host": ""}},
                {"event": "runner_on_start", "stdout": "", "event_data": data},
                {"event": "runner_on_ok", "stdout": "ok", "event_data": {**data, "res": {}}},
            )
        ],
        {"event": "playbook_on_stats", "stdout": "RECAP", "event_data": STATS},
    ]


class Scripted:
    """A child that says a line whenever it is waited for, and ends when it was told to or has said all."""

    def __init__(self, space: Workspace, happens: Callable[[], None]) -> None:
        self._file = space.spool.open("ab")
        self._left: Iterator[dict[str, Any]] = iter(script())
        self._happens, self._why = happens, ""
        self.ended = False

    def __enter__(self) -> Scripted:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def wait(self, seconds: float) -> None:
        self._happens()
        told = None if self._why else next(self._left, None)
        if told is None:
            status = "stopped" if self._why else "successful"
            self._say(
                {"end": {"rc": None if self._why else 0, "status": status, "why": self._why, "lost": 0}}
            )
            self.ended = True
        else:
            self._say(told)

    def _say(self, told: dict[str, Any]) -> None:
        self._file.write(json.dumps(told).encode() + b"\n")
        self._file.flush()

    def stop(self, why: str) -> None:
        self._why = why

    def go(self) -> None:
        self._happens()

    def sign_of_life(self) -> None:
        self._happens()

    def kill(self) -> None:
        self.ended = True

    def last_words(self) -> str:
        return ""


def test_jobs_cancelled_at_any_moment_are_ok_or_cancelled_and_never_both(
    make_nodes: Callable[..., list[Node]],
    queue: Callable[..., Job],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    die, seen = random.Random(21), Counter[tuple[str, str]]()
    nodes = make_nodes(1)
    job, moment = Job(), 0

    def happens() -> None:
        """One more boundary was reached; at the chosen one somebody cancels, half of them twice."""
        nonlocal moment
        moment -= 1
        if moment == 0:
            for _ in range(die.randint(1, 2)):
                try:
                    cancel_job(job, by=None)
                except PortalError:
                    assert Job.objects.get(pk=job.pk).is_ended

    def prepare(job: Job, held: claims.Claim) -> Prepared:
        happens()
        folder = tmp_path / held.mark
        folder.mkdir()
        facts = {"playbook_hash": "", "inventory_hash": "", "versions": {}, "expected_tasks": 2}
        space = Workspace(folder=folder, control_dir=folder / "c")
        book = playbooks.REGISTRY["tiny"]
        return Prepared(space=space, book=book, nodes={"gpu-001": nodes[0].pk}, facts=facts, month=job.month)

    inner = attempts.Attempt._conclusion

    def conclusion(*words: Any) -> Any:
        happens()
        return inner(*words)

    monkeypatch.setattr(attempts, "prepare", prepare)
    monkeypatch.setattr(attempts.Attempt, "_conclusion", conclusion)
    monkeypatch.setattr(ChildProcess, "started", lambda space, **_: Scripted(space, happens))
    monkeypatch.setattr(watch, "FLUSH_EVERY", 0.05)
    monkeypatch.setattr(watch, "ASK_EVERY", 0.0)
    for _ in range(RUNS):
        job, moment = queue(nodes), die.randint(0, 17)
        happens()
        said = run_claimed(job.pk)
        happens()
        job.refresh_from_db()
        ending = HostResult.objects.get(job=job, attempt=1).ending
        assert said in {job.status, ""}
        assert Event.objects.filter(name="job.finished", subject=job.ref).count() == 1
        seen[job.status, ending] += 1
        NodeLease.objects.filter(job=job, released_at=None).update(released_at=Now())
    assert sum(seen.values()) == RUNS
    assert set(seen) <= {
        ("succeeded", "ok"),
        ("cancelled", "interrupted"),
        ("cancelled", "not_attempted"),
    }, seen
    assert min(seen.values()) > RUNS / 50, seen
