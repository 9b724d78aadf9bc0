"""Whatever stops a job, and wherever it stands: it ends truthfully, nothing of it runs on, and its nodes are free or draining."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.db import OperationalError, connection
from django.db.models.functions import Now

from portal.embedded import processes
from portal.ledger.models import Event
from provisioning.fleet.models import Node
from provisioning.jobs import adoption, attempts, child_process, claims, looking, watch
from provisioning.jobs.attempts import Attempt
from provisioning.jobs.child import MARK, NODE_MARK
from provisioning.jobs.models import HostResult, Job, NodeLease
from provisioning.jobs.services import cancel_job, force_stop, run_claimed
from tests.provisioning.jobs.conftest import Tiny

pytestmark = [pytest.mark.ansible, pytest.mark.django_db(transaction=True)]

Nodes = Callable[..., list[Node]]
Queue = Callable[..., Job]

SLEEP = "- name: Sleep\n  ansible.builtin.shell: touch {{ simulated_node_dir }}.asleep; exec sleep 987\n"
GREET = "- name: Greet\n  ansible.builtin.debug:\n    msg: hello\n"
PLAYBOOKS = {
    "running local": "- name: Wait here\n  ansible.builtin.pause:\n    seconds: 987\n" + GREET,
    "running remote": SLEEP + GREET,
    "last task": GREET + SLEEP,
}
NODES = {"running remote": 1}
"""Two, but where one says as much: starting Ansible's modules is what these tests spend their time on."""
BEFORE = ("claimed", "spawning")
DURING = tuple(PLAYBOOKS)
AFTER = "after stats"


@dataclass(frozen=True)
class Outcome:
    """The job's state, the endings its nodes may have in attempt 1, and whether they drain."""

    state: str
    endings: frozenset[str]
    drains: bool


ALONE = {"running local": {"not_attempted"}}
"""Ansible pauses once for all nodes: the others have not begun."""
UNTOUCHED = frozenset({"not_attempted"})
CUT = frozenset({"interrupted"})
DONE = Outcome("succeeded", frozenset({"ok"}), drains=False)
OUTCOMES: dict[tuple[str, str], Outcome] = {
    **{(stage, "cancel"): Outcome("cancelled", UNTOUCHED, drains=False) for stage in BEFORE},
    **{(stage, "force"): Outcome("cancelled", UNTOUCHED, drains=False) for stage in BEFORE},
    **{(stage, "worker SIGTERM"): Outcome("queued", UNTOUCHED, drains=False) for stage in BEFORE},
    **{(stage, "worker SIGKILL"): Outcome("queued", UNTOUCHED, drains=False) for stage in BEFORE},
    **{(stage, "database restart"): Outcome("queued", UNTOUCHED, drains=False) for stage in BEFORE},
    # It left no line behind: that says nothing, for it may have been frozen while its playbook was at work.
    ("spawning", "child SIGKILL"): Outcome("queued", CUT, drains=True),
    **{(stage, "cancel"): Outcome("cancelled", CUT, drains=True) for stage in DURING},
    **{(stage, "force"): Outcome("cancelled", CUT, drains=True) for stage in DURING},
    **{(stage, "deadline"): Outcome("timed_out", CUT, drains=True) for stage in DURING},
    **{(stage, "idle"): Outcome("timed_out", CUT, drains=True) for stage in DURING},
    **{(stage, "worker SIGTERM"): Outcome("queued", CUT, drains=True) for stage in DURING},
    **{(stage, "child SIGKILL"): Outcome("queued", CUT, drains=True) for stage in DURING},
    # These two cost nothing: the job goes on, and only a cancel ends it here.
    **{(stage, "worker SIGKILL"): Outcome("cancelled", CUT, drains=True) for stage in DURING},
    **{(stage, "database restart"): Outcome("cancelled", CUT, drains=True) for stage in DURING},
    **{
        (AFTER, stop): DONE
        for stop in (
            "cancel",
            "deadline",
            "idle",
            "worker SIGTERM",
            "worker SIGKILL",
            "child SIGKILL",
            "database restart",
        )
    },
    # Its end was not on record yet, and force takes the record away from who would have written it.
    (AFTER, "force"): Outcome("cancelled", CUT, drains=True),
}


class Died(claims.Adopted):
    """As a process that is killed: it does nothing more, not even tidy up."""


