"""Nodes are reached by workers of their own site alone, and a site without a worker is said."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from portal.kernel.clock import now
from portal.kernel.errors import Refused
from portal.ledger.dispatch import deliver_all
from provisioning.fleet.importing import import_fleet
from provisioning.fleet.models import Node
from provisioning.jobs import claims, dispatch, draining, looking, queries, supervisor, sweeper, tasks
from provisioning.jobs.claims import Claim
from provisioning.jobs.finishing import end_job
from provisioning.jobs.models import Job, NodeLease
from provisioning.jobs.states import JobAction, JobState, Reason
from provisioning.workers import queries as worker_queries
from provisioning.workers.models import Worker
from provisioning.workers.services import beat
from tests.provisioning.builders import some_nodes

Nodes = Callable[..., list[Node]]
Queue = Callable[..., Job]

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def rung(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Bells: which queue, and for what."""
    heard: list[tuple[str, str]] = []
    monkeypatch.setattr(tasks.run, "apply_async", lambda args, **more: heard.append((more["queue"], args[0])))
    monkeypatch.setattr(
        tasks.prove_quiet, "apply_async", lambda **more: heard.append((more["queue"], more["kwargs"]["site"]))
    )
    return heard


def a_worker(name: str, *queues: str, slots: int = 3) -> None:
    beat(name=name, queues=queues, slots=slots, versions={})


@pytest.fixture
def north(make_nodes: Nodes) -> list[Node]:
    return make_nodes(5, site="north")


@pytest.fixture
def south(make_nodes: Nodes) -> list[Node]:
    return make_nodes(3, start=101, site="south")


def test_job_rings_at_the_site_of_its_nodes(north: list[Node], south: list[Node], queue: Queue) -> None:
    assert queue(north[:1]).queue == "jobs.north"
    assert queue(south[:1]).queue == "jobs.south"


def test_job_over_two_sites_is_refused_with_what_to_do(
    north: list[Node], south: list[Node], queue: Queue
) -> None:
    with pytest.raises(Refused, match=r"stand at north and south.*Ask for a job at each site") as refusal:
        queue([north[0], south[0]])
    assert refusal.value.code == "several-sites"
    assert not Job.objects.exists()


def test_job_of_a_site_without_a_living_worker_says_so(
    north: list[Node], south: list[Node], queue: Queue
) -> None:
    a_worker("host:1", "jobs.south")
    job, other = queue(north[:1]), queue(south[:1])
    sweeper.ring_unheard()
    job.refresh_from_db()
    assert queries.say_why(job) == (
        "No worker of site north is there: start one, or its nodes can't be reached."
    )
    other.refresh_from_db()
    assert queries.say_why(other) == "Waits for a worker of site south."
    a_worker("host:2", "jobs.north")
    sweeper.ring_unheard()
    job.refresh_from_db()
    assert queries.say_why(job) == "Waits for a worker of site north."
    Worker.objects.filter(name="host:2").update(seen_at=now() - timedelta(minutes=5))
    assert "No worker of site north" in dispatch.decision("jobs.north").why[job.pk]


