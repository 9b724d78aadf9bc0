"""A node is who it was at its first contact; whoever answers in its place is not told anything."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.core.management import call_command

from provisioning.fleet.models import Node
from provisioning.jobs.models import Job, NodeHostKey
from provisioning.jobs.services import drain_queue, request_job
from tests.provisioning.jobs.conftest import Tiny, endings, said
from tests.ssh.conftest import Hosts, Rows
from tests.ssh.test_trouble import failures

pytestmark = [pytest.mark.ssh, pytest.mark.ansible, pytest.mark.django_db]


def run(nodes: list[Node]) -> Job:
    job = request_job(playbook="small", nodes=nodes, variables={}, purpose="greet", by=None)
    assert drain_queue() == 1
    return job


def kept(node: Node) -> dict[str, str]:
    return dict(NodeHostKey.objects.filter(node=node).values_list("key_type", "key"))


def test_key_of_the_first_contact_is_kept_and_no_other_is_accepted(
    hosts: Hosts, rows: Rows, small: Tiny, portal_key: Path
) -> None:
    [server] = servers = hosts(1)
    [node] = rows(servers)
    kind, key = (server.own / "host_key.pub").read_text().split()[:2]

    first = run([node])
    assert endings(first) == {"gpu-001": "ok"}, said(first)
    assert kept(node) == {kind: key}
    assert NodeHostKey.objects.get().learned_by == first

    server.change_host_key(portal_key)
    changed = run([node])
    assert endings(changed) == {"gpu-001": "unreachable"}, said(changed)
    why = failures(changed)["gpu-001"]
    assert why.startswith("gpu-001 showed another SSH host key than before.")
    assert "REMOTE HOST IDENTIFICATION HAS CHANGED" in why
    assert "Starting session" not in server.log.split("Server listening")[-1]

    server.change_host_key(portal_key, kind="ecdsa")
    other_kind = run([node])
    assert endings(other_kind) == {"gpu-001": "unreachable"}, said(other_kind)
    assert "host key" in failures(other_kind)["gpu-001"].lower()
    assert kept(node) == {kind: key}

    call_command("forget_host_key", node.name)
    assert endings(run([node])) == {"gpu-001": "ok"}
    assert list(kept(node)) == ["ecdsa-sha2-nistp256"]


def test_node_that_moved_to_another_address_is_known_by_its_name(
    hosts: Hosts, rows: Rows, small: Tiny, portal_key: Path
) -> None:
    [server] = servers = hosts(1)
    [node] = rows(servers)
    assert endings(run([node])) == {"gpu-001": "ok"}
    server.stop()
    server.address, server.port = "127.0.1.77", 0
    server.start(portal_key)
    Node.objects.filter(pk=node.pk).update(address=server.address, ansible_port=server.port)
    moved = run([node])
    assert endings(moved) == {"gpu-001": "ok"}, said(moved)
    assert NodeHostKey.objects.count() == 1
