"""A node's host key is learned once and belongs to its name; another is not accepted until an operator says so."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from portal.accounts.models import User
from portal.kernel.errors import NotAllowed
from portal.ledger.models import Event
from provisioning.fleet.models import Node
from provisioning.jobs.host_keys import forget, learn
from provisioning.jobs.models import Job, NodeHostKey
from provisioning.jobs.preparation import known_hosts_of

pytestmark = pytest.mark.django_db

Nodes = Callable[..., list[Node]]
Queue = Callable[..., Job]
SHOWN = "gpu-001 ssh-ed25519 AAAAone\ngpu-002 ssh-ed25519 AAAAtwo\nelsewhere ssh-ed25519 AAAAother\nbroken\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "known_hosts"
    path.write_text(SHOWN)
    return path


def test_keys_of_the_jobs_nodes_are_learned_and_no_others(
    make_nodes: Nodes, queue: Queue, file: Path
) -> None:
    nodes = make_nodes(3)
    job = queue(nodes)
    assert learn(job, file, {node.name: node.pk for node in nodes}) == 2
    assert known_hosts_of(nodes) == ["gpu-001 ssh-ed25519 AAAAone", "gpu-002 ssh-ed25519 AAAAtwo"]
    assert NodeHostKey.objects.filter(learned_by=job).count() == 2


def test_key_that_is_known_is_not_replaced_by_another(make_nodes: Nodes, queue: Queue, file: Path) -> None:
    nodes = make_nodes(1)
    job, told = queue(nodes), {"gpu-001": nodes[0].pk}
    learn(job, file, told)
    file.write_text("gpu-001 ssh-ed25519 AAAAevil\n")
    assert learn(job, file, told) == 0
    assert NodeHostKey.objects.get().key == "AAAAone"


def test_file_that_is_missing_teaches_nothing(make_nodes: Nodes, queue: Queue, tmp_path: Path) -> None:
    nodes = make_nodes(1)
    assert learn(queue(nodes), tmp_path / "none", {"gpu-001": nodes[0].pk}) == 0


def test_operator_forgets_the_keys_of_a_node_that_was_reinstalled(
    make_nodes: Nodes, queue: Queue, file: Path, operator: User
) -> None:
    nodes = make_nodes(2)
    learn(queue(nodes), file, {node.name: node.pk for node in nodes})
    assert forget(nodes[0], by=operator) == 1
    assert list(NodeHostKey.objects.values_list("node__name", flat=True)) == ["gpu-002"]
    assert Event.objects.get(name="node.host_key_forgotten").actor == operator


def test_triager_may_not_forget_a_key(make_nodes: Nodes, triager: User) -> None:
    with pytest.raises(NotAllowed):
        forget(make_nodes(1)[0], by=triager)


def test_command_forgets_and_says_so(
    make_nodes: Nodes, queue: Queue, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes = make_nodes(1)
    learn(queue(nodes), file, {"gpu-001": nodes[0].pk})
    call_command("forget_host_key", "gpu-001")
    assert capsys.readouterr().out == "gpu-001: 1 host key forgotten\n"
    with pytest.raises(CommandError, match="no node gpu-999"):
        call_command("forget_host_key", "gpu-999")
