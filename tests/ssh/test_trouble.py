"""A node that can't be reached says why, in time, and keeps nobody else from being done."""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.conf import LazySettings

from portal.embedded import processes
from provisioning.jobs.models import HostResult, Job
from provisioning.jobs.services import drain_queue, request_job
from tests.provisioning.jobs.conftest import Tiny, endings, said
from tests.ssh import sshd
from tests.ssh.conftest import Hosts, Rows
from tests.ssh.sshd import Sshd

pytestmark = [pytest.mark.ssh, pytest.mark.ansible, pytest.mark.django_db]

# Ten seconds to connect; for a session that froze, three unanswered signs of life, one every ten seconds; and what Ansible takes.
CONNECT_LIMIT = 30.0
FROZEN_LIMIT = 75.0
GREET_AND_WAIT = """
- name: Greet
  ansible.builtin.command: hostname
- name: Wait where the node freezes
  ansible.builtin.command:
    argv: [sh, -c, 'touch "{{ node_root }}/tmp/waits"; exec sleep 900']
  when: node_name == word
- name: Fail where it is planned
  ansible.builtin.fail:
    msg: as planned
  when: node_name in words
"""


def failures(job: Job) -> dict[str, str]:
    """The first failure of every node that has one."""
    results = HostResult.objects.filter(job=job).exclude(first_failure="").select_related("node")
    return {result.node.name: result.first_failure for result in results}


def seconds(job: Job, name: str) -> float:
    """From the job's start to the last that was heard of a node."""
    heard = HostResult.objects.get(job=job, node__name=name).last_event_at
    assert heard is not None
    assert job.started_at is not None
    return (heard - job.started_at).total_seconds()


@contextmanager
def silence(host: Sshd) -> Iterator[None]:
    """In place of the node's sshd something that takes every connection and never says a word."""
    host.stop()
    with socket.create_server((host.address, host.port), backlog=16):
        yield


@contextmanager
def frozen_once(host: Sshd, file: Path) -> Iterator[None]:
    """Stop every process of the node, as a dying machine does, as soon as `file` is there."""

    def freeze() -> None:
        if processes.wait_until(file.exists, 90):
            for each in host.processes():
                each.send_signal(signal.SIGSTOP)

    watching = threading.Thread(target=freeze)
    watching.start()
    try:
        yield
    finally:
        file.touch()
        watching.join()


def test_every_node_out_of_reach_says_why_and_the_others_are_done(
    hosts: Hosts, rows: Rows, small: Tiny, tmp_path: Path, settings: LazySettings
) -> None:
    """One job over eleven nodes with all troubles among them: they cost seconds of waiting, side by side."""
    _, refusing, silent, closed, freezing, *_ = servers = hosts(11)
    nodes = rows(servers)
    refusing.stop()
    closed.let_in(sshd.make_key(tmp_path / "another_key"))
    small.says(GREET_AND_WAIT)
    told = {"word": "gpu-005", "words": ["gpu-006"]}
    job = request_job(playbook="small", nodes=nodes, variables=told, purpose="trouble", by=None)
    with silence(silent), frozen_once(freezing, freezing.folder / "root/tmp/waits"):
        drain_queue()
    assert endings(job) == {
        "gpu-001": "ok",
        "gpu-002": "unreachable",
        "gpu-003": "unreachable",
        "gpu-004": "unreachable",
        "gpu-005": "unreachable",
        "gpu-006": "failed",
        **{f"gpu-{number:03}": "ok" for number in range(7, 12)},
    }, said(job)[-3000:]
    assert (job.status, job.reason) == ("partial", "hosts_failed")
    why = failures(job)
    assert "Connection refused" in why["gpu-002"]
    assert "timed out" in why["gpu-003"]
    assert "Permission denied (publickey)" in why["gpu-004"]
    assert "Make sure this host can be reached over ssh" in why["gpu-005"]  # ssh itself says nothing here
    assert "as planned" in why["gpu-006"]
    assert 9 < seconds(job, "gpu-003") < CONNECT_LIMIT
    assert 25 < seconds(job, "gpu-005") < CONNECT_LIMIT + FROZEN_LIMIT
    assert list(Path(settings.JOBS_DIR).iterdir()) == []
