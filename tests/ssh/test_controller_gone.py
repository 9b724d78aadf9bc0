"""The portal's whole side dies at once, and nobody says goodbye: what it had begun on a node ends there, by itself or by the next look."""

from __future__ import annotations

import signal
from typing import Any

import pytest

from portal.embedded import processes
from provisioning.fleet.models import Node
from provisioning.jobs import draining, looking
from provisioning.jobs.child import MARK
from provisioning.jobs.models import Job
from provisioning.jobs.services import request_job
from provisioning.simulator import faults
from tests.provisioning.jobs.conftest import Tiny
from tests.provisioning.jobs.test_stopping import Running
from tests.ssh.conftest import Hosts, Rows

pytestmark = [pytest.mark.ssh, pytest.mark.ansible, pytest.mark.django_db(transaction=True)]

BY_ITSELF = 60


def kill_everything_here(job: Job) -> None:
    """The child, the playbook, its forks, every ssh and what keeps a connection open."""
    job.refresh_from_db()
    for each in processes.marked(MARK, job.mark):
        processes.send(each, signal.SIGKILL, group=False)


def measuring(playbook: str, nodes: list[Node], **variables: Any) -> Running:
    job = request_job(playbook=playbook, nodes=nodes, variables=variables, purpose="measure", by=None)
    return Running(job)


def test_measurement_ends_by_itself_when_nobody_waits_for_it_any_more(hosts: Hosts, rows: Rows) -> None:
    [server] = servers = hosts(1)
    faults.inject(server.folder, "hang", tool="nvidia-smi")
    running = measuring("validate_node", rows(servers), probe_time_limit=600)
    running.wait_until(lambda: bool(server.commands("standin.py")))
    kill_everything_here(running.job)
    assert running.end() == "queued"
    assert processes.wait_until(lambda: not server.commands("standin.py"), BY_ITSELF)
    assert processes.wait_until(lambda: not server.sessions(), BY_ITSELF)
    assert looking.prove_quiet() == 1


def test_collective_ends_by_itself_when_nobody_waits_for_it_any_more(hosts: Hosts, rows: Rows) -> None:
    first, _ = servers = hosts(2)
    faults.inject(first.folder, "hang", tool="mpirun")
    nodes = rows(servers)
    peers = [{"name": node.name, "address": node.address} for node in nodes]
    running = measuring("validate_cluster", nodes, cluster_hosts=peers)
    running.wait_until(lambda: bool(first.commands("mpirun")))
    kill_everything_here(running.job)
    assert running.end() == "queued"
    assert processes.wait_until(lambda: not first.commands("mpirun"), BY_ITSELF)
    assert looking.prove_quiet() == 2


DEAF = """
- name: Leave something behind that hears nothing
  ansible.builtin.shell: setsid sh -c 'trap "" TERM HUP INT; sleep 986; sleep 985' >/dev/null 2>&1 </dev/null & sleep 987
"""


def test_look_ends_what_was_left_in_a_session_of_its_own_and_is_deaf_to_signals(
    hosts: Hosts, rows: Rows, small: Tiny
) -> None:
    [server] = servers = hosts(1)
    small.says(DEAF)
    job = request_job(playbook="small", nodes=rows(servers), variables={}, purpose="deaf", by=None)
    running = Running(job)
    running.wait_until(lambda: bool(server.commands("sleep 986") and server.commands("sleep 987")))
    kill_everything_here(running.job)
    assert running.end() == "queued"
    assert server.commands("sleep 986"), "a cut connection ends nothing there"
    assert looking.prove_quiet() == 1
    assert not server.commands("sleep 98")
    assert not draining.draining().exists()
