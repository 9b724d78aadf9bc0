"""The database goes away while a playbook talks: not a line is lost and none is there twice, whoever is quicker afterwards."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connection

from portal.config import Config
from portal.kernel.clock import now
from provisioning.fleet.models import Node
from provisioning.jobs import adoption, attempts, caps, claims, preparation, watch
from provisioning.jobs.models import HostResult, Job, JobEvent
from provisioning.jobs.recorder import Recorder
from provisioning.jobs.redaction import Redactor
from provisioning.jobs.spool import SpoolReader
from provisioning.jobs.supervisor import run_claimed
from provisioning.jobs.workspace import Workspace
from tests.provisioning.jobs.conftest import Tiny
from tests.provisioning.jobs.cut_line import line, use
from tests.relay import Relay

pytestmark = [pytest.mark.ansible, pytest.mark.django_db(transaction=True)]

LEASE = timedelta(seconds=6)
TASKS = "\n".join(
    f"- name: Step {number}\n  ansible.builtin.command: sh -c 'echo word-{number}; sleep 0.4'"
    for number in range(14)
)


class Running:
    """A job whose worker reaches the database over a line that can be cut."""

    def __init__(self, job: Job, cord: Relay) -> None:
        self.job, self.cord, self.became = job, cord, ""
        self.thread = threading.Thread(target=self._work)
        self.thread.start()

    def _work(self) -> None:
        use(self.cord)
        try:
            self.became = run_claimed(self.job.pk)
        finally:
            connection.close()

    def wait_for_events(self, count: int) -> None:
        deadline = time.monotonic() + 40
        while JobEvent.objects.filter(job=self.job).count() < count:
            assert time.monotonic() < deadline, "the playbook says nothing"
            time.sleep(0.1)

    def ended(self) -> str:
        self.thread.join(90)
        assert not self.thread.is_alive()
        return self.became


@pytest.fixture
def spooled(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """What lay in the spool of each attempt when its folder went."""
    seen: list[bytes] = []
    remove = Workspace.remove

    def look_first(space: Workspace) -> None:
        seen.append(space.spool.read_bytes() if space.spool.is_file() else b"")
        remove(space)

    monkeypatch.setattr(Workspace, "remove", look_first)
    return seen


@pytest.fixture
def running(
    tiny: Tiny,
    make_nodes: Callable[..., list[Node]],
    queue: Callable[..., Job],
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Running]:
    monkeypatch.setattr(claims, "lease_span", lambda: LEASE)
    monkeypatch.setattr(watch, "FLUSH_EVERY", 0.1)
    tiny.says(TASKS)
    with line() as cord:
        made = Running(queue(make_nodes(1)), cord)
        yield made
        cord.mend()
        made.ended()


def counters(job: Job, attempt: int) -> list[int]:
    rows = JobEvent.objects.filter(job=job, attempt=attempt).order_by("counter")
    return list(rows.values_list("counter", flat=True))


def said_in(spool: bytes, folder: Path) -> list[tuple[int, str]]:
    """The events that a spool holds, as a recorder numbers them."""
    path = folder / "copy.spool"
    path.write_bytes(spool)
    recorder = Recorder(job_id=0, attempt=1, nodes={}, redactor=Redactor([]))
    reader = SpoolReader(path)
    for raw in reader.new_events():
        recorder.take(raw, at=now())
    reader.close()
    return [(row.counter, row.text) for row in recorder.rows]


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Children that end themselves before their lease is over."""
    for module in (preparation, watch):
        monkeypatch.setattr(module, "silence", lambda lease: lease * 2 / 3)


def test_job_goes_on_through_an_outage_that_is_longer_than_its_lease(running: Running) -> None:
    running.wait_for_events(4)
    running.cord.cut()
    time.sleep(LEASE.total_seconds() * 1.5)
    running.cord.mend()
    assert running.ended() == "succeeded"
    numbers = counters(running.job, 1)
    assert numbers == list(range(1, len(numbers) + 1))
    texts = "\n".join(JobEvent.objects.filter(job=running.job).values_list("text", flat=True))
    assert all(f"Step {number}]" in texts for number in range(14))


def test_attempt_given_up_in_a_long_outage_is_stored_to_its_last_line(
    impatient: None, running: Running, spooled: list[bytes], tmp_path: Path
) -> None:
    running.wait_for_events(4)
    running.cord.cut()
    time.sleep(LEASE.total_seconds() * 1.5)
    before = JobEvent.objects.filter(job=running.job).count()
    running.cord.mend()
    assert running.ended() == "queued", "what can be repeated is"
    kept = list(JobEvent.objects.filter(job=running.job).order_by("counter").values_list("counter", "text"))
    assert kept == said_in(spooled[0], tmp_path)
    assert len(kept) > before


def test_attempt_taken_over_in_an_outage_of_its_worker_alone_is_stored_to_its_last_line(
    running: Running, spooled: list[bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[claims.Claim] = []
    monkeypatch.setattr(adoption, "start_keeper", taken.append)
    running.wait_for_events(4)
    running.cord.cut()
    time.sleep(LEASE.total_seconds() * 1.2)
    assert adoption.settle_lost() == 1
    running.cord.mend()
    assert running.ended() == "adopted"
    assert adoption.keep(taken[0]) == "succeeded"
    kept = list(JobEvent.objects.filter(job=running.job).order_by("counter").values_list("counter", "text"))
    assert kept == said_in(spooled[0], tmp_path)
    (row,) = HostResult.objects.filter(job=running.job)
    assert (row.attempt, row.ending) == (1, "ok")


def test_limits_outlast_an_outage_of_ninety_seconds() -> None:
    """The outages above are short ones with short leases; these are the spans that a real one meets."""
    lease = Config().job_lease_seconds
    assert preparation.silence(lease) >= 90, "the child goes on"
    assert attempts.DATABASE_PATIENCE >= 90, "and so does its worker at the end"
    assert watch.ROWS_AT_ONCE * caps.EVENT_LIMIT * 2 < 1024**3, "in bounded memory: the spool keeps the rest"
