"""A worker whose broker went away and came back takes jobs again, also those whose message was lost meanwhile."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import pytest
from django.conf import settings
from django.db import connection
from django.db.models.functions import Now
from kombu import Queue

from portal.celery import app
from portal.embedded import locations, valkey
from portal.embedded.valkey import Valkey
from provisioning.fleet.models import Node
from provisioning.jobs import bell, claims, tasks
from provisioning.jobs.models import Job
from tests.chaos.workers import Worker, wait_until
from tests.relay import Address, Relay

pytestmark = [pytest.mark.ansible, pytest.mark.django_db(transaction=True)]

BLOCKED = 30.0
"""Seconds for which nothing gets through to the broker."""
NOTICED = 15.0
"""Seconds after which a worker knows that nothing gets through."""
LONGEST_RING = 30.0
"""Seconds that whoever rings waits at most, on a busy machine: some for an answer, at each of the few steps of a connection."""


@contextmanager
def relayed(url: str) -> Iterator[tuple[Relay, str]]:
    """A line to the broker of `url`, up, and the broker's address by way of it."""
    told = urlsplit(url)
    if told.scheme.endswith("+socket"):
        behind: Address = told.path
        there = told._replace(scheme="redis", path="/0", query="")
    else:
        behind, there = (str(told.hostname), int(told.port or 0)), told
    with closing(Relay(behind)) as line:
        who, at, _ = told.netloc.rpartition("@")
        yield line, urlunsplit(there._replace(netloc=f"{who}{at}127.0.0.1:{line.port}"))


class Broker:
    """A broker of the test's own, which forgets everything when it is killed."""

    def __init__(self, var_dir: Path) -> None:
        self.url = locations.broker_url(var_dir)
        self._server = Valkey.of(var_dir, throwaway=True)
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self._server.prepare()
        self._process = self._server.spawn(subprocess.DEVNULL)
        assert valkey.wait_until_ready(self._server, self._process)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(10)


@pytest.fixture
def own_broker(tmp_path: Path) -> Iterator[Broker]:
    (tmp_path / "servers").mkdir(mode=0o700)
    broker = Broker(tmp_path / "servers")
    broker.start()
    yield broker
    broker.kill()


def test_job_whose_message_was_lost_with_the_broker_is_run_when_there_is_one_again(
    make_nodes: Callable[..., list[Node]],
    queue: Callable[..., Job],
    own_broker: Broker,
    start_worker: Callable[..., Worker],
) -> None:
    first, second = make_nodes(2)
    start_worker(broker=own_broker.url)
    before = queue([first])
    wait_until(lambda: Job.objects.get(pk=before.pk).is_ended, "the worker works")
    own_broker.kill()
    during = queue([second])
    assert Job.objects.get(pk=during.pk).status == "queued"
    own_broker.start()
    wait_until(lambda: Job.objects.get(pk=during.pk).is_ended, "it works again")
    assert Job.objects.get(pk=during.pk).status == "succeeded"


def test_worker_whose_broker_s_port_was_blocked_runs_what_waited_meanwhile(
    make_nodes: Callable[..., list[Node]],
    queue: Callable[..., Job],
    broker_url: str,
    bells: Queue,
    start_worker: Callable[..., Worker],
) -> None:
    """Of the run's own broker, whichever that is: the worker hears no refusal and no end of its line, only silence."""
    first, second = make_nodes(2)
    with relayed(broker_url) as (line, url):
        worker = start_worker(bells.name, url)
        before = queue([first])
        Job.objects.update(queue=bells.name)
        wait_until(lambda: Job.objects.get(pk=before.pk).is_ended, "the worker works")
        line.silence()
        during = queue([second])
        Job.objects.filter(pk=during.pk).update(queue=bells.name)
        time.sleep(BLOCKED)
        assert Job.objects.get(pk=during.pk).status == "queued"
        line.mend()
        wait_until(lambda: Job.objects.get(pk=during.pk).is_ended, "it works again")
        assert worker.process.poll() is None
    assert set(Job.objects.values_list("status", flat=True)) == {"succeeded"}


def test_job_of_a_lost_worker_is_taken_care_of_while_the_broker_never_answers(
    make_nodes: Callable[..., list[Node]],
    queue: Callable[..., Job],
    broker_url: str,
    bells: Queue,
    start_worker: Callable[..., Worker],
) -> None:
    """Each worker waits for its broker then, and no sweep is sent. That is no reason to hold nodes for a worker that is gone."""
    first, second = make_nodes(2)
    with relayed(broker_url) as (line, url):
        start_worker(bells.name, url)
        before = queue([first])
        Job.objects.update(queue=bells.name)
        wait_until(lambda: Job.objects.get(pk=before.pk).is_ended, "the worker works")
        line.silence()
        time.sleep(NOTICED)
        lost = queue([second])
        assert claims.claim(lost.pk, worker="another-machine:1/2") is not None
        Job.objects.filter(pk=lost.pk).update(lease_until=Now())
        wait_until(lambda: Job.objects.get(pk=lost.pk).status == "queued", "it waits for its next attempt")


@pytest.mark.parametrize("knows_it", [True, False], ids=["whose-line-stands", "who-comes-anew"])
def test_broker_that_never_answers_keeps_nobody_waiting_who_rings(
    knows_it: bool,  # noqa: FBT001 - a parameter of the test
    make_nodes: Callable[..., list[Node]],
    queue: Callable[..., Job],
    broker_url: str,
    bells: Queue,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It takes the connection and every word, as a frozen one does: a page or a sweep that rang would hang with it."""
    job = queue(make_nodes(1))
    options = settings.AMQP_OPTIONS if broker_url.startswith("amqp") else settings.REDIS_OPTIONS
    heard: list[bool] = []
    with relayed(broker_url) as (line, url):
        ours = app.connection_for_write(url, transport_options=options)
        rings, where = partial(tasks.run.apply_async, connection=ours), [bells]
        monkeypatch.setattr(
            tasks.run, "apply_async", lambda args, **more: rings(args, **{**more, "queue": where[-1]})
        )
        if knows_it:
            assert bell.ring(job.pk)
            where.append(Queue(f"{bells.name}-2", bells.exchange, routing_key="2"))  # has to be declared
        line.silence()
        ringing = threading.Thread(target=lambda: heard.append(_ring(job.pk)), daemon=True)
        ringing.start()
        ringing.join(LONGEST_RING)
        assert heard == [False]
    ours.close()


def _ring(job_id: int) -> bool:
    try:
        return bell.ring(job_id)
    finally:
        connection.close()
