"""What a stopped job leaves on a host behind SSH: nothing on the portal's side, and on the node what these tests say."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

import pytest
from django.conf import LazySettings
from django.db.models.functions import Now

from portal.embedded import processes
from portal.ledger.models import Event
from provisioning.jobs import claims, draining, looking
from provisioning.jobs.models import NodeHostKey, NodeLease
from provisioning.jobs.services import cancel_job, drain_queue, request_job
from provisioning.simulator import faults
from tests.provisioning.jobs.conftest import Tiny, endings
from tests.provisioning.jobs.test_stopping import Running
from tests.ssh.conftest import Hosts, Rows

pytestmark = [pytest.mark.ssh, pytest.mark.ansible, pytest.mark.django_db(transaction=True)]


def test_cancelled_job_s_command_is_ended_on_the_node_before_the_next_job_gets_it(
    hosts: Hosts, rows: Rows, small: Tiny, settings: LazySettings
) -> None:
    """No signal crosses a cut connection, so somebody goes there and looks."""
    [server] = servers = hosts(1)
    nodes = rows(servers)
    small.says("- name: Sleep\n  ansible.builtin.command: sleep 987")
    running = Running(request_job(playbook="small", nodes=nodes, variables={}, purpose="stop", by=None))
    running.wait_until(lambda: bool(server.commands("sleep 987")))
    cancel_job(running.job, reason="wrong node", by=None)
    assert running.end() == "cancelled"
    assert endings(running.job) == {"gpu-001": "interrupted"}
    assert running.commands() == []
    assert list(Path(settings.JOBS_DIR).iterdir()) == []
    assert NodeHostKey.objects.filter(learned_by=running.job).exists()
    assert processes.wait_until(lambda: not server.sessions(), 10)
    assert server.commands("sleep 987")
    small.says("- name: Greet\n  ansible.builtin.command: hostname")
    following = request_job(playbook="small", nodes=nodes, variables={}, purpose="next", by=None)
    assert claims.claim(following.pk, worker="w") is None
    assert drain_queue() == 1
    assert endings(following) == {"gpu-001": "ok"}
    assert not server.commands("sleep 987")
    told = Event.objects.get(name="node.quiet").payload
    assert (told["job"], told["how"]) == (running.job.ref, "proved")
    assert told["ended"] > 0


def test_node_that_was_lost_in_the_middle_of_a_task_drains_until_it_answers_again(
    hosts: Hosts, rows: Rows, small: Tiny, portal_key: Path
) -> None:
    """The playbook came to its end, but nobody knows what goes on there."""
    lost, fine = servers = hosts(2)
    small.says(
        "- name: Greet\n  ansible.builtin.command: hostname\n"
        "- name: Wait where it is lost\n  ansible.builtin.command: sleep 20\n  when: node_name == 'gpu-001'"
    )
    running = Running(
        request_job(playbook="small", nodes=rows(servers), variables={}, purpose="lost", by=None)
    )
    running.wait_until(lambda: bool(lost.commands("sleep 20")))
    lost.stop()
    assert running.end() == "partial"
    assert endings(running.job) == {"gpu-001": "unreachable", "gpu-002": "ok"}
    lease = draining.draining().get()
    assert lease.node.name == "gpu-001"
    assert looking.prove_quiet() == 0
    lease.refresh_from_db()
    assert "Connection refused" in lease.probe_said
    lost.start(portal_key)
    NodeLease.objects.update(probe_after=Now())
    assert looking.prove_quiet() == 1, draining.draining().values()
    assert fine.commands("sshd")


def test_node_whose_sessions_ended_in_the_middle_of_its_first_task_drains_until_it_is_quiet(
    hosts: Hosts, rows: Rows, small: Tiny
) -> None:
    [server] = servers = hosts(1)
    small.says("- name: Wait where it is lost\n  ansible.builtin.command: sleep 986")
    running = Running(
        request_job(playbook="small", nodes=rows(servers), variables={}, purpose="lost", by=None)
    )
    running.wait_until(lambda: bool(server.commands("sleep 986")))
    for pid in server.sessions():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    assert running.end() == "failed"
    assert endings(running.job) == {"gpu-001": "unreachable"}
    assert server.commands("sleep 986"), "no signal crosses a cut connection"
    assert draining.draining().get().node.name == "gpu-001"
    assert looking.prove_quiet() == 1
    assert not server.commands("sleep 986")


@pytest.mark.parametrize("way", ["loop: [0, 985]", "no_log: true\n  vars: {item: 985}"])
def test_node_whose_task_ran_into_its_time_limit_drains_however_little_ansible_says_of_it(
    hosts: Hosts, rows: Rows, small: Tiny, way: str
) -> None:
    [server] = servers = hosts(1)
    task = "- name: Sleep\n  ansible.builtin.command: sleep {{ item }}\n  timeout: 3\n"
    small.says(f"{task}  {way}")
    running = Running(
        request_job(playbook="small", nodes=rows(servers), variables={}, purpose="late", by=None)
    )
    assert running.end() == "failed"
    assert server.commands("sleep 985"), "ansible-core gives a task up and leaves its command on the node"
    assert draining.draining().get().node.name == "gpu-001"
    assert looking.prove_quiet() == 1
    assert not server.commands("sleep 985")


def test_cancelled_measurement_ends_on_the_node_too(hosts: Hosts, rows: Rows, portal_key: Path) -> None:
    [server] = servers = hosts(1)
    faults.inject(server.folder, "hang", tool="nvidia-smi")
    running = Running(
        request_job(
            playbook="validate_node",
            nodes=rows(servers),
            variables={"probe_time_limit": 600},
            purpose="measure",
            by=None,
        )
    )
    running.wait_until(lambda: bool(server.commands("standin.py")))
    cancel_job(running.job, by=None)
    assert running.end() == "cancelled"
    assert processes.wait_until(lambda: not server.commands("standin.py"), 20), server.commands("standin.py")
    assert processes.wait_until(lambda: not server.sessions(), 10)
