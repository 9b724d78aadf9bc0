"""Mitogen speeds a job up and takes nothing from it: host keys are checked, a stop stops, and nodes are proven quiet."""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path

import pytest
from django.conf import LazySettings

from portal.config import config
from portal.ledger.models import Event
from provisioning.fleet.models import Node
from provisioning.jobs import accelerator, claims, preparation
from provisioning.jobs.models import Job
from provisioning.jobs.services import cancel_job, drain_queue, request_job
from tests.needs import need
from tests.provisioning.jobs.conftest import Tiny, endings, said
from tests.provisioning.jobs.test_stopping import Running
from tests.ssh.conftest import Hosts, Rows
from tests.ssh.sshd import Sshd

pytestmark = [pytest.mark.ssh, pytest.mark.ansible, pytest.mark.django_db(transaction=True)]

WHO = '- name: Who runs this\n  ansible.builtin.command: sh -c \'cat /proc/$PPID/cmdline | tr "\\0" " "\'\n  register: who\n'
SAY = '- name: Say\n  ansible.builtin.debug:\n    msg: "{{ who.stdout }}"\n'


@pytest.fixture
def wanted(portal_key: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, why_not = accelerator.found()
    if folder is None:
        need("mitogen", f"{why_not}: pip install --require-hashes -r requirements-mitogen.txt")
    told = replace(config(), ssh_key_file=portal_key, job_mitogen=True)
    monkeypatch.setattr(preparation, "config", lambda: told)


@dataclass
class Asking:
    """Jobs on one node behind SSH."""

    server: Sshd
    nodes: list[Node]

    def job(self, purpose: str = "fast") -> Job:
        return request_job(playbook="small", nodes=self.nodes, variables={}, purpose=purpose, by=None)

    def sleeps(self) -> bool:
        return bool(self.server.commands("sleep 987"))


@pytest.fixture
def ask(hosts: Hosts, rows: Rows, wanted: None) -> Asking:
    servers = hosts(1)
    return Asking(servers[0], rows(servers))


def run(job: Job) -> str:
    assert drain_queue() == 1
    job.refresh_from_db()
    return job.reason_text


def test_first_job_of_a_node_learns_its_key_and_the_next_is_fast(ask: Asking, small: Tiny) -> None:
    small.says(WHO + SAY)
    first = ask.job()
    run(first)
    second = ask.job()
    run(second)
    first.refresh_from_db()
    assert (
        first.versions["mitogen"]
        == "not used: gpu-001 has not shown its host key yet, and this job learns it"
    )
    assert second.versions["mitogen"] == metadata.version("mitogen")
    assert (endings(first), endings(second)) == ({"gpu-001": "ok"}, {"gpu-001": "ok"})
    assert "mitogen" not in said(first)
    assert "mitogen:" in said(second)


def test_node_that_shows_another_key_is_refused(ask: Asking, small: Tiny, portal_key: Path) -> None:
    run(ask.job())
    ask.server.change_host_key(portal_key)
    second = ask.job()
    run(second)
    assert second.versions["mitogen"] == metadata.version("mitogen")
    assert endings(second) == {"gpu-001": "unreachable"}


def test_cancelled_job_leaves_nothing_here_and_is_ended_on_the_node_before_the_next(
    ask: Asking, small: Tiny, settings: LazySettings
) -> None:
    run(ask.job("learn the key"))
    small.says("- name: Sleep\n  ansible.builtin.command: sleep 987")
    running = Running(ask.job("stop"))
    running.wait_until(ask.sleeps, 180)
    running.job.refresh_from_db()
    assert running.job.versions["mitogen"] == metadata.version("mitogen")
    cancel_job(running.job, by=None)
    assert running.end() == "cancelled"
    assert running.commands() == []
    assert list(Path(settings.JOBS_DIR).iterdir()) == []
    assert ask.sleeps(), "no signal crosses a cut connection"
    small.says("- name: Greet\n  ansible.builtin.command: hostname")
    following = ask.job("next")
    assert claims.claim(following.pk, worker="w") is None, "the node drains"
    run(following)
    assert endings(following) == {"gpu-001": "ok"}, following.waiting_for
    assert Event.objects.get(name="node.quiet").payload["ended"] > 0
    assert not ask.sleeps()
