"""A job of many nodes: cut into shards and waves, paused, resumed, stopped, and ended exactly once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from threading import Barrier, Thread
from typing import Any

import pytest
from django.db import connection, transaction

from portal.accounts.models import User
from portal.kernel.clock import now
from portal.kernel.errors import NotAllowed, Refused
from portal.ledger.models import Event
from provisioning.fleet.models import Node
from provisioning.jobs import (
    claims,
    dispatch,
    finishing,
    host_table,
    playbooks,
    queries,
    rollouts,
    shard_results,
)
from provisioning.jobs.host_table import Wanted
from provisioning.jobs.models import HostResult, Job, NodeLease
from provisioning.jobs.services import cancel_job, force_stop, relaunch_remaining, resume_job, sweep
from provisioning.jobs.states import Ending, JobAction, Reason
from provisioning.jobs.waves import Asked, Budget
from provisioning.retention.holding import held
from provisioning.retention.services import retire_jobs
from tests.provisioning.builders import end
from tests.provisioning.jobs.conftest import Tiny, endings

pytestmark = pytest.mark.django_db

Nodes = Callable[..., list[Node]]
Queue = Callable[..., Job]
FAILED, UNREACHABLE = Ending.FAILED, Ending.UNREACHABLE


@pytest.fixture(autouse=True)
def three_nodes_a_shard(tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    book = replace(playbooks.REGISTRY["tiny"], shard_nodes=3)
    monkeypatch.setitem(playbooks.REGISTRY, "tiny", book)


def open_shards(whole: Job) -> list[Job]:
    return list(whole.shards.filter(ended_at=None).order_by("shard"))


def names_in(shard: Job) -> list[str]:
    rows = HostResult.objects.filter(job=shard, attempt=1).order_by("node__name")
    return list(rows.values_list("node__name", flat=True))


def begin(shard: Job) -> claims.Claim:
    """Claim it as a worker does."""
    held = claims.claim(shard.pk, worker="test:1/2")
    assert held is not None
    return held


def run_wave(whole: Job, bad: dict[str, Ending] | None = None) -> Job:
    """End every shard that is open now."""
    for shard in open_shards(whole):
        shard.refresh_from_db()
        if not shard.is_ended:
            end(shard, {name: how for name, how in (bad or {}).items() if name in names_in(shard)})
    whole.refresh_from_db()
    return whole


def test_job_of_more_nodes_than_a_shard_has_is_one_job_in_even_parts(make_nodes: Nodes, queue: Queue) -> None:
    whole = queue(make_nodes(7))
    assert (whole.status, whole.is_whole) == ("spread", True)
    assert [len(names_in(shard)) for shard in open_shards(whole)] == [3, 2, 2]
    assert list(Job.objects.all().asked_for()) == [whole]
    assert [event.subject for event in Event.objects.filter(name="job.queued")] == [whole.ref]


def test_job_that_fits_a_shard_is_no_whole(make_nodes: Nodes, queue: Queue) -> None:
    job = queue(make_nodes(3))
    assert (job.status, job.is_whole, job.shards.count()) == ("queued", False, 0)


def test_shards_run_in_the_wholes_name(make_nodes: Nodes, queue: Queue, operator: User) -> None:
    whole = queue(make_nodes(4), priority=-1, variables={"word": "hello"}, by=operator)
    for shard in open_shards(whole):
        assert (shard.priority, shard.queue, shard.variables) == (-1, "jobs", whole.variables)
        assert (shard.created_by, shard.purpose, shard.max_attempts) == (operator, "a test", 3)


def test_shards_wait_where_their_nodes_stand(make_nodes: Nodes, queue: Queue) -> None:
    north, south = make_nodes(2, site="north"), make_nodes(2, start=3, site="south")
    whole = queue([*north, *south])
    assert [(shard.queue, names_in(shard)) for shard in open_shards(whole)] == [
        ("jobs.north", ["gpu-001", "gpu-002"]),
        ("jobs.south", ["gpu-003", "gpu-004"]),
    ]


def test_whole_is_never_claimed(make_nodes: Nodes, queue: Queue) -> None:
    whole = queue(make_nodes(4))
    assert claims.claim(whole.pk, worker="test:1/2") is None
    assert whole.pk not in dispatch.decision("jobs").runnable


def test_results_come_home_as_shards_end(make_nodes: Nodes, queue: Queue) -> None:
    whole = queue(make_nodes(5))
    first, second = open_shards(whole)
    end(first, {"gpu-001": FAILED})
    whole.refresh_from_db()
    assert whole.status == "spread"
    assert whole.waiting_for == "3 of 5 nodes are done, 1 of them not ok."
    assert endings(whole) == {
        "gpu-001": "failed",
        "gpu-002": "ok",
        "gpu-003": "ok",
        "gpu-004": "waiting",
        "gpu-005": "waiting",
    }
    end(second)
    whole.refresh_from_db()
    assert (whole.status, whole.reason) == ("partial", "hosts_failed")
    assert whole.reason_text == "Of 5 nodes 4 are ok, 1 failed."
    failed = HostResult.objects.get(job=whole, node__name="gpu-001")
    assert (failed.last_task, failed.first_failure) == ("Pin the driver", "apt said no\nmore words")


def test_what_nodes_sent_lies_with_the_whole_alone(make_nodes: Nodes, queue: Queue) -> None:
    whole = queue(make_nodes(4))
    for shard in open_shards(whole):
        HostResult.objects.filter(job=shard).update(data={"probe": {"of": shard.ref}})
    run_wave(whole)
    assert all(row.data["probe"] for row in HostResult.objects.filter(job=whole))
    assert not HostResult.objects.filter(job__whole=whole).exclude(data={}).exists()


def test_end_is_told_once_of_the_whole(make_nodes: Nodes, queue: Queue) -> None:
    whole = run_wave(queue(make_nodes(7)))
    assert whole.status == "succeeded"
    told = Event.objects.get(name="job.finished")
    assert (told.subject, told.payload["nodes"]) == (whole.ref, {"ok": 7})


def test_beginning_is_told_once_of_the_whole(make_nodes: Nodes, queue: Queue) -> None:
    whole = queue(make_nodes(7))
    for shard in open_shards(whole):
        rollouts.tell_started(shard)
    assert [event.subject for event in Event.objects.filter(name="job.started")] == [whole.ref]
    whole.refresh_from_db()
    assert whole.started_at is not None


def test_shard_that_lost_its_worker_is_tried_again_and_the_whole_waits(
    make_nodes: Nodes, queue: Queue
) -> None:
    whole = queue(make_nodes(4))
    first, second = open_shards(whole)
    end(second)
    held = begin(first)
    finishing.end_job(
        claims.ours(held), JobAction.LOSE, reason=Reason.WORKER_LOST, text="Its worker was lost."
    )
    first.refresh_from_db()
    whole.refresh_from_db()
    assert (first.status, first.attempt, whole.status) == ("queued", 1, "spread")
    end(first)
    whole.refresh_from_db()
    assert whole.status == "succeeded"


def test_reason_that_all_unlucky_shards_share_is_the_wholes(make_nodes: Nodes, queue: Queue) -> None:
    whole = queue(make_nodes(6))
    first, second = open_shards(whole)
    end(first, {"gpu-001": Ending.INTERRUPTED}, reason=Reason.DEADLINE)
    end(second)
    whole.refresh_from_db()
    assert (whole.status, whole.reason) == ("partial", "deadline")
    assert whole.reason_text == "test Of 6 nodes 5 are ok, 1 is interrupted."


def test_joining_in_shards_fails_as_a_whole(
    make_nodes: Nodes, queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = replace(playbooks.REGISTRY["tiny"], policy=playbooks.ALL_OR_NOTHING)
    monkeypatch.setitem(playbooks.REGISTRY, "tiny", book)
    whole = run_wave(queue(make_nodes(6)), {"gpu-006": FAILED})
    assert whole.status == "failed"
    assert whole.reason_text == "Of 6 nodes 5 are ok, 1 failed. It counts only when every node is ok."


# Waves


def test_canary_goes_first_in_the_order_in_which_nodes_were_named(make_nodes: Nodes, queue: Queue) -> None:
    nodes = make_nodes(6)[::-1]
    whole = queue(nodes, asked=Asked(canary=1, percentages=(50,)))
    assert [names_in(shard) for shard in open_shards(whole)] == [["gpu-006"]]
    run_wave(whole)
    assert (whole.wave, whole.status) == (2, "spread")
    assert [names_in(shard) for shard in open_shards(whole)] == [["gpu-004", "gpu-005"]]
    run_wave(whole)
    assert [names_in(shard) for shard in open_shards(whole)] == [["gpu-001", "gpu-002", "gpu-003"]]
    assert run_wave(whole).status == "succeeded"


def test_spent_budget_pauses_and_holds_no_node(make_nodes: Nodes, queue: Queue) -> None:
    whole = queue(make_nodes(10), asked=Asked(canary=2))
    run_wave(whole, {"gpu-002": UNREACHABLE})
    assert whole.status == "paused"
    assert queries.say_why(whole) == (
        "1 of 2 nodes failed, the budget of wave 1 of 2 is 0; resume runs the 8 that remain, stop ends it here."
    )
    assert not NodeLease.objects.filter(released_at=None).exists()
    assert not open_shards(whole)
    assert Event.objects.get(name="job.paused").payload["now"] == whole.waiting_for
    assert not Event.objects.filter(name="job.finished").exists()


def test_budget_that_is_exactly_spent_goes_on(make_nodes: Nodes, queue: Queue) -> None:
    whole = queue(make_nodes(4), asked=Asked(percentages=(50,), budget=Budget(count=50, is_percent=True)))
    run_wave(whole, {"gpu-001": FAILED})
    assert (whole.status, whole.wave) == ("spread", 2)


def test_shards_that_have_not_begun_are_taken_back_when_the_budget_is_spent(
    make_nodes: Nodes, queue: Queue
) -> None:
    whole = queue(make_nodes(9), asked=Asked(budget=Budget(count=1)))
    first, second, third = open_shards(whole)
    begin(second)
    end(first, {"gpu-001": FAILED, "gpu-002": FAILED})
    for job in (whole, second, third):
        job.refresh_from_db()
    assert (whole.status, second.status, third.status) == ("spread", "claimed", "cancelled")
    assert third.reason == "taken_back"
    assert "pauses when what runs has ended" in whole.waiting_for
    Job.objects.filter(pk=second.pk).update(status="running")
    end(Job.objects.get(pk=second.pk))
    whole.refresh_from_db()
    assert whole.status == "paused"
    assert "2 of 6 nodes failed" in whole.waiting_for
    assert "resume runs the 3 that remain" in whole.waiting_for


def test_resume_runs_exactly_what_remains(make_nodes: Nodes, queue: Queue, operator: User) -> None:
    whole = queue(make_nodes(9), asked=Asked(percentages=(70,)))
    end(open_shards(whole)[0], {"gpu-001": FAILED})
    whole = resume_job(whole, by=operator)
    assert whole.status == "spread"
    waiting = [names_in(shard) for shard in open_shards(whole)]
    assert waiting == [["gpu-004", "gpu-005"], ["gpu-006", "gpu-007"]]
    run_wave(whole)
    assert [names_in(shard) for shard in open_shards(whole)] == [["gpu-008", "gpu-009"]]
    run_wave(whole)
    assert (whole.status, endings(whole)["gpu-001"]) == ("partial", "failed")
    assert Event.objects.get(name="job.resumed").actor == operator


def test_resume_may_run_what_failed_first(make_nodes: Nodes, queue: Queue, operator: User) -> None:
    whole = queue(make_nodes(6), asked=Asked(canary=2))
    run_wave(whole, {"gpu-001": FAILED})
    whole = resume_job(whole, again=True, by=operator)
    assert [names_in(shard) for shard in open_shards(whole)] == [["gpu-001"]]
    run_wave(whole)
    assert endings(whole)["gpu-001"] == "ok"
    assert run_wave(whole).status == "succeeded"


def test_node_that_fails_again_pauses_again(make_nodes: Nodes, queue: Queue, operator: User) -> None:
    whole = queue(make_nodes(6), asked=Asked(canary=2))
    run_wave(whole, {"gpu-001": FAILED})
    whole = run_wave(resume_job(whole, again=True, by=operator), {"gpu-001": FAILED})
    assert whole.status == "paused"
    assert "1 of 1 node failed" in whole.waiting_for


def test_last_node_that_spends_the_budget_ends_the_job(make_nodes: Nodes, queue: Queue) -> None:
    whole = queue(make_nodes(2), asked=Asked(canary=1))
    run_wave(whole)
    assert run_wave(whole, {"gpu-002": FAILED}).status == "partial"


def test_job_without_a_plan_never_pauses(make_nodes: Nodes, queue: Queue) -> None:
    whole = queue(make_nodes(9))
    end(open_shards(whole)[0], {f"gpu-00{n}": FAILED for n in (1, 2, 3)})
    assert len(open_shards(whole)) == 2
    assert run_wave(whole).status == "partial"


def test_only_operators_resume_and_only_what_is_paused(
    make_nodes: Nodes, queue: Queue, operator: User, member: User
) -> None:
    whole = queue(make_nodes(6), asked=Asked(canary=2))
    with pytest.raises(Refused, match="is not paused"):
        resume_job(whole, by=operator)
    run_wave(whole, {"gpu-001": FAILED})
    with pytest.raises(NotAllowed):
        resume_job(whole, by=member)
    resume_job(whole, by=operator)
    with pytest.raises(Refused, match="is not paused"):
        resume_job(whole, by=operator)


def test_what_needs_all_nodes_in_one_run_has_neither_shards_nor_waves(
    make_nodes: Nodes, queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = replace(playbooks.REGISTRY["tiny"], shard_nodes=None)
    monkeypatch.setitem(playbooks.REGISTRY, "tiny", book)
    nodes = make_nodes(8)
    assert not queue(nodes).is_whole
    with pytest.raises(Refused, match="in one run"):
        queue(nodes, asked=Asked(canary=1))


# Stopping and running again


def test_stop_stops_every_shard(make_nodes: Nodes, queue: Queue, operator: User) -> None:
    whole = queue(make_nodes(8), asked=Asked(percentages=(80,)))
    first, second, third = open_shards(whole)
    held = begin(first)
    end(second)
    whole = cancel_job(whole, reason="wrong driver", by=operator)
    first.refresh_from_db()
    third.refresh_from_db()
    assert (whole.status, third.status) == ("spread", "cancelled")
    assert claims.renew(held).cancel, "the worker of what runs hears of it"
    assert queries.say_why(whole) == "It was asked to stop; its workers end it within seconds."
    finishing.end_job(
        claims.ours(held), JobAction.CANCEL, reason=Reason.USER, text="It was cancelled.", drains=True
    )
    whole.refresh_from_db()
    assert (whole.status, whole.reason) == ("cancelled", "user")
    assert whole.reason_text == ("It was cancelled: wrong driver. Of 8 nodes 2 are ok, 6 are not attempted.")
    assert Event.objects.filter(name="job.finished").count() == 1
    draining = [host.node.name for host in host_table.table(whole, Wanted()).rows if host.draining_since]
    assert draining == names_in(first)


def test_whole_is_stopped_by_force_with_every_shard(make_nodes: Nodes, queue: Queue, operator: User) -> None:
    whole = queue(make_nodes(7))
    first, second, _ = open_shards(whole)
    held = begin(first)
    end(second)
    whole = force_stop(whole, reason="the machine is gone", by=operator)
    first.refresh_from_db()
    assert (first.status, first.reason) == ("cancelled", "forced")
    assert (whole.status, whole.reason) == ("cancelled", "forced")
    assert whole.reason_text.startswith("It was stopped by force: the machine is gone. Of 7 nodes 2 are ok")
    with pytest.raises(claims.Fenced):
        claims.renew(held)
    assert Event.objects.filter(name="job.finished").count() == 1
    told = Event.objects.get(name="job.forced", subject=whole.ref)
    assert (told.actor, told.payload["why"], told.payload["drains"]) == (
        operator,
        "the machine is gone",
        False,
    )


def test_whole_that_two_stop_by_force_keeps_the_first(
    make_nodes: Nodes, queue: Queue, operator: User, admin_user: User
) -> None:
    whole = queue(make_nodes(4))
    for shard in open_shards(whole):
        begin(shard)
    first = force_stop(whole, reason="the machine is gone", by=operator)
    again = force_stop(whole, reason="so it is", by=admin_user)
    assert (again.forced_at, again.forced_by) == (first.forced_at, operator)
    assert Event.objects.filter(name="job.forced", subject=whole.ref).count() == 1


def test_paused_job_ends_at_once_when_it_is_stopped(make_nodes: Nodes, queue: Queue, operator: User) -> None:
    whole = queue(make_nodes(6), asked=Asked(canary=2))
    run_wave(whole, {"gpu-001": FAILED})
    whole = cancel_job(whole, by=operator)
    assert whole.status == "cancelled"
    assert endings(whole)["gpu-006"] == "not_attempted"
    assert Event.objects.get(name="job.finished").actor == operator


def test_shard_is_neither_stopped_nor_relaunched_by_itself(
    make_nodes: Nodes, queue: Queue, operator: User
) -> None:
    whole = queue(make_nodes(4))
    shard = open_shards(whole)[0]
    with pytest.raises(Refused, match=f"is part 1 of {whole.ref}; only the whole can be stopped"):
        cancel_job(shard, by=operator)
    end(shard, {"gpu-001": FAILED})
    with pytest.raises(Refused, match="only the whole can be run again"):
        relaunch_remaining(shard, by=operator)


def test_rest_of_a_whole_is_run_again_in_waves_as_before(
    make_nodes: Nodes, queue: Queue, operator: User
) -> None:
    whole = queue(make_nodes(6), asked=Asked(canary=2, budget=Budget(count=9)))
    run_wave(whole, {"gpu-001": FAILED})
    whole = cancel_job(whole, by=operator)
    again = relaunch_remaining(whole, by=operator)
    assert sorted(endings(again)) == ["gpu-001", "gpu-003", "gpu-004", "gpu-005", "gpu-006"]
    assert [names_in(shard) for shard in open_shards(again)] == [["gpu-001", "gpu-003"]]


# What others see


def test_nodes_are_shown_as_their_shards_have_them_now(make_nodes: Nodes, queue: Queue) -> None:
    whole = queue(make_nodes(4))
    first, second = open_shards(whole)
    begin(first)
    HostResult.objects.filter(job=first, node__name="gpu-001").update(ending="running", last_task="Greet")
    seen = {host.node.name: host for host in host_table.table(whole, Wanted()).rows}
    assert (seen["gpu-001"].ending, seen["gpu-001"].last_task) == ("running", "Greet")
    assert {name: host.job for name, host in seen.items()} == {
        **dict.fromkeys(names_in(first), first.ref),
        **dict.fromkeys(names_in(second), second.ref),
    }


def test_shards_of_one_job_let_a_later_job_of_others_pass(
    make_nodes: Nodes, queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatch, "slots_of", lambda queue: 4)
    nodes = make_nodes(14)
    whole = queue(nodes[:12])
    first, second, *rest = open_shards(whole)
    begin(first)
    begin(second)
    other = queue(nodes[12:13])
    assert dispatch.decision("jobs").runnable == (other.pk, *(shard.pk for shard in rest))


def test_shards_are_kept_as_long_as_their_whole_and_go_with_it(make_nodes: Nodes, queue: Queue) -> None:
    whole = queue(make_nodes(4))
    shard = open_shards(whole)[0]
    end(shard)
    assert held(Job.objects.filter(pk=shard.pk)) == {shard.pk}, "its whole is not over"
    run_wave(whole)
    assert held(Job.objects.all()) == set()
    assert retire_jobs(older_than=now() + timedelta(days=1)) == 1
    assert not Job.objects.exists()


# Accidents


def test_two_shards_that_end_at_once_have_one_end(make_nodes: Nodes, queue: Queue) -> None:
    whole = queue(make_nodes(4))
    one, two = open_shards(whole)
    end(one)
    end(two)
    assert rollouts.mend() == 0
    assert Event.objects.filter(name="job.finished").count() == 1


def test_sweep_concludes_a_whole_without_an_open_shard(make_nodes: Nodes, queue: Queue) -> None:
    """As if the last shard's end had been written by something that knows no wholes."""
    whole = queue(make_nodes(4))
    for shard in open_shards(whole):
        HostResult.objects.filter(job=shard).update(ending="ok")
        Job.objects.filter(pk=shard.pk).update(status="succeeded", attempt=1, ended_at=shard.created_at)
    sweep()
    whole.refresh_from_db()
    assert (whole.status, endings(whole)) == ("succeeded", dict.fromkeys(endings(whole), "ok"))
    assert Event.objects.filter(name="job.finished").count() == 1


