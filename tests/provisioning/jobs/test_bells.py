"""Messages may be lost, late or doubled, and a job may take hours: neither costs a job, and nobody touches another's."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connection, transaction

from portal.celery import app
from provisioning.fleet.models import Node
from provisioning.jobs import bell, claims, sweeper, tasks
from provisioning.jobs.models import Job
from provisioning.jobs.services import cancel_job

pytestmark = pytest.mark.django_db

Nodes = Callable[..., list[Node]]
Queue = Callable[..., Job]


class Broken(Exception):
    """Something after the request went wrong."""


@pytest.fixture
def rung(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    refs: list[str] = []
    monkeypatch.setattr(tasks.run, "apply_async", lambda args, **more: refs.append(args[0]))
    monkeypatch.setattr(tasks.prove_quiet, "apply_async", lambda **more: None)
    return refs


@pytest.mark.django_db(transaction=True)
def test_job_is_announced_after_its_commit_and_not_before(
    make_nodes: Nodes, queue: Queue, rung: list[str]
) -> None:
    nodes = make_nodes(1)
    with transaction.atomic():
        job = queue(nodes)
        assert rung == []
    assert rung == [job.ref]


@pytest.mark.django_db(transaction=True)
def test_job_that_is_taken_back_with_its_transaction_is_never_announced(
    make_nodes: Nodes, queue: Queue, rung: list[str]
) -> None:
    nodes = make_nodes(2)
    with transaction.atomic():
        kept = queue(nodes[:1])
        with pytest.raises(Broken), transaction.atomic():
            queue(nodes[1:])
            raise Broken
    assert rung == [kept.ref]
    assert Job.objects.count() == 1


def test_job_whose_bell_was_lost_with_its_web_server_is_announced_by_the_sweep(
    make_nodes: Nodes, queue: Queue, rung: list[str]
) -> None:
    """The hook after the commit never ran: inside this test's transaction it doesn't."""
    job = queue(make_nodes(1))
    assert rung == []
    assert sweeper.ring_unheard() == 1
    assert rung == [job.ref]


def test_sweep_without_a_broker_gives_up_after_the_first_try(
    make_nodes: Nodes, queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each try waits for seconds, and a sweep has more to do."""
    tried: list[str] = []

    def away(args: tuple[str], **more: object) -> None:
        tried.append(args[0])
        raise ConnectionError("no broker")

    monkeypatch.setattr(tasks.run, "apply_async", away)
    jobs = [queue([node]) for node in make_nodes(3)]
    assert sweeper.ring_unheard() == 0
    assert tried == [jobs[0].ref]
    assert Job.objects.filter(announced_at=None).count() == 3


def test_job_of_hours_is_acknowledged_before_its_work_and_cut_short_by_no_limit_of_celery() -> None:
    """A late acknowledgement is delivered again after an hour by one broker, and closes the channel of another after half."""
    assert tasks.run.acks_late is False
    assert tasks.run.time_limit is None
    assert tasks.run.soft_time_limit is None
    assert app.conf.task_time_limit is None
    assert tasks.run.ignore_result or app.conf.task_ignore_result
    assert settings.CELERY_WORKER_PREFETCH_MULTIPLIER == 1


def test_message_about_a_job_that_is_over_finds_nothing_to_do(
    make_nodes: Nodes, queue: Queue, rung: list[str]
) -> None:
    job = cancel_job(queue(make_nodes(1)), by=None)
    assert tasks.run(job.ref) == "nothing to run"
    assert tasks.run("J-999999") == "no such job"
    assert bell.ring(job.pk)
    assert rung == []


def test_jobs_on_different_nodes_are_held_side_by_side(make_nodes: Nodes, queue: Queue) -> None:
    first, second = make_nodes(2)
    jobs = [queue([first, first]), queue([second])]
    assert all(claims.claim(job.pk, worker="w") is not None for job in jobs)


def test_cancelling_a_hundred_jobs_in_any_order_touches_no_other(
    make_nodes: Nodes, queue: Queue, rung: list[str]
) -> None:
    jobs = [queue([node]) for node in make_nodes(110)]
    held = {job.pk: claims.claim(job.pk, worker="w") for job in jobs}
    chosen = random.Random(3).sample(jobs, 100)  # noqa: S311 - a die, no secret
    for place, job in enumerate(chosen, start=1):
        cancel_job(job, by=None)
        assert Job.objects.exclude(cancel_requested_at=None).count() == place
    for job in jobs:
        claim = held[job.pk]
        assert claim is not None
        assert claims.renew(claim).cancel is (job in chosen)
    assert set(Job.objects.values_list("status", flat=True)) == {"claimed"}, "each is ended by its own worker"


def test_nobody_ends_a_worker_s_process_by_the_broker() -> None:
    """Celery's revoke and terminate look a process up and signal it later: by then it may be another job's."""
    assert app.conf.worker_enable_remote_control is False
    words = re.compile(r"\.revoke\(|terminate=|\.control\.")
    houses = [Path(settings.BASE_DIR) / house for house in ("portal", "provisioning", "requests_app")]
    found = [
        str(file) for house in houses for file in house.rglob("*.py") if words.search(file.read_text("utf-8"))
    ]
    assert found == []


@pytest.mark.django_db(transaction=True)
def test_bell_that_is_rung_inside_a_transaction_leaves_it_whole(make_nodes: Nodes, queue: Queue) -> None:
    """A hook of a publisher that closes old connections would break the transaction it runs in."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        before = cursor.fetchone()
    with transaction.atomic():
        job = queue(make_nodes(1))
        assert bell.ring(job.pk)
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            assert cursor.fetchone() == before
        cancel_job(job, by=None)
    assert Job.objects.get(pk=job.pk).status == "cancelled"
