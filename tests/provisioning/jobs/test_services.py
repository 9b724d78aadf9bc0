"""What may be asked of jobs, and what happens in the database then."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from portal.accounts.models import User
from portal.kernel.errors import Invalid, NotAllowed, Refused
from portal.ledger.models import Event
from provisioning.fleet.models import Node
from provisioning.jobs import bell, claims, finishing, tasks
from provisioning.jobs.models import HostResult, Job, NodeLease
from provisioning.jobs.services import cancel_job, relaunch_remaining, request_job
from provisioning.jobs.states import Ending, JobAction, JobState, Reason
from tests.provisioning.jobs.conftest import Tiny, endings

pytestmark = pytest.mark.django_db

Nodes = Callable[..., list[Node]]
Queue = Callable[..., Job]


def end(job: Job, action: JobAction, reason: Reason = Reason.NONE) -> Job:
    """End a claimed job as its worker would."""
    return finishing.end_job(Job.objects.get(pk=job.pk), action, reason=reason, text="It ended.")


def begin(job: Job) -> claims.Claim:
    """Claim and start a job as a worker does."""
    held = claims.claim(job.pk, worker="test:1/2")
    assert held is not None
    Job.objects.filter(pk=job.pk).update(status=JobState.RUNNING, version=3)
    return held


def test_job_is_queued_with_every_node_accounted_for(make_nodes: Nodes, queue: Queue) -> None:
    job = queue(make_nodes(3))
    assert job.status == "queued"
    assert endings(job) == {"gpu-001": "waiting", "gpu-002": "waiting", "gpu-003": "waiting"}
    assert Event.objects.get(subject=job.ref).name == "job.queued"


def test_node_named_twice_counts_once(make_nodes: Nodes, queue: Queue) -> None:
    nodes = make_nodes(1)
    assert len(endings(queue([*nodes, *nodes]))) == 1


def test_job_without_a_node_is_refused(tiny: Tiny) -> None:
    with pytest.raises(Refused, match="at least one node"):
        request_job(playbook="tiny", nodes=[], variables={}, purpose="none", by=None)


def test_job_with_an_unfit_variable_is_refused_and_leaves_nothing(make_nodes: Nodes, queue: Queue) -> None:
    with pytest.raises(Invalid):
        queue(make_nodes(1), variables={"number": "{{ 7*7 }}"})
    assert not Job.objects.exists()


def test_broker_that_is_away_does_not_stop_a_request(
    make_nodes: Nodes, queue: Queue, monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> None:
    def away(*args: Any, **kwargs: Any) -> None:
        raise ConnectionError("no broker")

    monkeypatch.setattr(tasks.run, "apply_async", away)
    with django_capture_on_commit_callbacks(execute=True):
        job = queue(make_nodes(1))
    job.refresh_from_db()
    assert (job.status, job.announced_times) == ("queued", 0), "so the next sweep rings at once"


def test_bell_says_the_jobs_name_in_its_queue(
    make_nodes: Nodes, queue: Queue, monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> None:
    rung: list[tuple[Any, Any]] = []
    monkeypatch.setattr(tasks.run, "apply_async", lambda args, **more: rung.append((args, more["queue"])))
    with django_capture_on_commit_callbacks(execute=True):
        job = queue(make_nodes(1))
    assert rung == [((job.ref,), "jobs")]


def test_bell_is_not_rung_for_a_job_that_has_ended(
    make_nodes: Nodes, queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = cancel_job(queue(make_nodes(1)), by=None)
    monkeypatch.setattr(tasks.run, "apply_async", lambda *args, **more: pytest.fail("rung"))
    bell.ring(job.pk)


def test_bell_waits_longer_each_time() -> None:
    waits = [bell.wait_before_ringing_again(times) for times in range(1, 20)]
    assert waits == sorted(waits)
    assert waits[0] == bell.FIRST_WAIT
    assert waits[-1] == bell.LONGEST_WAIT


def test_queued_job_that_is_cancelled_ends_at_once(make_nodes: Nodes, queue: Queue, operator: User) -> None:
    job = cancel_job(queue(make_nodes(2)), reason="not needed\nany more", by=operator)
    assert (job.status, job.reason) == ("cancelled", "user")
    assert job.reason_text == "It was cancelled before it began: not needed any more"
    assert endings(job) == {"gpu-001": "not_attempted", "gpu-002": "not_attempted"}
    assert Event.objects.get(name="job.finished").actor == operator


def test_running_job_that_is_cancelled_waits_for_its_worker(
    make_nodes: Nodes, queue: Queue, operator: User
) -> None:
    job = queue(make_nodes(1))
    begin(job)
    job = cancel_job(job, by=operator)
    assert (job.status, job.cancel_requested_by) == ("running", operator)
    assert Event.objects.filter(name="job.cancel_requested").count() == 1


def test_job_cancelled_twice_is_cancelled_once(make_nodes: Nodes, queue: Queue, operator: User) -> None:
    job = queue(make_nodes(1))
    begin(job)
    cancel_job(job, by=operator)
    cancel_job(job, by=operator)
    assert Event.objects.filter(name="job.cancel_requested").count() == 1


def test_job_that_has_ended_is_not_cancelled(make_nodes: Nodes, queue: Queue) -> None:
    job = queue(make_nodes(1))
    begin(job)
    end(job, JobAction.SUCCEED)
    assert cancel_job(job, by=None).status == "succeeded"


@pytest.mark.parametrize("who", ["member", "lead", "triager", "stranger"])
def test_only_operators_cancel_and_relaunch(
    who: str, make_nodes: Nodes, queue: Queue, request: pytest.FixtureRequest
) -> None:
    job = queue(make_nodes(1))
    person = request.getfixturevalue(who)
    with pytest.raises(NotAllowed):
        cancel_job(job, by=person)
    with pytest.raises(NotAllowed):
        relaunch_remaining(job, by=person)


def test_relaunch_takes_exactly_the_nodes_that_are_not_ok(
    make_nodes: Nodes, queue: Queue, operator: User
) -> None:
    job = queue(make_nodes(4), variables={"word": "same"})
    begin(job)
    for name, ending in {
        "gpu-001": Ending.OK,
        "gpu-002": Ending.FAILED,
        "gpu-003": Ending.UNREACHABLE,
    }.items():
        HostResult.objects.filter(job=job, node__name=name).update(ending=ending)
    end(job, JobAction.SUCCEED_PARTLY, Reason.HOSTS_FAILED)
    again = relaunch_remaining(job, by=operator)
    assert set(endings(again)) == {"gpu-002", "gpu-003", "gpu-004"}
    assert again.variables["word"] == "same"
    assert again.relaunch_of == job


def test_job_is_relaunched_once(make_nodes: Nodes, queue: Queue, operator: User) -> None:
    job = queue(make_nodes(1))
    begin(job)
    end(job, JobAction.FAIL, Reason.HOSTS_FAILED)
    again = relaunch_remaining(job, by=operator)
    with pytest.raises(Refused, match=again.ref):
        relaunch_remaining(job, by=operator)


def test_job_whose_nodes_are_all_ok_is_not_relaunched(
    make_nodes: Nodes, queue: Queue, operator: User
) -> None:
    job = queue(make_nodes(1))
    begin(job)
    HostResult.objects.filter(job=job).update(ending=Ending.OK)
    end(job, JobAction.SUCCEED)
    with pytest.raises(Refused, match="nothing left"):
        relaunch_remaining(job, by=operator)


def test_job_that_runs_is_not_relaunched(make_nodes: Nodes, queue: Queue, operator: User) -> None:
    job = queue(make_nodes(1))
    begin(job)
    with pytest.raises(Refused, match="not ended"):
        relaunch_remaining(job, by=operator)


def test_job_that_ends_gives_its_nodes_back(make_nodes: Nodes, queue: Queue) -> None:
    job = queue(make_nodes(2))
    begin(job)
    assert NodeLease.objects.filter(released_at=None).count() == 2
    end(job, JobAction.FAIL, Reason.HOSTS_FAILED)
    assert NodeLease.objects.filter(released_at=None).count() == 0
    assert NodeLease.objects.count() == 2


def test_job_that_lost_its_worker_is_queued_again_with_all_its_nodes(make_nodes: Nodes, queue: Queue) -> None:
    job = queue(make_nodes(2))
    begin(job)
    end(job, JobAction.LOSE, Reason.WORKER_LOST)
    job.refresh_from_db()
    assert (job.status, job.attempt, job.ended_at) == ("queued", 1, None)
    assert endings(job) == {"gpu-001": "waiting", "gpu-002": "waiting"}
    first = HostResult.objects.filter(job=job, attempt=1).values_list("ending", flat=True)
    assert set(first) == {"interrupted"}, "nobody read its record, so nobody knows"
    assert job.waiting_for.startswith("Runs again: attempt 1 of 3")
    assert not Event.objects.filter(name="job.finished").exists()
    assert Event.objects.get(name="job.requeued").payload["reason"] == "worker_lost"


def test_job_that_lost_its_worker_too_often_ends_as_lost(make_nodes: Nodes, queue: Queue) -> None:
    job = queue(make_nodes(1))
    for _ in range(3):
        held = claims.claim(job.pk, worker="test:1/2")
        assert held is not None
        end(job, JobAction.LOSE, Reason.WORKER_LOST)
    job.refresh_from_db()
    assert (job.status, job.reason, job.attempt) == ("lost", "worker_lost", 3)
    assert Event.objects.get(name="job.finished").payload["status"] == "lost"


def test_job_that_failed_a_check_is_never_tried_again_by_itself(make_nodes: Nodes, queue: Queue) -> None:
    job = queue(make_nodes(1))
    begin(job)
    end(job, JobAction.FAIL, Reason.HOSTS_FAILED)
    job.refresh_from_db()
    assert job.status == "failed"


def test_job_whose_end_was_asked_for_is_not_tried_again(make_nodes: Nodes, queue: Queue) -> None:
    job = queue(make_nodes(1))
    begin(job)
    cancel_job(job, by=None)
    end(job, JobAction.LOSE, Reason.WORKER_LOST)
    job.refresh_from_db()
    assert job.status == "lost"
