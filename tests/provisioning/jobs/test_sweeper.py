"""What a lost worker or a lost message left is settled by whoever looks next."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.db.models.functions import Now

from portal.embedded import processes
from provisioning.fleet.models import Node
from provisioning.jobs import adoption, claims, sweeper, tasks, workspace
from provisioning.jobs.child import MARK
from provisioning.jobs.models import Job
from provisioning.jobs.preparation import owner
from provisioning.jobs.services import cancel_job
from tests.provisioning.jobs.conftest import endings

pytestmark = pytest.mark.django_db

Nodes = Callable[..., list[Node]]
Queue = Callable[..., Job]


@pytest.fixture
def rung(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Refs of the jobs that were announced."""
    refs: list[str] = []
    monkeypatch.setattr(tasks.run, "apply_async", lambda args, **more: refs.append(args[0]))
    return refs


def lost(job: Job) -> claims.Claim:
    """A claim whose worker has been silent for longer than its lease."""
    held = claims.claim(job.pk, worker="elsewhere:1/2")
    assert held is not None
    Job.objects.filter(pk=job.pk).update(lease_until=Now() - timedelta(seconds=1))
    return held


def test_job_whose_lease_ran_out_is_queued_again(make_nodes: Nodes, queue: Queue, rung: list[str]) -> None:
    job = queue(make_nodes(1))
    lost(job)
    assert adoption.settle_lost() == 1
    job.refresh_from_db()
    assert (job.status, job.attempt) == ("queued", 1)
    assert "elsewhere:1/2" in job.waiting_for
    assert endings(job) == {"gpu-001": "waiting"}


def test_job_whose_lease_holds_is_left_alone(make_nodes: Nodes, queue: Queue) -> None:
    job = queue(make_nodes(1))
    claims.claim(job.pk, worker="w")
    assert adoption.settle_lost() == 0


def test_job_whose_lost_worker_was_to_cancel_it_ends_as_cancelled(make_nodes: Nodes, queue: Queue) -> None:
    job = queue(make_nodes(1))
    held = lost(job)
    cancel_job(job, by=None)
    assert held.attempt == 1
    assert adoption.settle_lost() == 1
    job.refresh_from_db()
    assert (job.status, job.reason) == ("cancelled", "user")


def test_what_a_lost_attempt_left_running_is_ended_before_the_job_runs_again(
    make_nodes: Nodes, queue: Queue
) -> None:
    job = queue(make_nodes(1))
    held = lost(job)
    stray = subprocess.Popen(
        [sys.executable, "-c", "import time; print('up', flush=True); time.sleep(600)"],
        env={**os.environ, MARK: held.mark},  # noqa: TID251 - a process needs its environment
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert stray.stdout is not None
    stray.stdout.readline()
    assert [each.pid for each in processes.marked(MARK, held.mark)] == [stray.pid]
    adoption.settle_lost()
    assert stray.wait(10) < 0
    stray.stdout.close()


def test_job_that_nobody_heard_of_is_announced_again_but_not_at_once(
    make_nodes: Nodes, queue: Queue, rung: list[str]
) -> None:
    job = queue(make_nodes(1))
    assert sweeper.ring_unheard() == 1
    assert sweeper.ring_unheard() == 0
    Job.objects.update(announced_at=Now() - timedelta(seconds=6))
    assert sweeper.ring_unheard() == 1
    assert rung == [job.ref, job.ref]


def test_job_that_waits_for_a_node_is_not_announced_but_says_so(
    make_nodes: Nodes, queue: Queue, rung: list[str]
) -> None:
    nodes = make_nodes(1)
    first, second = queue(nodes), queue(nodes)
    claims.claim(first.pk, worker="w")
    assert sweeper.ring_unheard() == 0
    second.refresh_from_db()
    assert second.waiting_for == f"Waits for gpu-001, which {first.ref} holds."


def test_sentence_goes_when_the_node_is_free_again(make_nodes: Nodes, queue: Queue, rung: list[str]) -> None:
    nodes = make_nodes(1)
    first, second = queue(nodes), queue(nodes)
    lost(first)
    claims.claim(second.pk, worker="w")
    cancel_job(first, by=None)
    sweeper.sweep()
    assert second.ref in rung


def test_folder_of_an_attempt_that_is_over_is_removed_when_it_is_old(
    make_nodes: Nodes, queue: Queue, settings: LazySettings
) -> None:
    job = queue(make_nodes(1))
    held = claims.claim(job.pk, worker="w")
    assert held is not None
    jobs_dir = Path(settings.JOBS_DIR)
    live = workspace.create(jobs_dir, held.mark, owner=owner()).folder
    over = workspace.create(jobs_dir, workspace.new_mark(job.pk, 7), owner=owner()).folder
    fresh = workspace.create(jobs_dir, workspace.new_mark(job.pk, 8), owner=owner()).folder
    others = workspace.create(jobs_dir, workspace.new_mark(job.pk, 9), owner="another database").folder
    for folder in (live, over, others):
        os.utime(folder, (0, 0))
    sweeper.remove_old_folders()
    assert not over.exists()
    assert live.exists()
    assert fresh.exists()
    assert others.exists()
    for folder in (live, fresh, others):
        workspace.at(folder).remove()


def test_worker_that_stops_asks_only_for_its_own_jobs_back(make_nodes: Nodes, queue: Queue) -> None:
    nodes = make_nodes(3)
    names = {"host-a:10/11": True, "host-a:12/13": False, "host-b:10/11": False}
    jobs: dict[str, Any] = {}
    for node, name in zip(nodes, names, strict=True):
        jobs[name] = queue([node])
        claims.claim(jobs[name].pk, worker=name)
    assert adoption.hand_back("host-a", 10) == 1
    for name, job in jobs.items():
        job.refresh_from_db()
        assert job.hand_back is names[name]
