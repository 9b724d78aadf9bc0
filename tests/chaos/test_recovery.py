"""How long a job, a node or work that waits was without anybody is measured, and put down to the fault that struck it."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from django.db.models import F
from django.db.models.functions import Now

from provisioning.fleet.models import Node
from provisioning.jobs import claims
from provisioning.jobs.models import Job, NodeLease
from provisioning.workers import services as workers
from tests.chaos import recovery as room
from tests.chaos import servers
from tests.chaos.evidence import Evidence, Fault
from tests.chaos.kept import Kept
from tests.chaos.recovery import Recovery
from tests.chaos.stage import Stage
from tests.chaos.visitor import WEB_KILLED, Answer

pytestmark = pytest.mark.django_db

LEASE = 10.0


@pytest.fixture
def recovery(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Recovery:
    monkeypatch.setattr(room, "LOOK_EVERY", 0.0)
    return Recovery(LEASE, Stage(tmp_path, servers.given("", "")), Evidence())


def strikes(recovery: Recovery, name: str, *jobs: Job, ago: float = 30, node: str = "") -> None:
    at = time.time() - ago
    recovery.evidence.faults.append(
        Fault(name, at=at, until=at, jobs=frozenset(job.pk for job in jobs), node=node)
    )


def test_job_without_a_holder_counts_from_its_last_renewal(
    recovery: Recovery, queue: Callable[..., Job], make_nodes: Callable[..., list[Node]]
) -> None:
    job = queue(make_nodes(1))
    claims.claim(job.pk, worker="test:1/2")
    Job.objects.update(lease_until=Now() - timedelta(seconds=15))
    strikes(recovery, "worker killed", job)
    strikes(recovery, "child killed")
    recovery.look()
    assert recovery.worst == {"worker killed": pytest.approx(25, abs=2)}
    [said] = recovery.slow()
    assert "worker killed" in said
    assert f"until {job.ref} had a holder again" in said
    Job.objects.update(lease_until=Now() + timedelta(seconds=15), adoptions=1)
    recovery.look()
    assert recovery.taken == 1


def test_recovery_within_two_leases_is_fast_enough(recovery: Recovery) -> None:
    recovery.worst["worker killed"] = 2 * LEASE
    assert recovery.slow() == []


def test_node_that_was_well_and_drains_is_measured_and_one_that_was_away_is_not(
    recovery: Recovery, queue: Callable[..., Job], make_nodes: Callable[..., list[Node]]
) -> None:
    first, second = make_nodes(2)
    jobs = [queue([first]), queue([second])]
    for job in jobs:
        claims.claim(job.pk, worker="test:1/2")
    NodeLease.objects.update(draining_since=Now() - timedelta(seconds=25), probe_after=Now())
    strikes(recovery, "child killed", *jobs)
    strikes(recovery, "node silent", ago=20, node=second.name)
    recovery.look()
    assert recovery.worst["child killed"] == pytest.approx(25, abs=2)
    NodeLease.objects.filter(node=first).update(released_at=F("taken_at"))
    recovery.worst.clear()
    recovery.look()
    assert recovery.worst == {}


@pytest.mark.parametrize("server", ["broker", "database"])
def test_node_that_drains_counts_from_the_return_of_what_a_look_needs(
    server: str, recovery: Recovery, queue: Callable[..., Job], make_nodes: Callable[..., list[Node]]
) -> None:
    job = queue(make_nodes(1))
    claims.claim(job.pk, worker="test:1/2")
    NodeLease.objects.update(draining_since=Now() - timedelta(seconds=50), probe_after=Now())
    strikes(recovery, "child killed", job, ago=55)
    at = time.time()
    recovery.evidence.faults.append(Fault(f"{server} frozen", at=at - 45, until=at - 5, everybody=True))
    recovery.look()
    assert recovery.worst["child killed"] == pytest.approx(5, abs=2)


def test_work_that_waits_beside_a_free_slot_is_measured(
    recovery: Recovery,
    queue: Callable[..., Job],
    make_nodes: Callable[..., list[Node]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    job = queue(make_nodes(1))
    strikes(recovery, "messages lost")
    monkeypatch.setattr(Kept, "lives", True)
    monkeypatch.setattr(Kept, "pid", 4711)
    kept = recovery.stage.kept["jobs-1"] = Kept("jobs-1", lambda: pytest.fail("not started"))
    recovery.look()
    assert recovery.worst == {}, "no worker has said that it is there"
    workers.beat(name=f"{socket.gethostname()[:80]}:4711", queues=["jobs"], slots=2, versions={})
    kept.leaves = True
    recovery.look()
    assert recovery.worst == {}, "the only one is on its way out"
    kept.leaves = False
    recovery.look()
    assert "messages lost" in recovery.worst
    claims.claim(job.pk, worker="test:1/2")
    recovery.worst.clear()
    recovery.look()
    assert recovery.worst == {}


def test_web_server_counts_to_its_first_good_answer(recovery: Recovery) -> None:
    recovery.evidence.faults.append(Fault(WEB_KILLED, at=100, until=102))
    recovery.of_web([Answer("/healthz", 101, 9, 0), Answer("/healthz", 111, 1, 200)])
    assert recovery.worst == {WEB_KILLED: 12}


def test_database_that_was_away_counts_from_its_return(
    recovery: Recovery, queue: Callable[..., Job], make_nodes: Callable[..., list[Node]]
) -> None:
    job = queue(make_nodes(1))
    claims.claim(job.pk, worker="test:1/2")
    Job.objects.update(lease_until=Now() - timedelta(seconds=50))
    at = time.time()
    recovery.evidence.faults.append(Fault("database frozen", at=at - 55, until=at - 5, everybody=True))
    recovery.look()
    assert recovery.worst == {"database frozen": pytest.approx(5, abs=2)}
    recovery.worst.clear()
    recovery.of_web([Answer("/healthz", at - 2, 1, 200)])
    assert recovery.worst == {"database frozen": pytest.approx(4, abs=0.1)}
