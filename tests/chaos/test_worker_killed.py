"""A worker that is killed in the middle of a playbook loses no job, uses no node twice, and leaves no process."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from portal.embedded import processes
from portal.kernel.clock import now
from portal.ledger.models import Event
from provisioning.fleet.models import Node
from provisioning.jobs.child import MARK
from provisioning.jobs.models import HostResult, Job, NodeLease
from tests.chaos.workers import LEASE, Worker, wait_until
from tests.provisioning.jobs.conftest import Tiny, endings

pytestmark = [pytest.mark.ansible, pytest.mark.django_db(transaction=True)]

PLAYBOOK = """
- name: Begin
  ansible.builtin.shell: echo "begin {{ attempt }}" >> {{ simulated_node_dir }}.log
- name: Work for a while
  ansible.builtin.shell: |
    while [ ! -e {{ simulated_node_dir }}.go ]; do sleep 0.1; done; echo "end {{ attempt }}" >> {{ simulated_node_dir }}.log
"""


def node_log(tmp_path: Path) -> list[str]:
    """What the node itself saw."""
    path = tmp_path / "gpu-001.log"
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def strays(marks: set[str]) -> list[str]:
    found = [each for mark in marks for each in processes.marked(MARK, mark)]
    return [" ".join(processes.command_line(each.pid)) for each in found]


def test_job_of_a_killed_worker_goes_on_and_touches_its_node_once(
    tiny: Tiny,
    make_nodes: Callable[..., list[Node]],
    queue: Callable[..., Job],
    start_worker: Callable[[], Worker],
    tmp_path: Path,
) -> None:
    tiny.says(PLAYBOOK)
    job = queue(make_nodes(1))
    worker = start_worker()
    wait_until(lambda: node_log(tmp_path) == ["begin 1"], "the playbook is at work on the node")
    job.refresh_from_db()
    mark = job.mark
    assert (job.status, job.attempt) == ("running", 1)

    worker.kill()
    killed = time.monotonic()
    start_worker()
    wait_until(lambda: Job.objects.get(pk=job.pk).adoptions == 1, "the child was taken over")
    taken_over_after = time.monotonic() - killed
    (tmp_path / "gpu-001.go").touch()
    wait_until(lambda: Job.objects.get(pk=job.pk).is_ended, "the end of the job")

    job.refresh_from_db()
    assert (job.status, job.attempt) == ("succeeded", 1)
    assert endings(job) == {"gpu-001": "ok"}
    assert node_log(tmp_path) == ["begin 1", "end 1"]
    assert not NodeLease.objects.filter(released_at=None).exists()
    wait_until(lambda: strays({mark}) == [], "no stray process")
    # one lease is the rule; what comes on top is the start of a worker on a busy machine
    assert taken_over_after < 2 * LEASE + 60


def test_job_that_loses_its_worker_and_its_child_runs_again(
    tiny: Tiny,
    make_nodes: Callable[..., list[Node]],
    queue: Callable[..., Job],
    start_worker: Callable[[], Worker],
    tmp_path: Path,
) -> None:
    """As when a machine runs out of memory."""
    tiny.says(PLAYBOOK)
    job = queue(make_nodes(1))
    worker = start_worker()
    wait_until(lambda: node_log(tmp_path) == ["begin 1"], "the playbook is at work on the node")
    job.refresh_from_db()
    marks = {job.mark}
    worker.kill()
    for each in processes.marked(MARK, job.mark):
        processes.send(each, signal.SIGKILL, group=False)
    (tmp_path / "gpu-001.go").touch()
    start_worker()
    wait_until(lambda: Job.objects.get(pk=job.pk).attempt == 2, "a second attempt")
    marks.add(Job.objects.get(pk=job.pk).mark)
    wait_until(lambda: Job.objects.get(pk=job.pk).is_ended, "the end of the job")
    job.refresh_from_db()
    assert (job.status, job.attempt) == ("succeeded", 2)
    assert HostResult.objects.get(job=job, attempt=1).ending in {"interrupted", "not_attempted"}
    assert node_log(tmp_path) == ["begin 1", "begin 2", "end 2"]
    first = NodeLease.objects.get(job=job, attempt=1)
    assert first.draining_since is not None
    assert first.probes >= 1
    wait_until(lambda: strays(marks) == [], "no stray process")


def test_worker_that_is_told_to_go_hands_its_job_back_at_once(
    tiny: Tiny,
    make_nodes: Callable[..., list[Node]],
    queue: Callable[..., Job],
    start_worker: Callable[[], Worker],
    tmp_path: Path,
) -> None:
    tiny.says(PLAYBOOK)
    job = queue(make_nodes(1))
    worker = start_worker()
    wait_until(lambda: node_log(tmp_path) == ["begin 1"], "the playbook is at work on the node")
    job.refresh_from_db()
    worker.process.terminate()
    assert worker.process.wait(60) == 0
    mark = job.mark
    job.refresh_from_db()
    assert (job.status, job.attempt) == ("queued", 1)
    requeued = Event.objects.get(name="job.requeued", subject=job.ref)
    assert (requeued.payload["after"], requeued.payload["reason"]) == (1, "worker_stopped")
    assert (
        "worker" in job.waiting_for
    )  # it was stopped, or by now: none is there, or why its node still drains
    assert strays({mark}) == []


def test_two_workers_of_one_name_both_take_jobs(
    tiny: Tiny,
    make_nodes: Callable[..., list[Node]],
    queue: Callable[..., Job],
    start_worker: Callable[[], Worker],
    tmp_path: Path,
) -> None:
    tiny.says(PLAYBOOK)
    first, second = make_nodes(2)
    jobs = [queue([first]), queue([second])]
    start_worker(), start_worker()
    wait_until(
        lambda: all((tmp_path / f"{each.name}.log").exists() for each in (first, second)),
        "a playbook at work on each node, each in a worker of its own",
    )
    assert {Job.objects.get(pk=job.pk).status for job in jobs} == {"running"}


def test_short_work_is_done_while_every_slot_for_jobs_is_taken(
    tiny: Tiny,
    make_nodes: Callable[..., list[Node]],
    queue: Callable[..., Job],
    start_worker: Callable[..., Worker],
    tmp_path: Path,
) -> None:
    """At a site, by its own workers: sweeps keep sentences true and a draining node is looked at, hours before the job ends."""
    tiny.says(PLAYBOOK)
    busy, left, free = make_nodes(3, site="north")
    job = queue([busy])
    start_worker("jobs.north")
    wait_until(lambda: node_log(tmp_path) == ["begin 1"], "the playbook is at work on the node")
    behind = queue([free])
    gone = Job.objects.create(playbook="tiny", status="lost", attempt=1, mark="j9-1-0000000a", ended_at=now())
    lease = NodeLease.objects.create(
        node=left, job=gone, attempt=1, mark=gone.mark, draining_since=now(), probe_after=now()
    )

    start_worker("doorbell,looks.north")
    wait_until(lambda: NodeLease.objects.get(pk=lease.pk).released_at is not None, "a look at the node")
    said = "Waits for a worker of site north: all 1 slots are taken."
    wait_until(lambda: Job.objects.get(pk=behind.pk).waiting_for == said, "the sentence of the job behind")
    assert Job.objects.get(pk=job.pk).status == "running"

    for name in ("gpu-001", "gpu-003"):
        (tmp_path / f"{name}.go").touch()
    wait_until(lambda: Job.objects.get(pk=behind.pk).is_ended, "the end of the job behind")
    assert set(Job.objects.exclude(pk=gone.pk).values_list("status", flat=True)) == {"succeeded"}
