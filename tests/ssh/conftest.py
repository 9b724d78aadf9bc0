"""Nodes behind real sshds, rows of the fleet that name them, and the portal's key to their doors."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings

from portal.config import config
from provisioning.fleet.models import Node, Sku
from provisioning.jobs import playbooks, preparation
from provisioning.simulator import fleet
from tests.needs import need
from tests.provisioning.jobs.conftest import Tiny, Told, ansible, link_upkeep, sku
from tests.ssh import sshd
from tests.ssh.sshd import Sshd

__all__ = ["ansible", "sku"]

Hosts = Callable[..., list[Sshd]]
Rows = Callable[..., list[Node]]


@pytest.fixture(scope="session")
def _real_ssh() -> None:
    reason = sshd.why_not()
    if reason:
        need("ssh", reason)


@pytest.fixture
def portal_key(
    _real_ssh: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: LazySettings
) -> Path:
    """The private key that the portal is configured with; attempts get a folder of the test's."""
    settings.JOBS_DIR = tmp_path / "jobs"
    key = sshd.make_key(tmp_path / "portal_key")
    told = replace(config(), ssh_key_file=key)
    monkeypatch.setattr(preparation, "config", lambda: told)
    return key


@pytest.fixture
def hosts(portal_key: Path, tmp_path: Path) -> Iterator[Hosts]:
    """hosts(2): so many nodes that answer by SSH and let the portal in."""
    started: list[Sshd] = []

    def start(count: int) -> list[Sshd]:
        for number, folder in enumerate(
            fleet.create(tmp_path / "fleet", count=count, sku="h100-sxm5-80g", seed=7), start=1
        ):
            host = Sshd(folder=folder, own=tmp_path / f"sshd-{number}", address=f"127.0.1.{number}")
            started.append(host)
            host.start(portal_key)
        return started

    try:
        yield start
    finally:
        for host in started:
            host.stop()


@pytest.fixture
def rows(sku: Sku) -> Rows:
    """rows(hosts): the nodes as the fleet knows them."""

    def make(hosts: list[Sshd], **more: Any) -> list[Node]:
        return [
            Node.objects.create(
                status="free",
                name=host.folder.name,
                address=host.address,
                ansible_port=host.port,
                ansible_user=sshd.account(),
                sku=sku,
                connection="ssh",
                simulated=True,
                node_root=str(host.folder / "root"),
                **more,
            )
            for host in hosts
        ]

    return make


@pytest.fixture
def small(tmp_path: Path, portal_key: Path, settings: LazySettings, monkeypatch: pytest.MonkeyPatch) -> Tiny:
    """A playbook `small` of the test's own, run with the portal's own ansible.cfg."""
    folder = tmp_path / "ansible"
    (folder / "playbooks").mkdir(parents=True)
    shutil.copy(Path(settings.ANSIBLE_DIR) / "ansible.cfg", folder)
    link_upkeep(folder)
    settings.ANSIBLE_DIR = folder
    book = playbooks.Playbook(
        name="small",
        title="A small playbook",
        file="small.yml",
        variables=Told,
        timeout=timedelta(seconds=120),
        idle=timedelta(seconds=90),
    )
    monkeypatch.setitem(playbooks.REGISTRY, "small", book)
    made = Tiny(folder / "playbooks" / "small.yml")
    made.says("- name: Greet\n  ansible.builtin.command: hostname")
    return made