def test_sweep_gives_nodes_of_the_wave_that_are_in_no_shard_one(make_nodes: Nodes, queue: Queue) -> None:
    whole = queue(make_nodes(4))
    whole.shards.all().delete()
    sweep()
    assert len(open_shards(whole)) == 2
    assert run_wave(whole).status == "succeeded"


def test_sweep_stops_shards_that_were_locked_when_the_whole_was_stopped(
    make_nodes: Nodes, queue: Queue, operator: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = queue(make_nodes(4))
    with monkeypatch.context() as patch:
        patch.setattr(rollouts, "_open_shards", lambda whole: Job.objects.none())
        cancel_job(whole, by=operator)
    whole.refresh_from_db()
    assert whole.status == "spread"
    sweep()
    whole.refresh_from_db()
    assert whole.status == "cancelled"


def test_sweep_takes_back_a_shard_that_came_back_after_the_budget_was_spent(
    make_nodes: Nodes, queue: Queue
) -> None:
    whole = queue(make_nodes(6), asked=Asked(budget=Budget(count=0)))
    first, second = open_shards(whole)
    held = begin(second)
    end(first, {"gpu-001": FAILED})
    finishing.end_job(claims.ours(held), JobAction.LOSE, reason=Reason.WORKER_LOST, text="Lost.")
    sweep()
    whole.refresh_from_db()
    second.refresh_from_db()
    assert (second.reason, whole.status) == ("taken_back", "paused")
    assert "resume runs the 3 that remain" in whole.waiting_for


def test_results_are_brought_home_once(make_nodes: Nodes, queue: Queue) -> None:
    whole = queue(make_nodes(4))
    first = open_shards(whole)[0]
    HostResult.objects.filter(job=first).update(data={"probe": 1})
    end(first)
    whole.refresh_from_db()
    assert shard_results.bring_home(whole) == 0
    assert HostResult.objects.filter(job=whole, data={"probe": 1}).count() == 2


def test_end_that_is_rolled_back_leaves_the_whole_as_it_was(make_nodes: Nodes, queue: Queue) -> None:
    """A worker that dies in the middle of the last write: the next one ends the shard, and the whole with it."""
    whole = queue(make_nodes(4))
    one, two = open_shards(whole)
    end(one)
    with pytest.raises(RuntimeError), transaction.atomic():
        end(two)
        raise RuntimeError("the worker died")
    whole.refresh_from_db()
    assert whole.status == "spread"
    end(Job.objects.get(pk=two.pk))
    whole.refresh_from_db()
    assert whole.status == "succeeded"


@pytest.mark.django_db(transaction=True)
def test_shards_that_end_and_a_stop_at_the_same_time_never_lock_each_other_out(
    make_nodes: Nodes, queue: Queue, operator: User
) -> None:
    """Six shards end at once in threads of their own while the whole is stopped: one end, and nobody waits in a ring."""
    for stopped in (False, True):
        whole = queue(make_nodes(12, start=1 + 12 * stopped), by=operator)
        claimed = [begin(shard) for shard in open_shards(whole)]
        barrier, wrong = Barrier(len(claimed) + stopped), list[BaseException]()

        def alone(act: Callable[[], Any], barrier: Barrier = barrier, wrong: Any = wrong) -> None:
            try:
                barrier.wait()
                act()
            except BaseException as problem:  # noqa: BLE001 - a deadlock is what the test looks for
                wrong.append(problem)
            finally:
                connection.close()

        def write(claim: claims.Claim) -> None:
            with transaction.atomic():
                job = claims.ours(claim)
                HostResult.objects.filter(job=job).update(ending="ok")
                finishing.end_job(job, JobAction.FAIL, reason=Reason.COULD_NOT_START, text="It ended.")

        threads = [Thread(target=alone, args=(lambda claim=claim: write(claim),)) for claim in claimed]
        if stopped:
            threads.append(Thread(target=alone, args=(lambda whole=whole: cancel_job(whole, by=operator),)))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert wrong == []
        whole.refresh_from_db()
        assert whole.is_ended
        assert Event.objects.filter(name="job.finished", subject=whole.ref).count() == 1
        assert set(endings(whole).values()) == {"ok"}
