"""A worker whose broker went away and came back takes jobs again, also those whose message was lost meanwhile."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connection
from kombu import Queue

from portal.celery import app
from portal.embedded import locations, valkey
from portal.embedded.valkey import Valkey
from provisioning.fleet.models import Node
from provisioning.jobs import bell, tasks
from provisioning.jobs.models import Job
from tests.chaos.blocked_door import Door
from tests.chaos.test_bells import bells
from tests.chaos.test_worker_killed import Worker, wait_until
from tests.provisioning.jobs.conftest import Tiny

__all__ = ["bells"]

pytestmark = [pytest.mark.ansible, pytest.mark.django_db(transaction=True)]

BLOCKED = 30.0
"""Seconds for which nothing gets through to the broker."""
LONGEST_RING = 30.0
"""Seconds that whoever rings waits at most, on a busy machine: some for an answer, at each of the few steps of a connection."""


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


@pytest.fixture
def worker(tiny: Tiny, tmp_path: Path, own_broker: Broker) -> Iterator[Worker]:
    (tmp_path / "var").mkdir(mode=0o700)
    started = Worker(tiny, tmp_path / "var", own_broker.url, tmp_path / "worker.log")
    yield started
    started.end()
    print((tmp_path / "worker.log").read_text(errors="replace"))  # noqa: T201 - shown when the test fails


def test_job_whose_message_was_lost_with_the_broker_is_run_when_there_is_one_again(
    make_nodes: Callable[..., list[Node]],
    queue: Callable[..., Job],
    worker: Worker,
    own_broker: Broker,
    tmp_path: Path,
) -> None:
    first, second = make_nodes(2)
    before = queue([first])
    wait_until(lambda: Job.objects.get(pk=before.pk).is_ended, "the worker works")
    own_broker.kill()
    during = queue([second])
    assert Job.objects.get(pk=during.pk).status == "queued"
    own_broker.start()
    wait_until(lambda: Job.objects.get(pk=during.pk).is_ended, "it works again")
    assert Job.objects.get(pk=during.pk).status == "succeeded"


def test_worker_whose_broker_s_port_was_blocked_runs_what_waited_meanwhile(
    tiny: Tiny,
    make_nodes: Callable[..., list[Node]],
    queue: Callable[..., Job],
    broker_url: str,
    bells: Queue,
    tmp_path: Path,
) -> None:
    """Of the run's own broker, whichever that is: the worker hears no refusal and no end of its line, only silence."""
    first, second = make_nodes(2)
    (tmp_path / "var").mkdir(mode=0o700)
    with Door(broker_url) as door:
        worker = Worker(tiny, tmp_path / "var", door.url, tmp_path / "worker.log", bells.name)
        try:
            before = queue([first])
            Job.objects.update(queue=bells.name)
            wait_until(lambda: Job.objects.get(pk=before.pk).is_ended, "the worker works")
            door.shut()
            during = queue([second])
            Job.objects.filter(pk=during.pk).update(queue=bells.name)
            time.sleep(BLOCKED)
            assert Job.objects.get(pk=during.pk).status == "queued"
            door.open()
            wait_until(lambda: Job.objects.get(pk=during.pk).is_ended, "it works again")
            assert worker.process.poll() is None
        finally:
            worker.end()
            print((tmp_path / "worker.log").read_text(errors="replace"))  # noqa: T201 - shown when the test fails
    with app.connection_for_write(url=broker_url) as line:
        bells(line.default_channel).delete()
    assert set(Job.objects.values_list("status", flat=True)) == {"succeeded"}


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
    with Door(broker_url) as door:
        line = app.connection_for_write(door.url, transport_options=options)
        rings, where = partial(tasks.run.apply_async, connection=line), [bells]
        monkeypatch.setattr(
            tasks.run, "apply_async", lambda args, **more: rings(args, **{**more, "queue": where[-1]})
        )
        if knows_it:
            assert bell.ring(job.pk)
            where.append(Queue(f"{bells.name}-2", bells.exchange, routing_key="2"))  # has to be declared
        door.shut()
        ringing = threading.Thread(target=_ring, args=(job.pk,), daemon=True)
        ringing.start()
        ringing.join(LONGEST_RING)
        assert not ringing.is_alive()
    line.close()
    with app.connection_for_write(url=broker_url) as own:
        bells(own.default_channel).delete()


def _ring(job_id: int) -> bool:
    try:
        return bell.ring(job_id)
    finally:
        connection.close()
