"""Stopping by force always works: nobody who runs the job is asked, and no node is free before its playbook is dead for sure."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import LazySettings
from django.db import connection, transaction
from django.db.models.functions import Now

from portal.accounts.models import User
from portal.embedded import processes
from portal.kernel.clock import now
from portal.kernel.errors import Invalid, NotAllowed, Refused
from portal.ledger.models import Event
from provisioning.fleet.models import Node
from provisioning.jobs import adoption, claims, draining, forcing, looking, preparation, rowlock, sweeper
from provisioning.jobs.attempts import Attempt
from provisioning.jobs.child import MARK
from provisioning.jobs.child_process import ChildProcess
from provisioning.jobs.models import Job, NodeLease
from provisioning.jobs.services import cancel_job, force_stop, run_claimed
from provisioning.jobs.states import JobState
from tests.provisioning.jobs.conftest import Tiny, endings
from tests.provisioning.jobs.test_stopping import Running

pytestmark = pytest.mark.django_db

Nodes = Callable[..., list[Node]]
Queue = Callable[..., Job]
ELSEWHERE = "gone.example:1/2"
real = pytest.mark.ansible
committed = pytest.mark.django_db(transaction=True)


def running(job: Job, *, worker: str = ELSEWHERE) -> claims.Claim:
    """A job that a worker of another machine runs, and of which nobody here can see anything."""
    held = claims.claim(job.pk, worker=worker)
    assert held is not None
    Job.objects.filter(pk=job.pk).update(status=JobState.RUNNING)
    return held


def test_queued_job_ends_at_once(make_nodes: Nodes, queue: Queue) -> None:
    job = force_stop(queue(make_nodes(1)), reason="wrong\nnodes", by=None)
    assert (job.status, job.reason) == ("cancelled", "forced")
    assert job.reason_text == "It was stopped by force: wrong nodes"
    assert endings(job) == {"gpu-001": "not_attempted"}


def test_job_of_a_machine_that_is_gone_ends_while_its_lease_still_runs(
    make_nodes: Nodes, queue: Queue, operator: User
) -> None:
    job = queue(make_nodes(2))
    running(job)
    job = force_stop(job, reason="the rack burnt", by=operator)
    assert (job.status, job.reason, job.forced_by) == ("cancelled", "forced", operator)
    assert endings(job) == {"gpu-001": "interrupted", "gpu-002": "interrupted"}
    assert draining.draining().count() == 2


def test_job_that_never_began_gives_its_nodes_back_at_once(make_nodes: Nodes, queue: Queue) -> None:
    job = queue(make_nodes(1))
    claims.claim(job.pk, worker=ELSEWHERE)
    force_stop(job, reason="frozen", by=None)
    assert endings(job) == {"gpu-001": "not_attempted"}
    assert not NodeLease.objects.filter(released_at=None).exists()


def test_zombie_writes_nothing(make_nodes: Nodes, queue: Queue) -> None:
    job = queue(make_nodes(1))
    held = running(job)
    force_stop(job, reason="frozen", by=None)
    for write in (claims.ours, claims.renew, claims.wishes, claims.let_go):
        with pytest.raises(claims.Fenced) as caught, transaction.atomic():
            write(held)
        assert not isinstance(caught.value, claims.Adopted), "nobody else has it either"


def test_ledger_keeps_who_why_and_whose_worker_it_was_taken_from(
    make_nodes: Nodes, queue: Queue, operator: User
) -> None:
    job = queue(make_nodes(1))
    running(job)
    force_stop(job, reason="frozen", by=operator)
    told = Event.objects.get(name="job.forced")
    assert told.actor == operator
    assert (told.payload["why"], told.payload["worker"]) == ("frozen", ELSEWHERE)
    assert Event.objects.filter(name="job.finished", subject=job.ref).count() == 1


def test_polite_stop_that_nobody_answered_is_followed_by_force(
    make_nodes: Nodes, queue: Queue, operator: User
) -> None:
    job = queue(make_nodes(1))
    running(job)
    assert cancel_job(job, reason="enough", by=operator).status == "running"
    assert force_stop(job, reason="no answer", by=operator).status == "cancelled"


@pytest.mark.parametrize("stop", [cancel_job, force_stop])
def test_job_that_was_stopped_by_force_is_not_stopped_twice(
    stop: Callable[..., Job], make_nodes: Nodes, queue: Queue
) -> None:
    job = queue(make_nodes(1))
    running(job)
    first = force_stop(job, reason="frozen", by=None)
    again = stop(job, reason="again", by=None)
    assert (again.version, again.forced_at, again.reason_text) == (
        first.version,
        first.forced_at,
        first.reason_text,
    )
    assert Event.objects.filter(name="job.forced").count() == 1
    assert forcing.say_stopped(again) == (
        f"{job.ref} was stopped by force. Its nodes drain until they are seen quiet."
    )


def test_job_that_had_ended_stays_as_it_is_and_the_answer_says_so(make_nodes: Nodes, queue: Queue) -> None:
    job = cancel_job(queue(make_nodes(1)), by=None)
    Job.objects.filter(pk=job.pk).update(status=JobState.SUCCEEDED)
    after = force_stop(job, reason="too late", by=None)
    assert (after.status, after.forced_at) == ("succeeded", None)
    assert forcing.say_stopped(after) == f"{job.ref} had ended before: there was nothing to stop."


def test_person_has_to_say_why(make_nodes: Nodes, queue: Queue, operator: User) -> None:
    job = queue(make_nodes(1))
    with pytest.raises(Invalid):
        force_stop(job, reason=" \n", by=operator)
    job.refresh_from_db()
    assert job.status == "queued"


def test_only_operators_may(make_nodes: Nodes, queue: Queue, triager: User) -> None:
    with pytest.raises(NotAllowed):
        force_stop(queue(make_nodes(1)), reason="please", by=triager)


def test_node_is_not_looked_at_before_the_playbook_must_have_ended_itself(
    make_nodes: Nodes, queue: Queue
) -> None:
    """Between two tasks a node is quiet, and a playbook that nobody can reach would begin the next one."""
    job = queue(make_nodes(1))
    running(job)
    lease_until = Job.objects.get(pk=job.pk).lease_until
    assert lease_until is not None
    force_stop(job, reason="gone", by=None)
    assert draining.take_looks() == []
    lease = draining.draining().get()
    seconds = preparation.is_over_after(claims.lease_span().total_seconds())
    assert lease.probe_after == lease_until + timedelta(seconds=seconds)
    assert "its playbook may still run" in draining.say(lease)
    NodeLease.objects.update(probe_after=Now())
    assert [each.pk for each in draining.take_looks()] == [lease.pk]


def test_sweep_of_another_machine_does_not_make_it_sooner(
    make_nodes: Nodes, queue: Queue, tiny: Tiny
) -> None:
    job = queue(make_nodes(1))
    running(job)
    force_stop(job, reason="gone", by=None)
    assert forcing.end_unheld() == 0
    assert draining.take_looks() == []


def test_node_can_not_be_declared_quiet_while_a_playbook_may_come_back_to_it(
    make_nodes: Nodes, queue: Queue, operator: User
) -> None:
    job = queue(make_nodes(1))
    held = running(job)
    force_stop(job, reason="gone", by=None)
    with pytest.raises(Refused, match="can't be declared quiet yet: its playbook may still run"):
        draining.declare_quiet("gpu-001", reason="I looked", by=operator)
    draining.look_now(held.mark)
    assert draining.declare_quiet("gpu-001", reason="I looked", by=operator)


class FrozenInAWrite:
    """A client of the database that holds a job's row, in the middle of a transaction, and does nothing more."""

    def __init__(self, job: Job) -> None:
        self._job, self._has_it, self._thaw = job, threading.Event(), threading.Event()
        self.said: list[Exception] = []
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        assert self._has_it.wait(10)

    def _run(self) -> None:
        try:
            with transaction.atomic():
                Job.objects.select_for_update(no_key=True).get(pk=self._job.pk)
                self._has_it.set()
                self._thaw.wait(60)
                Job.objects.filter(pk=self._job.pk).update(purpose="written by a zombie")
        except Exception as problem:  # noqa: BLE001 - whatever the database said
            self.said.append(problem)
        finally:
            connection.close()

    def thaws(self) -> None:
        self._thaw.set()
        self._thread.join(30)
        assert not self._thread.is_alive()


