"""Bells on a real broker: none is torn, none of a job that runs is held back, and whoever is killed while ringing loses no job."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings
from django.db.models.functions import Now
from kombu import Consumer, Message, Queue

from portal.celery import app
from portal.embedded import processes
from portal.kernel.clock import now
from provisioning.fleet.models import Node
from provisioning.jobs import sweeper, tasks
from provisioning.jobs.containment import kill_leftovers
from provisioning.jobs.models import HostResult, Job
from tests import debian_servers
from tests.addresses import database_url
from tests.chaos.test_worker_killed import PLAYBOOK
from tests.chaos.workers import Worker, wait_until
from tests.needs import need
from tests.provisioning.jobs.conftest import Tiny

WHOLE = 10_000
SIDES = 4


class Listener(threading.Thread):
    """Takes bells as a worker does, acknowledging each before its work, until `everything` was heard."""

    def __init__(self, url: str, bells: Queue, everything: Callable[[], bool]) -> None:
        super().__init__(daemon=True)
        self.heard: list[str] = []
        self._url, self._bells, self._everything = url, bells, everything

    def run(self) -> None:
        with app.connection_for_read(url=self._url) as line:
            listens = Consumer(
                line, queues=[self._bells], callbacks=[self._hear], accept=["json"], prefetch_count=10
            )
            with listens:
                while not self._everything():
                    with suppress(TimeoutError):
                        line.drain_events(timeout=1)

    def _hear(self, body: list[list[str]], message: Message) -> None:
        message.ack()
        self.heard.append(body[0][0])


def test_ten_thousand_bells_of_four_ringers_reach_four_listeners_each_once(
    broker_url: str, bells: Queue
) -> None:
    def ring(side: int) -> None:
        with app.connection_for_write(url=broker_url) as line, line.Producer() as producer:
            for number in range(side, WHOLE, SIDES):
                tasks.run.apply_async((f"J-{number + 1}",), producer=producer, queue=bells)

    listeners: list[Listener] = []
    listeners += [
        Listener(broker_url, bells, lambda: sum(len(each.heard) for each in listeners) >= WHOLE)
        for _ in range(SIDES)
    ]
    ringers = [threading.Thread(target=ring, args=(side,)) for side in range(SIDES)]
    for thread in (*listeners, *ringers):
        thread.start()
    for thread in (*ringers, *listeners):
        thread.join(300)
    counted = Counter(ref for each in listeners for ref in each.heard)
    assert counted == Counter(f"J-{number + 1}" for number in range(WHOLE))


@pytest.mark.django_db(transaction=True)
def test_submitters_that_are_killed_at_any_moment_leave_no_half_job_and_none_unheard(
    make_nodes: Callable[..., list[Node]], broker_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_nodes(1)
    die = random.Random(11)
    environment = {
        **os.environ,  # noqa: TID251 - a process needs its environment
        "PORTAL_DATABASE_URL": database_url(),
        "PORTAL_BROKER_URL": broker_url,
        "DJANGO_SETTINGS_MODULE": "portal.settings",
    }
    words = [sys.executable, "-W", "ignore", "-m", "tests.chaos.submitter", "gpu-001"]
    storm = [
        subprocess.Popen(words, cwd=settings.BASE_DIR, env=environment, stdout=subprocess.PIPE)
        for _ in range(SIDES)
    ]
    try:
        for process in storm:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
        for count, process in enumerate(storm, start=1):
            before = Job.objects.count()
            wanted = before + die.randint(1, 12)
            assert processes.wait_until(lambda wanted=wanted: Job.objects.count() >= wanted, 120)  # type: ignore[misc]
            process.send_signal(signal.SIGQUIT if count % 2 else signal.SIGTERM)
    finally:
        for process in storm:
            process.kill()
            process.communicate(timeout=30)
    whole = Job.objects.count()
    assert HostResult.objects.count() == whole, "every job has its node"
    silent = list(Job.objects.filter(announced_at=None).values_list("pk", flat=True))
    rung: list[str] = []
    monkeypatch.setattr(tasks.run, "apply_async", lambda args, **more: rung.append(args[0]))
    Job.objects.exclude(pk__in=silent).update(status="cancelled", ended_at=Now())
    while sweeper.ring_unheard():  # they all wait for one node, so one of them after the other
        heard = Job.objects.exclude(announced_at=None).filter(status="queued")
        heard.update(status="cancelled", ended_at=Now())
    assert sorted(rung) == sorted(f"J-{pk}" for pk in silent)
    assert not Job.objects.filter(status="queued").exists()


@pytest.mark.ansible
@pytest.mark.django_db(transaction=True)
def test_message_of_a_job_that_runs_is_acknowledged_so_that_no_time_limit_of_the_broker_meets_it(
    tiny: Tiny,
    make_nodes: Callable[..., list[Node]],
    queue: Callable[..., Job],
    broker_url: str,
    bells: Queue,
    start_worker: Callable[..., Worker],
) -> None:
    """RabbitMQ's consumer_timeout counts what was delivered and not acknowledged; that would be there again when the worker dies."""
    if not broker_url.startswith("amqp"):
        need("rabbitmq", "The broker of this run is no RabbitMQ.")
    tiny.says("- name: Sleep\n  ansible.builtin.command: sleep 987")
    job = queue(make_nodes(1))
    Job.objects.update(
        queue=bells.name, announced_at=now() + timedelta(days=1)
    )  # no sweep rings a second time
    tasks.run.apply_async((job.ref,), queue=bells)
    assert waits_in(bells, broker_url) == (1, 0)
    worker = start_worker(bells.name)
    try:
        wait_until(lambda: Job.objects.get(pk=job.pk).status == "running", "it runs")
        worker.kill()
        wait_until(lambda: waits_in(bells, broker_url)[1] == 0, "the broker notices that it is gone")
        assert waits_in(bells, broker_url) == (0, 0)
    finally:
        job.refresh_from_db()
        kill_leftovers(job.mark)


