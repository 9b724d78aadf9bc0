"""A node is another job's only after somebody has seen that nothing of the stopped one runs there."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from unittest.mock import Mock

import pytest
from django.db.models import F
from django.db.models.functions import Now
from django.test import Client

from portal.accounts.models import User
from portal.kernel.errors import Invalid, NotAllowed, Refused
from portal.ledger.models import Event
from provisioning.fleet.models import Node
from provisioning.jobs import claims, draining, looking, sweeper, tasks
from provisioning.jobs.child import NODE_MARK
from provisioning.jobs.finishing import end_job
from provisioning.jobs.models import Job, NodeLease
from provisioning.jobs.runner_events import RunnerEvent
from provisioning.jobs.states import JobAction, JobState, Reason
from tests.provisioning.jobs.conftest import Tiny

pytestmark = pytest.mark.django_db

Nodes = Callable[..., list[Node]]
Queue = Callable[..., Job]


@pytest.fixture(autouse=True)
def rung(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which bells were rung: `look`, or the ref of a job."""
    heard: list[str] = []
    monkeypatch.setattr(tasks.prove_quiet, "apply_async", lambda **more: heard.append("look"))
    monkeypatch.setattr(tasks.run, "apply_async", lambda args, **more: heard.append(args[0]))
    return heard


def begun(job: Job) -> claims.Claim:
    held = claims.claim(job.pk, worker="test:1/2")
    assert held is not None
    Job.objects.filter(pk=job.pk).update(status=JobState.RUNNING)
    return held


def stopped(job: Job, *, reason: Reason = Reason.USER, action: JobAction = JobAction.CANCEL) -> Job:
    """A job that was stopped in the middle."""
    begun(job)
    return end_job(Job.objects.get(pk=job.pk), action, reason=reason, text="It was stopped.", drains=True)


def lease_of(job: Job) -> NodeLease:
    return NodeLease.objects.select_related("node", "job").get(job=job)


def due() -> None:
    NodeLease.objects.filter(released_at=None).update(probe_after=Now())


