"""A job has one owner and a node has one job, however many ask at once."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.db.models.functions import Now
from django.db.utils import IntegrityError

from provisioning.fleet.models import Node
from provisioning.jobs import claims, tasks
from provisioning.jobs.attempts import Attempt
from provisioning.jobs.claims import Claim, Fenced
from provisioning.jobs.finishing import end_job
from provisioning.jobs.models import Job, NodeLease
from provisioning.jobs.states import JobAction, Reason

Nodes = Callable[..., list[Node]]
Queue = Callable[..., Job]


def at_once(*what: Callable[[], object]) -> list[object]:
    """Run all in threads that begin together; what each gave."""
    start = threading.Barrier(len(what))
    found: list[object] = [None] * len(what)

    def run(place: int) -> None:
        try:
            start.wait(10)
            found[place] = what[place]()
        except Exception as problem:  # noqa: BLE001 - the test looks at it
            found[place] = problem
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(place,)) for place in range(len(what))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return found


def taken(job: Job) -> Claim:
    held = claims.claim(job.pk, worker="test:1/2")
    assert held is not None
    return held


@pytest.mark.django_db(transaction=True)
def test_message_that_comes_five_times_at_once_claims_once(make_nodes: Nodes, queue: Queue) -> None:
    job = queue(make_nodes(3))
    found = at_once(*[lambda: claims.claim(job.pk, worker="w")] * 5)
    assert sum(isinstance(each, Claim) for each in found) == 1
    assert sum(each is None for each in found) == 4
    job.refresh_from_db()
    assert (job.status, job.attempt) == ("claimed", 1)


@pytest.mark.django_db(transaction=True)
def test_fifty_jobs_on_overlapping_nodes_never_share_one_never_wait_in_a_ring_and_all_end(
    make_nodes: Nodes, queue: Queue
) -> None:
    nodes, die = make_nodes(8), random.Random(7)
    sets = [die.sample(nodes, die.randint(1, 4)) for _ in range(50)]
    jobs = [queue(each) for each in sets]
    wanted = {job.pk: {node.pk for node in each} for job, each in zip(jobs, sets, strict=True)}
    busy: set[int] = set()
    shared: list[set[int]] = []
    turn = threading.Lock()

    def work() -> int:
        ended = 0
        while Job.objects.exclude(status="succeeded").exists():
            job_id = claims.next_runnable("jobs")
            held = None if job_id is None else claims.claim(job_id, worker="w")
            if held is None:
                continue
            with turn:  # nobody else may have them between this claim's commit and its end
                shared.append(busy & wanted[held.job_id])
                busy.update(wanted[held.job_id])
            with transaction.atomic():
                job = claims.ours(held)
                Job.objects.filter(pk=job.pk).update(status="running")
                job.refresh_from_db()
                with turn:
                    busy.difference_update(wanted[held.job_id])
                end_job(job, JobAction.SUCCEED, reason=Reason.NONE, text="")
            ended += 1
        return ended

    found = at_once(*[work] * 4)
    assert [each for each in found if not isinstance(each, int)] == [], "a deadlock is an exception here"
    assert sum(each for each in found if isinstance(each, int)) == len(jobs)
    assert shared == [set()] * len(jobs)
    assert NodeLease.objects.count() == sum(map(len, sets))
    assert not NodeLease.objects.filter(released_at=None).exists()


@pytest.mark.django_db(transaction=True)
def test_message_that_comes_five_times_at_once_runs_the_job_once(
    make_nodes: Nodes, queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[Claim] = []

    def end_well(self: Attempt) -> str:
        ran.append(self.held)
        with transaction.atomic():
            job = claims.ours(self.held)
            Job.objects.filter(pk=job.pk).update(status="running")
            job.refresh_from_db()
            return str(end_job(job, JobAction.SUCCEED, reason=Reason.NONE, text="").status)

    monkeypatch.setattr(Attempt, "run", end_well)
    job = queue(make_nodes(3))
    found = at_once(*[lambda: tasks.run(job.ref)] * 5)
    assert sorted(map(str, found)) == [f"{job.ref} succeeded", *["nothing to run"] * 4]
    assert [(held.job_id, held.attempt) for held in ran] == [(job.pk, 1)]


@pytest.mark.django_db
def test_database_refuses_a_second_job_on_a_node(make_nodes: Nodes, queue: Queue) -> None:
    nodes = make_nodes(1)
    first, second = queue(nodes), queue(nodes)
    taken(first)
    with pytest.raises(IntegrityError), transaction.atomic():
        NodeLease.objects.create(node=nodes[0], job=second, attempt=1)


@pytest.mark.django_db
def test_job_whose_node_is_busy_stays_queued_and_says_who_has_it(make_nodes: Nodes, queue: Queue) -> None:
    nodes = make_nodes(3)
    first, second = queue(nodes[:2]), queue(nodes[1:])
    taken(first)
    assert claims.claim(second.pk, worker="w") is None
    second.refresh_from_db()
    assert (second.status, second.attempt) == ("queued", 0)
    assert second.waiting_for == f"Waits for gpu-002, which {first.ref} holds."
    assert NodeLease.objects.filter(job=second).count() == 0


@pytest.mark.django_db
def test_worker_takes_urgent_jobs_first_and_passes_those_that_wait(make_nodes: Nodes, queue: Queue) -> None:
    nodes = make_nodes(2)
    running = queue(nodes[:1])
    taken(running)
    blocked = queue(nodes[:1], priority=9)
    plain, urgent = queue(nodes[1:]), queue(nodes[1:], priority=5)
    assert claims.next_runnable("jobs") == urgent.pk
    assert claims.next_runnable("another queue") is None
    assert {blocked.status, plain.status} == {"queued"}


@pytest.mark.django_db
def test_lease_is_on_the_clock_of_the_database(make_nodes: Nodes, queue: Queue) -> None:
    job = queue(make_nodes(1))
    held = taken(job)
    ahead = Job.objects.filter(pk=job.pk, lease_until__gt=Now() + held.lease - timedelta(seconds=5))
    assert ahead.exists()
    assert not Job.objects.filter(pk=job.pk, lease_until__gt=Now() + held.lease).exists()


@pytest.mark.django_db
def test_worker_that_renews_hears_in_the_same_breath_that_it_should_stop(
    make_nodes: Nodes, queue: Queue
) -> None:
    held = taken(queue(make_nodes(1)))
    assert not claims.renew(held).cancel
    Job.objects.filter(pk=held.job_id).update(cancel_requested_at=Now(), hand_back=True)
    assert claims.renew(held).cancel
    assert claims.wishes(held).hand_back


@pytest.fixture
def fenced(db: None, make_nodes: Nodes, queue: Queue) -> Claim:
    """A claim that was taken over."""
    job = queue(make_nodes(1))
    held = taken(job)
    end_job(Job.objects.get(pk=job.pk), JobAction.LOSE, reason=Reason.WORKER_LOST, text="It was lost.")
    assert taken(job).attempt == held.attempt + 1
    return held


def test_worker_whose_job_was_taken_over_can_not_renew(fenced: Claim) -> None:
    with pytest.raises(Fenced):
        claims.renew(fenced)


def test_worker_whose_job_was_taken_over_can_not_write(fenced: Claim) -> None:
    with pytest.raises(Fenced), transaction.atomic():
        claims.ours(fenced)


def test_worker_whose_job_was_taken_over_hears_it_when_it_asks(fenced: Claim) -> None:
    with pytest.raises(Fenced):
        claims.wishes(fenced)