class Worker:
    """Runs one job in a thread, up to a stage at which it waits for what happens to it."""

    def __init__(self, stage: str, job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
        self.stage, self.job = stage, job
        self.watch: watch.Watch | None = None
        self.dies = False
        self.became = ""
        self.answers = 0
        self._reached, self._leave = threading.Event(), threading.Event()
        self._wrap(monkeypatch, attempts, "prepare", "claimed")
        self._wrap(monkeypatch, Attempt, "_start", "spawning")
        self._wrap(monkeypatch, Attempt, "_conclusion", AFTER)
        self._spy(monkeypatch)
        self._thread = threading.Thread(target=self._work)
        self._thread.start()

    def _wrap(self, monkeypatch: pytest.MonkeyPatch, where: Any, name: str, stage: str) -> None:
        inner = getattr(where, name)

        def held(*words: Any, **more: Any) -> Any:
            if self.stage == stage and threading.current_thread() is self._thread:
                self._reached.set()
                assert self._leave.wait(300)
                if self.dies:
                    raise Died
            return inner(*words, **more)

        monkeypatch.setattr(where, name, held)

    def _spy(self, monkeypatch: pytest.MonkeyPatch) -> None:
        begin, wait = watch.Watch.__init__, child_process.ChildProcess.wait
        listen = watch.Watch._listen
        monkeypatch.setattr(watch, "ASK_EVERY", 0.1)
        monkeypatch.setattr(watch, "FLUSH_EVERY", 0.1)

        def remembered(this: watch.Watch, *words: Any, **more: Any) -> None:
            begin(this, *words, **more)
            if threading.current_thread() is self._thread:
                self.watch = this

        def waits(this: child_process.ChildProcess, seconds: float) -> None:
            if self.dies and self.stage in DURING and threading.current_thread() is self._thread:
                raise Died
            wait(this, seconds)

        def heard(this: watch.Watch, wishes: claims.Wishes) -> None:
            self.answers += 1
            listen(this, wishes)

        monkeypatch.setattr(watch.Watch, "__init__", remembered)
        monkeypatch.setattr(watch.Watch, "_listen", heard)
        monkeypatch.setattr(child_process.ChildProcess, "wait", waits)

    def _work(self) -> None:
        try:
            self.became = run_claimed(self.job.pk)
        except OperationalError:
            self.became = "the database was away"
        finally:
            connection.close()

    def until_there(self) -> None:
        there = self._is_at_work if self.stage in DURING else self._reached.is_set
        assert processes.wait_until(there, 240), self.stage

    def _is_at_work(self) -> bool:
        self.job.refresh_from_db()
        if self.stage == "running local":
            return HostResult.objects.filter(job=self.job, last_task="Wait here").exists()
        sleeping = {result.node.simulated_node_dir for result in self.job.host_results.select_related("node")}
        return self.watch is not None and all(Path(f"{node}.asleep").exists() for node in sleeping)

    def ends(self) -> str:
        self._leave.set()
        self._thread.join(300)
        assert not self._thread.is_alive()
        return self.became


def commands(mark: str) -> list[str]:
    """Of what carries the mark on this machine or, which is the same here, on a node."""
    found = [*processes.marked(MARK, mark), *processes.marked(NODE_MARK, mark)] if mark else []
    return [" ".join(processes.command_line(each.pid)) for each in found]


def cancel(worker: Worker) -> None:
    cancel_job(worker.job, reason="enough", by=None)


def force(worker: Worker) -> None:
    force_stop(worker.job, reason="at once", by=None)


def deadline(worker: Worker) -> None:
    if worker.watch is not None:
        worker.watch.book = replace(worker.watch.book, timeout=timedelta(0))


def idle(worker: Worker) -> None:
    """Whatever is still to be heard of it: no silence is short enough from now on."""
    if worker.watch is not None:
        worker.watch.book = replace(worker.watch.book, idle=timedelta(0))


def end_worker(worker: Worker) -> None:
    machine, _, pids = Job.objects.get(pk=worker.job.pk).claimed_by.partition(":")
    assert adoption.hand_back(machine, int(pids.partition("/")[0])) == 1


def kill_worker(worker: Worker) -> None:
    worker.dies = True


def kill_child(worker: Worker) -> None:
    worker.job.refresh_from_db()
    for each in processes.marked(MARK, worker.job.mark):
        if "provisioning.jobs.child" in " ".join(processes.command_line(each.pid)):
            os.kill(each.pid, signal.SIGKILL)


def restart_database(_: object = None) -> None:
    """As its clients see it."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


STOPS: dict[str, Callable[[Worker], None]] = {
    "cancel": cancel,
    "force": force,
    "deadline": deadline,
    "idle": idle,
    "worker SIGTERM": end_worker,
    "worker SIGKILL": kill_worker,
    "child SIGKILL": kill_child,
    "database restart": restart_database,
}


def settle(worker: Worker, how: str, kept: list[claims.Claim]) -> None:
    """What the sweep does when the lease is out, and what a person does to a job that goes on."""
    job = worker.job
    Job.objects.filter(pk=job.pk, status__in=["claimed", "running"]).update(
        claimed_by=f"{socket.gethostname()[:80]}:999999/1", lease_until=Now() - timedelta(seconds=1)
    )
    adoption.settle_lost()
    if kept and worker.stage in DURING:
        job.refresh_from_db()
        assert (job.status, job.adoptions) == ("running", 1)
        assert commands(job.mark), "its child goes on"
        cancel_job(job, by=None)
    for held in kept:
        adoption.keep(held)
    job.refresh_from_db()


def _cases() -> list[Any]:
    """Where a playbook is at work the version of Ansible matters: those are tried on the oldest one too."""
    return [
        pytest.param(
            stage, how, id=f"{stage}-{how}".replace(" ", "-"), marks=[pytest.mark.gate] * (stage in DURING)
        )
        for stage, how in sorted(OUTCOMES)
    ]


@pytest.mark.parametrize(("stage", "how"), _cases())
def test_stop(
    stage: str,
    how: str,
    tiny: Tiny,
    make_nodes: Nodes,
    queue: Queue,
    monkeypatch: pytest.MonkeyPatch,
    settings: LazySettings,
) -> None:
    kept: list[claims.Claim] = []
    monkeypatch.setattr(adoption, "start_keeper", kept.append)
    tiny.says(PLAYBOOKS.get(stage, GREET))
    nodes = NODES.get(stage, 2)
    worker = Worker(stage, queue(make_nodes(nodes)), monkeypatch)
    worker.until_there()
    STOPS[how](worker)
    if stage in DURING and how == "database restart":
        before = worker.answers
        assert processes.wait_until(lambda: worker.answers > before, 120), "it goes on"
        assert worker.became == ""
        cancel_job(worker.job, by=None)
    worker.ends()
    settle(worker, how, kept)

    wanted, job = OUTCOMES[stage, how], worker.job
    assert (job.status, job.attempt) == (wanted.state, 1), job.reason_text
    endings = HostResult.objects.filter(job=job, attempt=1).values_list("ending", flat=True)
    assert set(endings) - ALONE.get(stage, set()) == wanted.endings
    assert Event.objects.filter(name="job.finished", subject=job.ref).count() == int(wanted.state != "queued")
    assert processes.wait_until(lambda: not commands(job.mark), 10), commands(job.mark)
    assert list(Path(settings.JOBS_DIR).glob("*")) == []
    held = list(NodeLease.objects.filter(released_at=None).values_list("draining_since", flat=True))
    assert len(held) == (nodes if wanted.drains else 0)
    assert None not in held


def test_matrix_has_every_stop_at_every_stage_where_it_means_something() -> None:
    """The clocks of a job run from its start, and a job that is only claimed has no child."""
    missing = {(stage, how) for stage in (*BEFORE, *DURING, AFTER) for how in STOPS} - set(OUTCOMES)
    assert missing == {
        *((stage, how) for stage in BEFORE for how in ("deadline", "idle")),
        ("claimed", "child SIGKILL"),
    }


@pytest.mark.parametrize("how", ["cancel", "force"])
def test_queued_job_ends_when_somebody_stops_it(how: str, make_nodes: Nodes, queue: Queue) -> None:
    job = queue(make_nodes(1))
    stop = {"cancel": cancel_job, "force": force_stop}[how]
    assert stop(job, reason="enough", by=None).status == "cancelled"
    assert run_claimed(job.pk) == ""


def test_queued_job_is_touched_by_nothing_else(tiny: Tiny, make_nodes: Nodes, queue: Queue) -> None:
    tiny.says(GREET)
    job = queue(make_nodes(1))
    assert adoption.hand_back(socket.gethostname()[:80], os.getpid()) == 0
    assert adoption.settle_lost() == 0
    restart_database()
    job.refresh_from_db()
    assert (job.status, job.attempt) == ("queued", 0)
    assert run_claimed(job.pk) == "succeeded"
    assert looking.prove_quiet() == 0
