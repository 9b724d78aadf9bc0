"""Stopping stops: whoever asks and whenever, nothing runs on and the end is told truthfully."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from django.conf import LazySettings
from django.db import connection
from django.db.models.functions import Now

from portal.embedded import processes
from provisioning.fleet.models import Node
from provisioning.jobs import containment
from provisioning.jobs.child import MARK
from provisioning.jobs.finishing import end_job
from provisioning.jobs.models import Job, JobEvent
from provisioning.jobs.services import cancel_job, run_claimed
from provisioning.jobs.states import JobAction, Reason
from tests.provisioning.jobs.conftest import Tiny, endings

pytestmark = [pytest.mark.ansible, pytest.mark.gate, pytest.mark.django_db(transaction=True)]

Nodes = Callable[..., list[Node]]
Queue = Callable[..., Job]

SLEEP = "- name: Sleep\n  ansible.builtin.command: sleep 987"


class Running:
    """A job that runs in a thread of its own, as in a worker."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.said: list[str] = []
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            self.said.append(run_claimed(self.job.pk))
        finally:
            connection.close()

    def wait_until(self, condition: Callable[[], bool], seconds: float = 240) -> None:
        assert processes.wait_until(condition, seconds), "it did not come to that"

    def until_it_sleeps(self) -> None:
        """Until the command runs on the node."""
        self.wait_until(lambda: any("sleep 987" in words for words in self.commands()))
        self.job.refresh_from_db()

    def commands(self) -> list[str]:
        """Command lines of what carries the job's mark."""
        self.job.refresh_from_db()
        found = processes.marked(MARK, self.job.mark) if self.job.mark else []
        return [" ".join(processes.command_line(each.pid)) for each in found]

    def end(self) -> str:
        self._thread.join(300)
        assert not self._thread.is_alive()
        self.job.refresh_from_db()
        return self.said[0]


@pytest.fixture
def sleeping(tiny: Tiny, make_nodes: Nodes, queue: Queue) -> Running:
    """A job in the middle of a long command on two nodes."""
    tiny.says(SLEEP)
    running = Running(queue(make_nodes(2)))
    running.until_it_sleeps()
    return running


def leaves_nothing(running: Running, settings: LazySettings) -> None:
    assert running.commands() == []
    assert list(Path(settings.JOBS_DIR).iterdir()) == []


def test_job_that_is_cancelled_ends_cancelled_and_nothing_runs_on(
    sleeping: Running, settings: LazySettings
) -> None:
    begun = time.monotonic()
    cancel_job(sleeping.job, reason="wrong nodes", by=None)
    assert sleeping.end() == "cancelled"
    assert time.monotonic() - begun < 25
    assert sleeping.job.reason_text == "It was cancelled: wrong nodes"
    assert endings(sleeping.job) == {"gpu-001": "interrupted", "gpu-002": "interrupted"}
    leaves_nothing(sleeping, settings)


def test_job_whose_worker_hands_it_back_is_queued_again(sleeping: Running, settings: LazySettings) -> None:
    Job.objects.update(hand_back=True)
    assert sleeping.end() == "queued"
    assert endings(sleeping.job) == {"gpu-001": "waiting", "gpu-002": "waiting"}
    assert "worker was stopped" in sleeping.job.waiting_for
    leaves_nothing(sleeping, settings)


def test_worker_whose_job_was_taken_over_stops_it_and_writes_nothing(
    sleeping: Running, settings: LazySettings
) -> None:
    job = Job.objects.get(pk=sleeping.job.pk)
    sleeping.wait_until(
        job.events.filter(kind="task").exists
    )  # or what it said till then would still be salvaged
    end_job(job, JobAction.LOSE, reason=Reason.WORKER_LOST, text="It was lost.")
    before = JobEvent.objects.filter(job=job).count()
    assert sleeping.end() == "fenced"
    assert sleeping.job.status == "queued"
    assert JobEvent.objects.filter(job=job).count() == before
    leaves_nothing(sleeping, settings)


def test_job_whose_child_is_killed_takes_everything_with_it_and_runs_again(
    sleeping: Running, settings: LazySettings
) -> None:
    for each in processes.marked(MARK, sleeping.job.mark):
        if "provisioning.jobs.child" in " ".join(processes.command_line(each.pid)):
            os.kill(each.pid, signal.SIGKILL)
    assert sleeping.end() == "queued"
    assert sleeping.job.attempt == 1
    leaves_nothing(sleeping, settings)


def test_job_whose_playbook_is_killed_is_told_as_stopped_early(
    sleeping: Running, settings: LazySettings
) -> None:
    for each in processes.marked(MARK, sleeping.job.mark):
        if "ansible-playbook" in " ".join(processes.command_line(each.pid)):
            processes.send(each, signal.SIGKILL, group=False)
    sleeping.end()
    assert (sleeping.job.status, sleeping.job.reason) == ("failed", "stopped_early")
    assert endings(sleeping.job) == {"gpu-001": "interrupted", "gpu-002": "interrupted"}
    leaves_nothing(sleeping, settings)


def test_job_that_was_cancelled_while_it_started_ends_cancelled(
    tiny: Tiny, make_nodes: Nodes, queue: Queue
) -> None:
    tiny.says(SLEEP)
    running = Running(queue(make_nodes(1)))
    running.wait_until(lambda: Job.objects.get(pk=running.job.pk).status != "queued")
    cancel_job(running.job, by=None)
    assert running.end() == "cancelled"
    assert running.commands() == []


def test_job_that_ended_well_before_the_stop_reached_it_has_succeeded(
    make_nodes: Nodes, queue: Queue
) -> None:
    running = Running(queue(make_nodes(1)))
    running.wait_until(lambda: JobEvent.objects.filter(job=running.job, kind="stats").exists())
    Job.objects.filter(pk=running.job.pk, ended_at=None).update(cancel_requested_at=Now())
    assert running.end() == "succeeded"


def test_stopping_leaves_nothing_without_a_namespace_too(
    tiny: Tiny, make_nodes: Nodes, queue: Queue, monkeypatch: pytest.MonkeyPatch, settings: LazySettings
) -> None:
    monkeypatch.setattr("provisioning.jobs.child_process.prefix", tuple)
    assert containment.describe()
    tiny.says(SLEEP)
    running = Running(queue(make_nodes(2)))
    running.until_it_sleeps()
    cancel_job(running.job, by=None)
    assert running.end() == "cancelled"
    leaves_nothing(running, settings)


def test_child_that_hears_nothing_from_its_worker_ends_by_itself(
    tiny: Tiny, make_nodes: Nodes, queue: Queue, monkeypatch: pytest.MonkeyPatch, settings: LazySettings
) -> None:
    """A worker that was frozen: its child must be over before somebody else runs the job."""
    monkeypatch.setattr("provisioning.jobs.child_process.ChildProcess.sign_of_life", lambda self: None)
    monkeypatch.setattr("provisioning.jobs.preparation.silence", lambda lease: 12.0)
    monkeypatch.setattr("provisioning.jobs.preparation.grace", lambda lease: 2.0)
    tiny.says(SLEEP)
    running = Running(queue(make_nodes(1)))
    assert running.end() == "queued"
    assert "no worker was heard of" in running.job.waiting_for
    leaves_nothing(running, settings)
