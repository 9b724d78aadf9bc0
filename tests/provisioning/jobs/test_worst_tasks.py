"""A task that says far too much, or that takes all the memory there is: the verdict stays right, and nothing hangs or is left."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import pytest
from django.conf import LazySettings

from portal.embedded import processes
from provisioning.fleet.models import Node
from provisioning.jobs import overflow
from provisioning.jobs.child import MARK
from provisioning.jobs.models import Job, JobEvent, NodeLease
from provisioning.jobs.services import drain_queue
from tests.provisioning.jobs.conftest import Tiny, endings, said
from tests.provisioning.jobs.test_stopping import Running

pytestmark = [pytest.mark.ansible, pytest.mark.django_db(transaction=True)]

Nodes = Callable[..., list[Node]]
Queue = Callable[..., Job]

MEGABYTES = """
- name: Say a lot
  ansible.builtin.command: python3 -c "print('begin' + 'x' * 800000 + 'end')"
- name: Go on
  ansible.builtin.command: echo done
"""
GREEDY = """
- name: Take all the memory
  ansible.builtin.command: sh -c 'ulimit -v 300000; exec python3 -c "bytearray(10**12)"'
- name: Never reached
  ansible.builtin.command: echo done
"""
SLEEP = "- name: Sleep\n  ansible.builtin.command: sleep 987"


def test_result_of_eight_hundred_thousand_characters_keeps_its_verdict_and_says_that_it_was_shortened(
    tiny: Tiny, make_nodes: Nodes, queue: Queue
) -> None:
    tiny.says(MEGABYTES)
    job = queue(make_nodes(1))
    drain_queue()
    job.refresh_from_db()
    assert (job.status, endings(job)) == ("succeeded", {"gpu-001": "ok"})
    event = JobEvent.objects.get(job=job, task="Say a lot", kind="ok")
    assert (event.changed, event.truncated, event.on_disk) == (True, True, True)
    kept = overflow.Reader(job.pk, 1, job.month).event(event.counter)
    assert kept is not None
    assert len(json.dumps(kept.result)) > 800_000, "the whole of it is on disk"


def test_command_that_can_have_no_more_memory_fails_its_node(
    tiny: Tiny, make_nodes: Nodes, queue: Queue
) -> None:
    tiny.says(GREEDY)
    job = queue(make_nodes(1))
    drain_queue()
    assert endings(job) == {"gpu-001": "failed"}
    assert "MemoryError" in said(job)


def is_command(process: psutil.Process) -> bool:
    return process.name() == "sleep"


def is_module(process: psutil.Process) -> bool:
    return any(map(is_command, process.children()))


def is_fork(process: psutil.Process) -> bool:
    parent = process.parent()
    return is_playbook(process) and parent is not None and is_playbook(parent)


def is_playbook(process: psutil.Process) -> bool:
    return "ansible-playbook" in " ".join(process.cmdline()) and "jobs.child" not in " ".join(
        process.cmdline()
    )


def is_child(process: psutil.Process) -> bool:
    return "provisioning.jobs.child" in process.cmdline() and process.name() != "unshare"


VICTIMS: dict[str, tuple[Callable[[psutil.Process], bool], set[tuple[str, str]]]] = {
    "the command": (is_command, {("failed", "hosts_failed")}),
    "the module": (is_module, {("failed", "hosts_failed")}),
    "a fork of the playbook": (is_fork, {("failed", "stopped_early"), ("failed", "hosts_failed")}),
    "the child": (is_child, {("queued", "")}),
}


@pytest.mark.parametrize("victim", VICTIMS)
def test_job_of_which_the_kernel_kills_a_process_for_its_memory_ends_and_says_so(
    victim: str, tiny: Tiny, make_nodes: Nodes, queue: Queue, settings: LazySettings
) -> None:
    """As the OOM killer does it: one process, by SIGKILL, whichever is largest."""
    which, wanted = VICTIMS[victim]
    tiny.says(SLEEP)
    running = Running(queue(make_nodes(1)))
    running.until_it_sleeps()
    marked = [psutil.Process(each.pid) for each in processes.marked(MARK, running.job.mark)]
    chosen = [each for each in marked if _is(each, which)]
    assert chosen, [" ".join(each.cmdline()) for each in marked]
    os.kill(chosen[-1].pid, signal.SIGKILL)
    running.end()
    assert (running.job.status, running.job.reason) in wanted, running.job.reason_text
    assert running.job.reason_text or running.job.waiting_for
    assert running.commands() == []
    assert list(Path(settings.JOBS_DIR).iterdir()) == []
    assert not NodeLease.objects.filter(released_at=None, draining_since=None).exists()


def _is(process: psutil.Process, which: Callable[[psutil.Process], bool]) -> bool:
    try:
        return which(process)
    except psutil.Error:
        return False
