"""Workers say that they are there, and the operators' page tells what runs where and what waits for what."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.test import Client

from portal.accounts.models import User
from portal.kernel.clock import now
from provisioning.fleet.models import Node
from provisioning.jobs import claims, sweeper
from provisioning.jobs.models import Job
from provisioning.workers import queries
from provisioning.workers.models import Worker
from provisioning.workers.services import beat, leave, slots_of
from tests.provisioning.jobs.conftest import make_nodes, queue, sku, tiny

__all__ = ["make_nodes", "queue", "sku", "tiny"]
pytestmark = pytest.mark.django_db


def test_slots_are_those_of_workers_that_are_there() -> None:
    assert slots_of("jobs") is None
    beat(name="a:1", queues=["jobs"], slots=3, versions={})
    beat(name="b:1", queues=["jobs", "doorbell"], slots=2, versions={})
    beat(name="c:1", queues=["doorbell"], slots=9, versions={})
    assert slots_of("jobs") == 5
    leave("a:1")
    assert slots_of("jobs") == 2
    beat(name="a:1", queues=["jobs"], slots=3, versions={})
    Worker.objects.filter(name="b:1").update(seen_at=now() - timedelta(minutes=1))
    assert slots_of("jobs") == 3


def test_page_tells_states_workers_nodes_and_why(
    make_nodes: Callable[..., list[Node]], queue: Callable[..., Job], client: Client, operator: User
) -> None:
    nodes = make_nodes(2)
    beat(name="host:1", queues=["jobs"], slots=3, versions={})
    running, waiting = queue(nodes), queue(nodes[:1])
    assert claims.claim(running.pk, worker="host:1/77") is not None
    sweeper.ring_unheard()
    client.force_login(operator)
    page = client.get("/workers/").content.decode()
    assert f"Waits for gpu-001, which {running.ref} holds." in page
    assert "host:1" in page
    assert "1 <span" in page
    (each,) = queries.node_queues()
    assert (each.node, each.held, each.waiting) == ("gpu-001", f"{running.ref} holds", 1)
    assert each.first == [waiting.ref]
    assert [(tally.state, tally.jobs) for tally in queries.tallies()] == [("claimed", 1), ("queued", 1)]
    assert "<html" not in client.get("/workers/", headers={"HX-Request": "true"}).content.decode()


def test_page_tells_how_each_worker_contains_its_jobs(client: Client, operator: User) -> None:
    beat(name="host:1", queues=["jobs"], slots=3, versions={"containment": "a pid namespace per attempt"})
    client.force_login(operator)
    assert "Jobs in a pid namespace per attempt" in client.get("/workers/").content.decode()


def test_worker_that_is_silent_shows_it(client: Client, operator: User) -> None:
    beat(name="host:1", queues=["jobs"], slots=3, versions={})
    Worker.objects.update(seen_at=now() - timedelta(minutes=1))
    client.force_login(operator)
    assert "silent" in client.get("/workers/").content.decode()


def test_teams_see_no_workers(client: Client, member: User) -> None:
    client.force_login(member)
    assert client.get("/workers/").status_code == 403
