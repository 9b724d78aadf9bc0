"""How much room there is, by site: slots, forks, who waits, when one more would start, and the nodes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from portal.accounts.models import Team, User
from portal.kernel.clock import now
from provisioning.contracts import OrderKind
from provisioning.fleet.models import Node, Sku
from provisioning.jobs import claims, forking
from provisioning.jobs.models import HostResult, Job, NodeLease
from provisioning.orders.models import Order
from provisioning.workers import queries, room
from provisioning.workers.services import beat
from provisioning.workers.sizing import Machine
from tests.provisioning.jobs.conftest import make_nodes, queue, sku, tiny

__all__ = ["make_nodes", "queue", "sku", "tiny"]
pytestmark = pytest.mark.django_db

Nodes = Callable[..., list[Node]]
Queue = Callable[..., Job]
WORKER = Machine(cores=4, memory_mib=8192, free_mib=6000)


def a_worker(name: str, *queues: str, slots: int = 3) -> None:
    beat(name=name, queues=queues, slots=slots, versions={}, machine=WORKER)


def ended(minutes: float, node: Node, **more: Any) -> Job:
    """A job that kept its slot so long."""
    told = {"playbook": "provision_node", "status": "succeeded", "attempt": 1, "mark": "m", **more}
    return Job.objects.create(started_at=now() - timedelta(minutes=minutes), ended_at=now(), **told)


def running(job: Job, *, worker: str, minutes: float, forks: int = 4) -> None:
    assert claims.claim(job.pk, worker=worker) is not None
    Job.objects.filter(pk=job.pk).update(
        status="running", started_at=now() - timedelta(minutes=minutes), forks=forks
    )


def one(queue_name: str) -> room.Room:
    (found,) = [each for each in room.rooms() if each.queue == queue_name]
    return found


def test_queue_tells_slots_forks_who_waits_and_when_one_more_would_start(
    make_nodes: Nodes, queue: Queue, team: Team
) -> None:
    nodes = make_nodes(8, site="north")
    a_worker("host:1", "jobs.north")
    for minutes in (10, 20, 30):
        ended(minutes, nodes[0], playbook="tiny")
    running(queue([nodes[0]]), worker="host:1/7", minutes=5)
    running(queue([nodes[1]]), worker="host:1/8", minutes=15)
    queue([nodes[2]])
    queue([nodes[0]])
    queue([nodes[3]], priority=-1)
    found = one("jobs.north")
    assert (found.site, found.workers, found.slots, found.kept, found.taken, found.free) == (
        *("north", 1, 3, 1, 2, 1),
    )
    assert (found.waiting, found.blocked, found.sweeps) == (1, 1, 1)
    assert (found.forks, found.fork_room, found.fork_most) == (8, 16, 158)
    assert found.start.usual == pytest.approx(15 * 60, abs=30), (
        "5 min till a slot is free, 10 more till the other"
    )


def test_room_of_two_workers_on_one_machine_counts_its_cores_once(make_nodes: Nodes) -> None:
    make_nodes(1)
    a_worker("host:1", "jobs")
    a_worker("host:2", "jobs")
    found = one("jobs")
    assert (found.slots, found.fork_room) == (6, 16)


def test_site_with_nodes_and_without_workers_is_told_with_no_slots(make_nodes: Nodes) -> None:
    make_nodes(1, site="north")
    assert one("jobs.north").slots is None
    a_worker("host:1", "jobs.south")
    found = one("jobs.north")
    assert (found.workers, found.slots, found.start.says) == (0, 0, "No worker is there, so nothing starts.")


def test_run_times_are_those_of_the_last_runs_however_they_ended(make_nodes: Nodes) -> None:
    (node,) = make_nodes(1)
    for number in range(60):
        ended(1 if number < 10 else 10, node, status="failed" if number % 2 else "succeeded")
    found = room.run_times()["provision_node"]
    assert (round(found.usual), found.runs) == (600, 50)


def test_nodes_are_counted_by_site_and_by_what_can_be_done_with_them(make_nodes: Nodes, queue: Queue) -> None:
    north = make_nodes(4, site="north")
    make_nodes(1, start=11, site="")
    Node.objects.filter(pk=north[0].pk).update(status="in_use")
    Node.objects.filter(pk=north[1].pk).update(status="quarantined")
    running(queue([north[2]]), worker="host:1/7", minutes=1)
    job = queue([north[3]])
    running(job, worker="host:1/7", minutes=1)
    NodeLease.objects.filter(job=job).update(draining_since=now(), probe_after=now())
    nameless, found = room.nodes_at()
    assert (nameless.site, nameless.total, nameless.free) == ("", 1, 1)
    assert (found.total, found.free, found.in_use, found.out) == (4, 2, 1, 1)
    assert (found.busy, found.unquiet) == (1, 1)


def test_forks_of_an_attempt_are_what_its_machine_has_left(
    make_nodes: Nodes, queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forking, "this_machine", lambda: WORKER)
    nodes = make_nodes(30)
    a_worker("host:1", "jobs")
    first, second = queue(nodes[:20]), queue(nodes[20:])
    running(first, worker="host:1/7", minutes=0, forks=14)
    assert claims.claim(second.pk, worker="host:1/8") is not None
    second.refresh_from_db()
    assert forking.forks_of(second, hosts=10).number == 5, "an even share of three slots"
    Job.objects.filter(pk=first.pk).update(claimed_by="other:1/7")
    assert forking.forks_of(second, hosts=10).number == 10


@pytest.fixture
def crowd(sku: Sku, tiny: object) -> Callable[[int, int], None]:
    """Many nodes and many queued jobs, without a bell for each."""

    def make(nodes: int, jobs: int) -> None:
        start = Node.objects.count()
        made = Node.objects.bulk_create(
            Node(
                status="free",
                name=f"gpu-{start + number:05d}",
                address=f"gpu-{start + number:05d}",
                sku=sku,
                site=("", "north", "south")[number % 3],
            )
            for number in range(nodes)
        )
        at = {site: [node for node in made if node.site == site] for site in ("", "north", "south")}
        queued = Job.objects.bulk_create(
            Job(
                status="queued",
                playbook="tiny",
                purpose="a test",
                queue="jobs.north" if number % 2 else "jobs",
            )
            for number in range(jobs)
        )
        HostResult.objects.bulk_create(
            HostResult(job=job, attempt=1, node=here[(number * 3 + place) % len(here)])
            for number, job in enumerate(queued)
            for here in [at["north" if job.queue == "jobs.north" else ""]]
            for place in range(min(4, len(here)))
        )
        lease = NodeLease.objects
        for node in made[:20]:
            if not lease.filter(node=node).exists():
                job = Job.objects.create(playbook="tiny", status="lost", ended_at=now(), attempt=1, mark="m")
                lease.create(node=node, job=job, attempt=1)

    return make


@pytest.mark.parametrize("address", ["/workers/", "/workers/capacity/"])
def test_page_asks_as_much_of_2000_jobs_and_5000_nodes_as_of_few(
    crowd: Callable[[int, int], None], client: Client, operator: User, address: str
) -> None:
    client.force_login(operator)
    a_worker("host:1", "jobs", "jobs.north")

    def questions() -> int:
        with CaptureQueriesContext(connection) as seen:
            assert client.get(address, headers={"HX-Request": "true"}).status_code == 200
        return len(seen)

    crowd(60, 120)
    few = questions()
    crowd(4_940, 1_880)
    assert Job.objects.filter(status="queued").count() == 2_000
    assert questions() <= few
    assert few <= 20


def test_page_tells_how_long_the_queue_is_and_names_the_first(
    crowd: Callable[[int, int], None], client: Client, operator: User
) -> None:
    crowd(30, 240)
    client.force_login(operator)
    page = client.get("/workers/").content.decode()
    assert "the first 100 of" in page
    longest = queries.node_queues()[0]
    assert longest.waiting > len(longest.first) == queries.NAMED
    assert f"and {longest.more} more" in page


def test_capacity_page_says_how_it_was_computed(
    make_nodes: Nodes, queue: Queue, client: Client, operator: User
) -> None:
    nodes = make_nodes(3, site="north")
    a_worker("host:1", "jobs.north", slots=1)
    ended(12, nodes[0], playbook="tiny")
    running(queue([nodes[0]]), worker="host:1/7", minutes=2)
    queue([nodes[1]])
    client.force_login(operator)
    page = client.get("/workers/capacity/").content.decode()
    assert "jobs.north" in page
    assert "1 running and 1 waiting are played through 1 slot" in page
    assert "0 of 1 free" in page


def test_api_tells_the_same_to_infra_staff_and_nothing_to_others(
    make_nodes: Nodes, queue: Queue, operator: User, member: User, team: Team
) -> None:
    (node, other) = make_nodes(2, site="north")
    a_worker("host:1", "jobs.north", "looks.north")
    job = queue([node])
    running(job, worker="host:1/7", minutes=1, forks=1)
    behind = queue([node], order=Order.objects.create(status="placed", kind=OrderKind.BUILD, team=team))
    api = APIClient()
    api.force_login(operator)
    (worker,) = api.get("/api/v1/workers").json()
    assert (worker["name"], worker["slots"], worker["free"], worker["cores"]) == ("host:1", 3, 2, 4)
    assert [(held["ref"], held["forks"]) for held in worker["jobs"]] == [(job.ref, 1)]
    (found,) = api.get("/api/v1/queues").json()
    assert (found["queue"], found["taken"], found["blocked"], found["start"]["usual"]) == (
        "jobs.north",
        1,
        1,
        0,
    )
    (behind_node,) = api.get("/api/v1/queues/nodes").json()
    assert (behind_node["node"], behind_node["first"]) == (node.name, [behind.ref])
    assert other.name not in str(behind_node)
    api.force_login(member)
    for address in ("workers", "queues", "queues/nodes"):
        assert api.get(f"/api/v1/{address}").json() == []


def test_team_sees_no_capacity(client: Client, member: User) -> None:
    client.force_login(member)
    assert client.get("/workers/capacity/").status_code == 403
