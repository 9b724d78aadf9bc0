"""A small playbook of the test's own, nodes it can run on, and a folder for attempts."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.conf import LazySettings

from provisioning.fleet.models import Node, Sku
from provisioning.jobs import child_process, playbooks
from provisioning.jobs.fields import flag, listed, text, whole
from provisioning.jobs.models import HostResult, Job, JobEvent
from provisioning.jobs.services import request_job

CONNECTION = '''
from ansible.plugins.connection.local import Connection as Local
DOCUMENTATION = """
name: simulated
short_description: this machine
version_added: "1"
description: [this machine]
options: {}
"""
class Connection(Local):
    transport = "simulated"
    def _connect(self):
        host = self.get_option("remote_addr") if False else self._play_context.remote_addr
        if host == "192.0.2.99":
            from ansible.errors import AnsibleConnectionFailure
            raise AnsibleConnectionFailure("ssh: connect to host 192.0.2.99 port 22: nobody answers")
        return super()._connect()
'''


MARKED = """  environment:
    QM_ATTEMPT: "{{ job_mark }}"
"""
ANSIBLE = Path(__file__).parents[3] / "ansible"


@pytest.fixture(autouse=True)
def ansible(monkeypatch: pytest.MonkeyPatch) -> None:
    """With QM_TESTS_ANSIBLE=/some/venv/bin/python playbooks run on that one's ansible-core, which may be another version.

    The environment needs ansible-core, ansible-runner and psutil.
    """
    python = os.environ.get("QM_TESTS_ANSIBLE", "")  # noqa: TID251 - a test's own
    if python:
        folder = str(Path(python).parent)
        monkeypatch.setattr(child_process, "sys", SimpleNamespace(executable=python))
        monkeypatch.setattr(
            child_process, "tool_path", lambda: os.pathsep.join([folder, *os.get_exec_path()])
        )


@dataclass(frozen=True, kw_only=True)
class Told:
    """Variables of the test's playbook."""

    word: str = playbooks.told(text(longest=200), "")
    words: list[str] = playbooks.told(listed(text(longest=2_000_000), most=100), [])
    number: int = playbooks.told(whole(least=0, most=10), 0)
    switch: bool = playbooks.told(flag, default=False)


@dataclass
class Tiny:
    """The test's playbook."""

    file: Path

    def says(self, tasks: str, *, play: str = "") -> None:
        """Give it tasks (YAML, unindented)."""
        body = "\n".join(f"    {line}" for line in tasks.strip("\n").splitlines())
        self.file.write_text(
            f"- name: A small play\n  hosts: targets\n  gather_facts: false\n{MARKED}{play}  tasks:\n{body}\n",
            encoding="utf-8",
        )

    def raw(self, text: str) -> None:
        """Give it any text."""
        self.file.write_text(text, encoding="utf-8")


def link_upkeep(folder: Path) -> None:
    """What the sweep itself runs on nodes, in an ansible folder of a test's own."""
    for name in ("upkeep", "library"):
        (folder / name).symlink_to(ANSIBLE / name)


@pytest.fixture
def tiny(tmp_path: Path, settings: LazySettings, monkeypatch: pytest.MonkeyPatch) -> Tiny:
    """A playbook `tiny` in an ansible folder of its own, and a fresh folder for attempts."""
    folder = tmp_path / "ansible"
    (folder / "playbooks").mkdir(parents=True)
    (folder / "plugins").mkdir()
    (folder / "plugins" / "simulated.py").write_text(CONNECTION, encoding="utf-8")
    (folder / "ansible.cfg").write_text(
        "[defaults]\nconnection_plugins = ./plugins\ninterpreter_python = auto_silent\nlibrary = library\n"
    )
    link_upkeep(folder)
    settings.ANSIBLE_DIR = folder
    settings.JOBS_DIR = tmp_path / "jobs"
    book = playbooks.Playbook(
        name="tiny",
        title="A small playbook",
        file="tiny.yml",
        variables=Told,
        timeout=timedelta(seconds=90),
        idle=timedelta(seconds=60),
    )
    monkeypatch.setitem(playbooks.REGISTRY, "tiny", book)
    made = Tiny(folder / "playbooks" / "tiny.yml")
    made.says("- name: Greet\n  ansible.builtin.command: echo hello")
    return made


@pytest.fixture
def sku() -> Sku:
    return Sku.objects.create(
        slug="h100-sxm5-80g",
        name="H100",
        gpu_model="NVIDIA H100 80GB HBM3",
        gpus_per_node=8,
        memory_mib=81559,
    )


@pytest.fixture
def make_nodes(sku: Sku, tmp_path: Path) -> Callable[..., list[Node]]:
    def make(count: int, *, start: int = 1, **more: Any) -> list[Node]:
        return [
            Node.objects.create(
                status="free",
                name=f"gpu-{number:03d}",
                sku=sku,
                simulated=True,
                connection="simulated",
                simulated_node_dir=str(tmp_path / f"gpu-{number:03d}"),
                python_interpreter="/usr/bin/python3",
                **{"address": f"192.0.2.{number}", **more},
            )
            for number in range(start, start + count)
        ]

    return make


@pytest.fixture
def queue(tiny: Tiny) -> Callable[..., Job]:
    def put(nodes: list[Node], **more: Any) -> Job:
        told = {"playbook": "tiny", "variables": {}, "purpose": "a test", "by": None, **more}
        return request_job(nodes=nodes, **told)

    return put


def endings(job: Job) -> dict[str, str]:
    """Ending by node of the job's last attempt."""
    job.refresh_from_db()
    rows = HostResult.objects.filter(job=job, attempt=job.targets_attempt).select_related("node")
    return {row.node.name: row.ending for row in rows}


def said(job: Job) -> str:
    """Everything the job's log holds."""
    return "\n".join(
        JobEvent.objects.filter(job=job).order_by("attempt", "counter").values_list("text", flat=True)
    )