@pytest.mark.ansible
@pytest.mark.django_db(transaction=True)
def test_worker_outlives_the_broker_s_patience_with_a_bell_that_waits_behind_a_long_job(
    tiny: Tiny,
    make_nodes: Callable[..., list[Node]],
    queue: Callable[..., Job],
    bells: Queue,
    start_worker: Callable[..., Worker],
    tmp_path: Path,
) -> None:
    """RabbitMQ closes the channel of whoever holds a message too long, and a worker that takes that for its own fault ends."""
    patience = os.environ.get(debian_servers.TOLD_PATIENCE, "")  # noqa: TID251 - a test's own
    if not patience:
        need("rabbitmq", "The broker of this run does not lose patience within a test.")
    tiny.says(PLAYBOOK)
    nodes = make_nodes(2)
    jobs = [queue([node]) for node in nodes]
    Job.objects.update(queue=bells.name, announced_at=now() + timedelta(days=1))
    for job in jobs:
        tasks.run.apply_async((job.ref,), queue=bells)
    worker, log = start_worker(bells.name), tmp_path / "worker.log"
    wait_until(lambda: Job.objects.filter(status="running").count() == 1, "one of them runs")
    wait_until(lambda: "PRECONDITION_FAILED" in log.read_text(errors="replace"), "the broker's patience ends")
    for node in nodes:
        (tmp_path / f"{node.name}.go").touch()
    wait_until(lambda: all(Job.objects.get(pk=job.pk).is_ended for job in jobs), "both have ended")
    assert worker.process.poll() is None
    assert set(Job.objects.values_list("status", "attempt")) == {("succeeded", 1)}


def waits_in(bells: Queue, url: str) -> tuple[int, int]:
    """Messages and listeners of a queue."""
    with app.connection_for_read(url=url) as line:
        found = line.default_channel.queue_declare(bells.name, passive=True)
    return found.message_count, found.consumer_count
