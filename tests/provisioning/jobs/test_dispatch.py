"""The queue in the database is the one the rules decide about."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from portal.accounts.models import Team
from portal.kernel.clock import now
from provisioning.fleet.models import Node
from provisioning.jobs import claims, dispatch, sweeper
from provisioning.jobs.models import Job
from provisioning.jobs.queueing import PATIENCE
from provisioning.orders.models import Order
from provisioning.workers.models import Worker
from provisioning.workers.services import beat

pytestmark = pytest.mark.django_db
Nodes = Callable[..., list[Node]]
Queue = Callable[..., Job]


def a_worker(slots: int) -> None:
    beat(name="host:1", queues=["jobs"], slots=slots, versions={})


def test_job_of_a_workaround_takes_the_slot_that_is_kept_for_it(
    make_nodes: Nodes, queue: Queue, team: Team
) -> None:
    nodes = make_nodes(5)
    a_worker(3)
    for node in nodes[:2]:
        assert claims.claim(queue([node]).pk, worker="w") is not None
    ordinary = queue([nodes[2]])
    assert claims.next_runnable("jobs") is None
    assert claims.claim(ordinary.pk, worker="w") is None, "nor when a message names it"
    apply = Order.objects.create(status="placed", kind="apply", team=team)
    unblock = queue([nodes[3]], order=apply)
    assert claims.next_runnable("jobs") == unblock.pk
    assert claims.claim(unblock.pk, worker="w") is not None
    sweeper.ring_unheard()
    ordinary.refresh_from_db()
    assert ordinary.waiting_for == "Waits for a worker: all 3 slots are taken."


def test_job_that_waited_long_gets_its_nodes_before_a_later_one(make_nodes: Nodes, queue: Queue) -> None:
    nodes = make_nodes(2)
    running = queue(nodes[:1])
    held = claims.claim(running.pk, worker="w")
    assert held is not None
    wide, narrow = queue(nodes), queue(nodes[1:])
    assert claims.next_runnable("jobs") == narrow.pk
    Job.objects.filter(pk=wide.pk).update(created_at=now() - PATIENCE - timedelta(seconds=1))
    assert claims.next_runnable("jobs") is None
    assert (
        dispatch.decision("jobs").why[narrow.pk]
        == f"Waits for gpu-002, which is kept for {wide.ref}: that has waited longest."
    )


def test_worker_that_is_silent_counts_for_nothing(make_nodes: Nodes, queue: Queue) -> None:
    queue(make_nodes(1))
    a_worker(3)
    Worker.objects.update(seen_at=now() - timedelta(minutes=5))
    assert list(dispatch.decision("jobs").why.values()) == ["No worker takes jobs right now."]
    job = Job.objects.get()
    assert claims.claim(job.pk, worker="w") is not None, "whoever asks is there"


def test_long_queue_is_read_in_as_many_questions_as_a_short_one(make_nodes: Nodes, queue: Queue) -> None:
    nodes = make_nodes(3)

    def questions() -> int:
        with CaptureQueriesContext(connection) as seen:  # fmt: skip
            dispatch.decision("jobs")
        return len(seen)

    queue(nodes)
    few = questions()
    for _ in range(40):
        queue(nodes)
    assert questions() == few
