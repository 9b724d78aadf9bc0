"""A worker whose broker went away and came back takes jobs again, also those whose message was lost meanwhile."""

from __future__ import annotations

import signal
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
from tests.chaos.test_worker_killed import PATIENCE, Worker, wait_until
from tests.provisioning.jobs.conftest import Tiny

__all__ = ["bells"]

pytestmark = [pytest.mark.ansible, pytest.mark.django_db(transaction=True)]

BLOCKED = 30.0
"""Seconds for which nothing gets through to the broker."""


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

    def signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)

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


def test_frozen_broker_keeps_nobody_waiting_who_rings(
    make_nodes: Callable[..., list[Node]],
    queue: Callable[..., Job],
    own_broker: Broker,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It takes the connection and every word, and never answers: a page or a sweep that rang would hang with it."""
    job = queue(make_nodes(1))
    line = tasks.run.app.connection_for_write(own_broker.url, transport_options=settings.REDIS_OPTIONS)
    monkeypatch.setattr(tasks.run, "apply_async", partial(tasks.run.apply_async, connection=line))
    assert bell.ring(job.pk)
    heard: list[bool] = []
    own_broker.signal(signal.SIGSTOP)
    ringing = threading.Thread(target=lambda: heard.append(_ring(job.pk)), daemon=True)
    ringing.start()
    ringing.join(PATIENCE)
    own_broker.signal(signal.SIGCONT)
    assert heard == [False]
    line.close()


def _ring(job_id: int) -> bool:
    try:
        return bell.ring(job_id)
    finally:
        connection.close()