@pytest.fixture
def frozen(make_nodes: Nodes, queue: Queue, monkeypatch: pytest.MonkeyPatch) -> Iterator[FrozenInAWrite]:
    monkeypatch.setattr(rowlock, "IDLE_SECONDS", 0.2)
    monkeypatch.setattr(rowlock, "LOOK_EVERY", 0.1)
    job = queue(make_nodes(1))
    running(job)
    client = FrozenInAWrite(job)
    yield client
    client.thaws()


@committed
@pytest.mark.parametrize("stop", [cancel_job, force_stop])
def test_worker_that_froze_in_the_middle_of_a_write_keeps_nobody_from_stopping_its_job(
    stop: Callable[..., Job], frozen: FrozenInAWrite
) -> None:
    job = stop(Job.objects.get(), reason="frozen", by=None)
    assert job.forced_at or job.cancel_requested_at
    frozen.thaws()
    assert frozen.said, "what it was about to write is lost with its transaction"
    assert Job.objects.get().purpose == "a test"


@committed
def test_row_that_is_written_to_right_now_is_waited_for(
    frozen: FrozenInAWrite, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has not been idle for long enough to count as frozen."""
    monkeypatch.setattr(rowlock, "IDLE_SECONDS", 600.0)
    threading.Timer(0.5, frozen.thaws).start()
    assert force_stop(Job.objects.get(), reason="now", by=None).status == "cancelled"
    assert frozen.said == []


@committed
def test_row_that_does_not_come_free_says_try_again(
    frozen: FrozenInAWrite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rowlock, "IDLE_SECONDS", 600.0)
    monkeypatch.setattr(rowlock, "LONGEST_WAIT", 0.3)
    with pytest.raises(Refused, match="Try again"):
        force_stop(Job.objects.get(), reason="now", by=None)


@committed
def test_job_whose_worker_froze_in_a_write_is_settled_once_its_lease_is_long_over(
    make_nodes: Nodes, queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sweep leaves locked rows to whoever has them, which would be for ever."""
    monkeypatch.setattr(claims, "lease_span", lambda: timedelta(seconds=0.2))
    monkeypatch.setattr(rowlock, "LOOK_EVERY", 0.1)
    job = queue(make_nodes(1))
    running(job)
    Job.objects.update(lease_until=Now() - timedelta(minutes=5))
    client = FrozenInAWrite(job)
    assert adoption.settle_lost() == 0, "its row is taken, and is freed for the next sweep"
    assert adoption.settle_lost() == 1
    client.thaws()
    assert client.said


def held_here(tiny: Tiny, job: Job) -> tuple[claims.Claim, ChildProcess]:
    """The job at work in a child on this machine, whose worker will never do anything again."""
    held = claims.claim(job.pk, worker=f"{socket.gethostname()[:80]}:999999/999998")
    assert held is not None
    prepared = preparation.prepare(Job.objects.get(pk=job.pk), held)
    child = ChildProcess.started(prepared.space, mark=held.mark)
    assert Attempt(held)._start(prepared) == ""
    child.go()
    assert processes.wait_until(lambda: _sleeps(held, child), 240)
    return held, child


def _sleeps(held: claims.Claim, child: ChildProcess) -> bool:
    claims.renew(held)
    child.sign_of_life()
    found = processes.marked(MARK, held.mark)
    return any("sleep 987" in " ".join(processes.command_line(each.pid)) for each in found)


STUBBORN = "- name: Sleep\n  ansible.builtin.shell: trap '' TERM; sleep 987; sleep 987"


@real
@committed
@pytest.mark.gate
@pytest.mark.parametrize("frozen_too", [False, True], ids=["its-child-runs", "its-child-is-frozen-too"])
def test_child_of_a_frozen_worker_is_killed_by_the_sweep_of_its_machine(
    frozen_too: bool, tiny: Tiny, make_nodes: Nodes, queue: Queue, settings: LazySettings
) -> None:
    tiny.says(STUBBORN)
    job = queue(make_nodes(2))
    held, child = held_here(tiny, job)
    if frozen_too:
        for each in processes.marked(MARK, held.mark):
            os.kill(each.pid, signal.SIGSTOP)
    force_stop(job, reason="frozen", by=None)
    assert draining.take_looks() == [], "its playbook still runs"
    assert forcing.end_unheld() == 1
    child.wait(10)
    assert processes.marked(MARK, held.mark) == []
    assert list(Path(settings.JOBS_DIR).iterdir()) == []
    assert looking.prove_quiet() == 2
    assert not NodeLease.objects.filter(released_at=None).exists()
    assert sweeper.sweep() == 0


@real
@committed
@pytest.mark.gate
def test_worker_that_answers_kills_its_child_without_asking_it_to_tidy_up(
    tiny: Tiny, make_nodes: Nodes, queue: Queue, settings: LazySettings
) -> None:
    """What ignores TERM would keep a polite stop waiting for its whole grace."""
    tiny.says(STUBBORN)
    stubborn = Running(queue(make_nodes(1)))
    stubborn.until_it_sleeps()
    begun = time.monotonic()
    assert force_stop(stubborn.job, reason="at once", by=None).status == "cancelled"
    assert stubborn.end() == "fenced"
    assert time.monotonic() - begun < preparation.LONGEST_GRACE
    assert stubborn.commands() == []
    assert list(Path(settings.JOBS_DIR).iterdir()) == []
    assert looking.prove_quiet() == 1, "its worker said that it is dead"


@real
@committed
@pytest.mark.gate
def test_child_on_a_machine_that_is_gone_ends_itself_before_its_nodes_are_looked_at(
    tiny: Tiny, make_nodes: Nodes, queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody sweeps there: only its own watch ends it."""
    monkeypatch.setattr(claims, "lease_span", lambda: timedelta(seconds=1))
    tiny.says(STUBBORN)
    job = queue(make_nodes(1))
    held, child = held_here(tiny, job)
    Job.objects.filter(pk=job.pk).update(claimed_by=ELSEWHERE)
    force_stop(job, reason="gone", by=None)
    child.wait(120)
    assert child.ended
    assert processes.wait_until(lambda: processes.marked(MARK, held.mark) == [], 5)
    assert draining.draining().get().probe_after > now()


def test_next_job_waits_for_the_nodes_of_one_that_was_stopped_by_force(
    make_nodes: Nodes, queue: Queue
) -> None:
    nodes = make_nodes(1)
    running(queue(nodes))
    force_stop(Job.objects.get(), reason="gone", by=None)
    following = queue(nodes)
    assert run_claimed(following.pk) == ""
    following.refresh_from_db()
    assert "was stopped by force" in following.waiting_for