@contextmanager
def stray(mark: str, *, deaf: bool = False) -> Iterator[subprocess.Popen[bytes]]:
    """A process of an attempt that goes on after it."""
    words = (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); " if deaf else "import time; "
    )
    process = subprocess.Popen(
        [sys.executable, "-c", f"{words}print('up', flush=True); time.sleep(600)"],
        env={**os.environ, NODE_MARK: mark},  # noqa: TID251 - a process needs its environment
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
    finally:
        process.kill()
        process.communicate()


def test_job_that_came_to_its_end_frees_its_nodes_at_once(make_nodes: Nodes, queue: Queue) -> None:
    job = queue(make_nodes(2))
    begun(job)
    end_job(Job.objects.get(pk=job.pk), JobAction.SUCCEED, reason=Reason.NONE, text="")
    assert not NodeLease.objects.filter(released_at=None).exists()


def test_stopped_job_keeps_its_nodes_from_others_until_they_were_seen_quiet(
    make_nodes: Nodes, queue: Queue
) -> None:
    nodes = make_nodes(1)
    first, second = queue(nodes), queue(nodes)
    stopped(first)
    assert claims.next_runnable("jobs") is None
    assert claims.claim(second.pk, worker="w") is None
    second.refresh_from_db()
    assert second.waiting_for.startswith("Waits for gpu-001, which is draining since ")
    assert second.waiting_for.endswith(f"UTC, because {first.ref} was cancelled.")
    [lease] = draining.take_looks()
    assert draining.found_quiet(lease)
    assert claims.claim(second.pk, worker="w") is not None


def test_next_attempt_of_the_same_job_waits_for_quiet_too(make_nodes: Nodes, queue: Queue) -> None:
    job = stopped(queue(make_nodes(1)), reason=Reason.WORKER_LOST, action=JobAction.LOSE)
    assert job.status == "queued"
    assert claims.claim(job.pk, worker="w") is None
    job.refresh_from_db()
    assert f"because {job.ref} lost its worker" in job.waiting_for
    [lease] = draining.take_looks()
    draining.found_quiet(lease)
    held = claims.claim(job.pk, worker="w")
    assert held is not None
    assert held.attempt == 2


def test_node_that_drains_is_not_placed_by_an_order(make_nodes: Nodes, queue: Queue) -> None:
    nodes = make_nodes(2)
    stopped(queue(nodes[:1]))
    assert [node.name for node in Node.objects.placeable()] == ["gpu-002"]
    [lease] = draining.take_looks()
    draining.found_quiet(lease)
    assert Node.objects.placeable().count() == 2


def test_only_the_node_that_was_cut_off_drains_when_the_rest_came_to_its_end(
    make_nodes: Nodes, queue: Queue
) -> None:
    nodes = make_nodes(2)
    job = queue(nodes)
    begun(job)
    end_job(
        Job.objects.get(pk=job.pk),
        JobAction.SUCCEED_PARTLY,
        reason=Reason.UNREACHABLE,
        text="",
        cut_off=[nodes[0].pk],
    )
    lease = NodeLease.objects.get(released_at=None)
    assert lease.node_id == nodes[0].pk
    assert lease.drain_because == f"{job.ref} lost its connection in the middle of a task"


def test_node_is_looked_at_by_one_at_a_time(make_nodes: Nodes, queue: Queue) -> None:
    stopped(queue(make_nodes(3)))
    assert len(draining.take_looks()) == 3
    assert draining.take_looks() == []


def test_look_that_came_too_late_frees_nothing(make_nodes: Nodes, queue: Queue) -> None:
    stopped(queue(make_nodes(1)))
    [slow] = draining.take_looks()
    due()
    [later] = draining.take_looks()
    assert (slow.probes, later.probes) == (1, 2)
    assert not draining.found_quiet(slow)
    assert not draining.found_busy(slow, "it was busy")
    assert draining.draining().count() == 1
    assert draining.found_quiet(later)
    assert not draining.found_quiet(later)


def next_look(job: Job) -> int:
    """Seconds until then."""
    kept = lease_of(job)
    seen = Node.objects.filter(pk=kept.node_id).values_list(Now(), flat=True)[0]
    assert kept.probe_after is not None
    return round((kept.probe_after - seen).total_seconds())


def waits_after(job: Job, look: Callable[[], object]) -> list[int]:
    """Seconds until the next look, after each of sixteen that come as soon as they are due."""
    waits: list[int] = []
    for _ in range(16):
        due()
        passed = timedelta(seconds=waits[-1] if waits else 0)
        draining.draining().update(draining_since=F("draining_since") - passed)
        look()
        waits.append(next_look(job))
    return waits


def test_node_that_is_not_quiet_is_looked_at_again_after_half_the_time_that_it_drains(
    make_nodes: Nodes, queue: Queue
) -> None:
    job = stopped(queue(make_nodes(1)))

    def look() -> None:
        [lease] = draining.take_looks()
        draining.found_busy(lease, "it can't be reached: Connection refused")

    waits = waits_after(job, look)
    half = [sum(waits[:before]) / 2 for before in range(len(waits))]
    assert waits == pytest.approx([min(max(each, 5), 300) for each in half], abs=2)
    assert (waits[0], waits[-1]) == (5, 300)
    assert lease_of(job).probe_said == "it can't be reached: Connection refused"


def full(*_: object, **__: object) -> Iterator[tuple[str, RunnerEvent]]:
    raise OSError(28, "No space left on device")


def ended_at_once(*_: object, **__: object) -> Iterator[tuple[str, RunnerEvent]]:
    return iter(())


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        (full, "nobody could look: [Errno 28] No space left on device"),
        (ended_at_once, "the look at it was lost"),
    ],
)
def test_node_pays_for_no_look_that_failed_before_it_came_there(
    answers: Callable[..., Iterator[tuple[str, RunnerEvent]]],
    said: str,
    make_nodes: Nodes,
    queue: Queue,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    job = stopped(queue(make_nodes(1)))
    monkeypatch.setattr(looking, "_answers", answers)
    assert waits_after(job, looking.prove_quiet) == pytest.approx([5, 5, 5, 8, *[10] * 12], abs=2)
    assert lease_of(job).probe_said == said


def test_node_that_gives_no_answer_in_time_is_looked_at_ever_more_seldom(
    make_nodes: Nodes, queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = stopped(queue(make_nodes(1)))
    child = Mock(ended=False)
    spool = Mock(new_events=list)
    monkeypatch.setattr(looking, "LOOK_LIMIT", -1.0)
    monkeypatch.setattr(looking, "_answers", lambda leases, say_so: looking._results(child, spool, say_so))
    assert waits_after(job, looking.prove_quiet)[-1] == 300
    assert lease_of(job).probe_said == "it gave no answer in time"


def test_sweep_rings_for_a_node_that_is_due_and_not_before(
    make_nodes: Nodes, queue: Queue, rung: list[str]
) -> None:
    stopped(queue(make_nodes(1)))
    sweeper.sweep()
    assert rung.count("look") == 1
    draining.take_looks()
    sweeper.sweep()
    assert rung.count("look") == 1


def test_node_that_became_quiet_wakes_the_jobs_that_wait_for_it(
    make_nodes: Nodes,
    queue: Queue,
    rung: list[str],
    django_capture_on_commit_callbacks: Callable[..., object],
) -> None:
    nodes = make_nodes(1)
    first, second = queue(nodes), queue(nodes)
    stopped(first)
    [lease] = draining.take_looks()
    with django_capture_on_commit_callbacks(execute=True):  # type: ignore[attr-defined]
        draining.found_quiet(lease)
    assert second.ref in rung
    told = Event.objects.get(name="node.quiet")
    assert (told.subject, told.payload["how"], told.payload["job"]) == ("node:gpu-001", "proved", first.ref)


def test_operator_declares_a_node_quiet_with_a_reason(
    make_nodes: Nodes, queue: Queue, operator: User
) -> None:
    job = stopped(queue(make_nodes(1)))
    with pytest.raises(Invalid):
        draining.declare_quiet("gpu-001", reason="  ", by=operator)
    draining.declare_quiet("gpu-001", reason="It is\nswitched off.", by=operator)
    assert lease_of(job).released_at is not None
    told = Event.objects.get(name="node.quiet")
    assert (told.actor, told.payload["how"]) == (operator, "declared")
    assert told.payload["reason"] == "It is switched off."
    with pytest.raises(Refused):
        draining.declare_quiet("gpu-001", reason="again", by=operator)


def test_nobody_but_an_operator_declares_a_node_quiet(make_nodes: Nodes, queue: Queue, member: User) -> None:
    stopped(queue(make_nodes(1)))
    with pytest.raises(NotAllowed):
        draining.declare_quiet("gpu-001", reason="I looked.", by=member)


def test_declaring_a_node_quiet_while_somebody_looks_leaves_that_look_without_effect(
    make_nodes: Nodes, queue: Queue, operator: User
) -> None:
    stopped(queue(make_nodes(1)))
    [lease] = draining.take_looks()
    draining.declare_quiet("gpu-001", reason="It is switched off.", by=operator)
    assert not draining.found_quiet(lease)
    assert Event.objects.filter(name="node.quiet").count() == 1


def test_pages_and_api_say_since_when_and_why_a_node_drains(
    make_nodes: Nodes, queue: Queue, operator: User, client: Client
) -> None:
    job = stopped(queue(make_nodes(1)))
    [lease] = draining.take_looks()
    draining.found_busy(lease, "it can't be reached: Connection refused")
    client.force_login(operator)
    page = client.get("/nodes/gpu-001/").content.decode()
    assert f"because {job.ref} was cancelled" in page
    assert "Connection refused" in page
    assert "draining" in client.get(f"/jobs/{job.ref}/").content.decode()
    told = client.get("/api/v1/nodes/gpu-001").json()["draining"]
    assert (told["job"], told["looks"]) == (job.ref, 1)
    assert told["because"] == f"{job.ref} was cancelled"
    assert client.get(f"/api/v1/jobs/{job.ref}").json()["nodes"][0]["draining_since"]
    client.post("/jobs/nodes/gpu-001/quiet", {"reason": "It is switched off."})
    page = client.get("/nodes/gpu-001/").content.decode()
    assert "Declared by hand: It is switched off." in page
    assert "It is quiet" not in page
    assert client.get("/api/v1/nodes/gpu-001").json()["draining"] is None


def test_words_of_a_look_say_what_keeps_a_node_draining() -> None:
    def event(kind: str, **result: object) -> RunnerEvent:
        return RunnerEvent(kind=kind, at=draining_now, host="gpu-001", result=dict(result))

    draining_now = Event(name="x").at
    said = looking.say_answer(event("unreachable", msg="Connection refused\nmore"))
    assert said == "it can't be reached: Connection refused"
    said = looking.say_answer(event("ok", quiet=False, left=["dcgmi", "dcgmi"], left_count=2))
    assert said == "2 processes can't be ended: dcgmi"
    assert "without becoming root" in looking.say_answer(event("ok", quiet=False, hidden=3))
    assert looking.say_answer(event("failed", msg="no python")) == "the look at it failed: no python"


@pytest.mark.ansible
def test_look_ends_what_is_left_on_a_node_also_what_does_not_listen_and_frees_it(
    make_nodes: Nodes, queue: Queue, tiny: Tiny
) -> None:
    job = queue(make_nodes(2))
    held = begun(job)
    with stray(held.mark) as polite, stray(held.mark, deaf=True) as deaf, stray("j1-1-another0") as another:
        end_job(Job.objects.get(pk=job.pk), JobAction.CANCEL, reason=Reason.USER, text="", drains=True)
        assert looking.prove_quiet() == 2
        assert polite.wait(5) < 0
        assert deaf.wait(5) < 0
        assert another.poll() is None
    assert not draining.draining().exists()


@pytest.mark.ansible
def test_node_out_of_reach_stays_draining_and_says_so_while_others_become_free(
    make_nodes: Nodes, queue: Queue, tiny: Tiny
) -> None:
    job = stopped(queue([*make_nodes(1), *make_nodes(1, start=2, address="192.0.2.99")]))
    assert looking.prove_quiet() == 1
    lease = draining.draining().select_related("node").get()
    assert lease.node.name == "gpu-002"
    assert lease.probe_said == "it can't be reached: ssh: connect to host 192.0.2.99 port 22: nobody answers"
    assert lease.probe_after is not None
    assert "nobody answers" in draining.say(lease)
    assert job.status == "cancelled"


def test_look_whose_worker_died_is_made_again(make_nodes: Nodes, queue: Queue) -> None:
    stopped(queue(make_nodes(1)))
    draining.take_looks()
    NodeLease.objects.update(probe_after=Now() - timedelta(seconds=1))
    [lease] = draining.take_looks()
    assert lease.probes == 2


def test_look_that_was_lost_with_its_worker_is_taken_again_soon(make_nodes: Nodes, queue: Queue) -> None:
    stopped(queue(make_nodes(1)))
    [lost] = draining.take_looks()
    assert draining.take_looks() == [], "somebody looks"
    NodeLease.objects.filter(pk=lost.pk).update(probe_after=F("probe_after") - draining.LOOK_IS_HELD)
    [again] = draining.take_looks()
    assert again.probes == lost.probes + 1
    assert not draining.found_quiet(lost), "a look that was given up frees nothing"


def test_looks_that_were_lost_put_off_none_that_comes_to_the_node(make_nodes: Nodes, queue: Queue) -> None:
    job = stopped(queue(make_nodes(1)))
    for _ in range(8):
        due()
        [lease] = draining.take_looks()
    draining.found_busy(lease, "it can't be reached: Connection refused")
    assert next_look(job) == 5


def test_look_that_goes_on_is_nobody_else_s(make_nodes: Nodes, queue: Queue) -> None:
    stopped(queue(make_nodes(1)))
    [mine] = draining.take_looks()
    due()
    draining.still_looking([mine])
    assert draining.take_looks() == []
    due()
    [other] = draining.take_looks()
    before = NodeLease.objects.get(pk=other.pk).probe_after
    draining.still_looking([mine])
    assert NodeLease.objects.get(pk=other.pk).probe_after == before, "one that was overtaken says nothing"
