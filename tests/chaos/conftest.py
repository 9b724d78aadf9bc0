"""Nodes and a playbook as the tests of jobs have them, workers that may be killed, and a queue that nobody else rings in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from kombu import Exchange, Queue

from portal.celery import app
from tests.chaos.workers import Worker
from tests.provisioning.jobs.conftest import Tiny, make_nodes, queue, sku, tiny

__all__ = ["make_nodes", "queue", "sku", "tiny"]


@pytest.fixture
def bells(broker_url: str) -> Iterator[Queue]:
    """A queue of this test's own on the run's broker: one of an earlier test counts as declared, and is gone."""
    name = f"bells-{uuid4().hex[:12]}"
    made = Queue(name, Exchange(name, type="direct"), routing_key=name, durable=True)
    yield made
    with app.connection_for_write(url=broker_url) as line:
        made(line.default_channel).delete()


@pytest.fixture
def start_worker(tiny: Tiny, tmp_path: Path, broker_url: str) -> Iterator[Callable[..., Worker]]:
    """start_worker("jobs", url): a worker of these queues, of the run's broker or another; its log is tmp_path / "worker.log"."""
    workers: list[Worker] = []

    def start(queues: str = "jobs,doorbell", broker: str = broker_url) -> Worker:
        workers.append(Worker(tiny, tmp_path / "var", broker, tmp_path / "worker.log", queues))
        return workers[-1]

    (tmp_path / "var").mkdir(mode=0o700)
    yield start
    for worker in workers:
        worker.end()
    if workers:
        print((tmp_path / "worker.log").read_text(errors="replace"))  # noqa: T201 - shown when the test fails