def test_worker_takes_jobs_of_the_queue_that_rang_and_no_others(
    north: list[Node], south: list[Node], queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[int] = []
    monkeypatch.setattr(supervisor, "run_claimed", lambda job_id: ran.append(job_id) or "succeeded")
    there, here = queue(south[:1]), queue(north[:1])
    tasks.run.push_request(delivery_info={"routing_key": "jobs.north"})
    try:
        became = tasks.run.run(there.ref)
    finally:
        tasks.run.pop_request()
    assert became == f"J-{here.pk} succeeded", "the bell of the other job was rung here"
    assert ran == [here.pk]


def test_job_whose_nodes_moved_waits_at_their_new_site(
    make_nodes: Nodes, queue: Queue, rung: list[tuple[str, str]]
) -> None:
    job = queue(make_nodes(2, site="north"))
    Node.objects.update(site="south")
    assert claims.claim(job.pk, worker="w") is None, "a worker of the old site leaves it alone"
    job.refresh_from_db()
    assert (job.queue, job.status) == ("jobs.south", "queued")
    sweeper.ring_unheard()
    assert rung == [("jobs.south", job.ref)]


@pytest.mark.django_db(transaction=True)
def test_import_that_moves_nodes_takes_their_queued_jobs_along(queue: Queue, tmp_path: Path) -> None:
    nodes = some_nodes(2, site="north", rack=None, connection="ssh", simulated=False, simulated_node_dir="")
    job = queue(nodes)
    file = tmp_path / "fleet.csv"
    rows = "".join(f"{node.name},{node.address},h100-sxm5-80g,south\n" for node in nodes)
    file.write_text(f"name,address,sku,site\n{rows}")
    result = import_fleet(path=file, by=None)
    assert result.applied, result.complaints
    deliver_all()
    job.refresh_from_db()
    assert job.queue == "jobs.south"


def test_attempt_whose_nodes_were_torn_apart_speaks_to_none_of_them(make_nodes: Nodes, queue: Queue) -> None:
    nodes = make_nodes(2, site="north")
    job = queue(nodes)
    Node.objects.filter(pk=nodes[0].pk).update(site="south")
    assert supervisor.run_claimed(job.pk) == "failed"
    job.refresh_from_db()
    assert job.reason == Reason.COULD_NOT_START
    assert "stand at north and south" in job.reason_text


def stopped(job: Job) -> NodeLease:
    assert claims.claim(job.pk, worker="w") is not None
    Job.objects.filter(pk=job.pk).update(status=JobState.RUNNING)
    job.refresh_from_db()
    end_job(job, JobAction.CANCEL, reason=Reason.USER, text="It was stopped.", drains=True)
    return NodeLease.objects.get(job=job)


def test_draining_node_is_looked_at_from_its_own_site(
    north: list[Node], south: list[Node], queue: Queue, rung: list[tuple[str, str]]
) -> None:
    for node in (north[0], south[0]):
        stopped(queue([node]))
    rung.clear()
    draining.ring_when_due()
    assert rung == [("looks.north", "north"), ("looks.south", "south")]
    assert [lease.node.site for lease in draining.take_looks("north")] == ["north"]
    assert draining.sites() == ["south"]
    assert looking.prove_quiet(site="east") == 0


def test_node_of_a_small_installation_is_looked_at_without_a_site(
    make_nodes: Nodes, queue: Queue, rung: list[tuple[str, str]]
) -> None:
    stopped(queue(make_nodes(1)))
    rung.clear()
    draining.ring_when_due()
    assert rung == [("looks", "")]


def test_slot_for_unblock_jobs_is_kept_at_each_site(
    north: list[Node], south: list[Node], queue: Queue
) -> None:
    a_worker("host:1", "jobs.north")
    a_worker("host:2", "jobs.south")
    for node in north[:2]:
        assert claims.claim(queue([node]).pk, worker="host:1/7") is not None
    assert claims.claim(queue([north[2]]).pk, worker="host:1/7") is None
    assert claims.claim(queue([south[0]]).pk, worker="host:2/7") is not None, "that site has room of its own"
    assert claims.claim(queue([north[3]], priority=10).pk, worker="host:1/7") is not None


def test_worker_of_two_sites_has_its_slots_once(north: list[Node], south: list[Node], queue: Queue) -> None:
    a_worker("host:1", "jobs.north", "jobs.south")
    for node in (north[0], south[0]):
        assert claims.claim(queue([node]).pk, worker="host:1/7") is not None
    job = queue([north[1]])
    assert claims.claim(job.pk, worker="host:1/7") is None
    assert dispatch.decision("jobs.north").why[job.pk] == (
        "Waits for a worker of site north: the one slot that is free is kept for jobs that unblock a team."
    )


def test_job_that_was_taken_over_takes_no_slot(north: list[Node], queue: Queue) -> None:
    a_worker("host:1", "jobs.north", slots=1)
    job = queue([north[0]])
    assert claims.claim(job.pk, worker="host:0/7") is not None
    assert dispatch.decision("jobs.north").runnable == ()
    waiting = queue([north[1]])
    assert waiting.pk in dispatch.decision("jobs.north").why
    Job.objects.filter(pk=job.pk).update(adoptions=1)
    assert dispatch.decision("jobs.north").runnable == (waiting.pk,)


@pytest.mark.django_db(transaction=True)
def test_claims_at_the_same_moment_leave_the_kept_slot_free(make_nodes: Nodes, queue: Queue) -> None:
    """Each of them alone would find it open to ordinary jobs."""
    jobs = [queue([node]) for node in make_nodes(8)]
    a_worker("host:1", "jobs", slots=3)
    start = threading.Barrier(len(jobs))
    found: list[Any] = []

    def take(job: Job) -> None:
        try:
            start.wait(30)
            found.append(claims.claim(job.pk, worker="host:1/7"))
        finally:
            connection.close()

    threads = [threading.Thread(target=take, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sum(isinstance(each, Claim) for each in found) == 2


def test_sites_that_no_worker_reaches_are_told(north: list[Node], south: list[Node]) -> None:
    a_worker("host:1", "jobs.north", "jobs.south")
    a_worker("host:2", "doorbell", "looks.north")
    assert [each.say() for each in worker_queries.unserved()] == ["site south (3 nodes): looks"]
