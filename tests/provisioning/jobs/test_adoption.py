"""A worker that dies leaves a child. It is taken over, or it was never told to begin; two never run one job, and nothing is lost."""

from __future__ import annotations

import json
import os
import signal
import socket
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import LazySettings
from django.db import transaction
from django.db.models.functions import Now

from portal.embedded import processes
from provisioning.fleet.models import Node
from provisioning.jobs import adoption, claims, playbooks, preparation, workspace
from provisioning.jobs.attempts import Attempt
from provisioning.jobs.child import MARK
from provisioning.jobs.child_process import AdoptedChild, ChildProcess
from provisioning.jobs.models import HostResult, Job, JobEvent, NodeLease
from provisioning.jobs.services import cancel_job
from provisioning.jobs.workspace import Workspace
from tests.provisioning.jobs.conftest import Tiny, endings, said
from tests.provisioning.jobs.test_stopping import Running

pytestmark = [pytest.mark.ansible, pytest.mark.django_db(transaction=True)]

Nodes = Callable[..., list[Node]]
Queue = Callable[..., Job]

COUNT = """
- name: Begin
  ansible.builtin.shell: echo "begin {{ attempt }}" >> {{ simulated_node_dir }}.log
- name: Wait for leave to go on
  ansible.builtin.shell: while [ ! -e {{ simulated_node_dir }}.go ]; do sleep 0.1; done
- name: End
  ansible.builtin.shell: echo "end {{ attempt }}" >> {{ simulated_node_dir }}.log
"""


class Orphan:
    """A job whose worker was killed in the middle of its playbook."""

    def __init__(self, job: Job, node: Path) -> None:
        self.job = job
        self._node = node
        held = claims.claim(job.pk, worker=f"{socket.gethostname()[:80]}:999999/999998")
        assert held is not None
        self.held = held
        prepared = preparation.prepare(Job.objects.get(pk=job.pk), held)
        self.space: Workspace = prepared.space
        self.child = ChildProcess.started(prepared.space, mark=held.mark)
        Attempt(held)._start(prepared)
        self.child.go()
        assert processes.wait_until(lambda: self.log() == ["begin 1"], 60)
        self.expire()

    def expire(self) -> None:
        Job.objects.filter(pk=self.job.pk).update(lease_until=Now() - timedelta(seconds=1))

    def log(self) -> list[str]:
        """What the node saw."""
        path = self._node.with_suffix(".log")
        return path.read_text().splitlines() if path.exists() else []

    def may_go_on(self) -> None:
        self._node.with_suffix(".go").touch()

    def marked(self) -> int:
        return len(processes.marked(MARK, self.held.mark))


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> list[claims.Claim]:
    """Claims for which a keeper would have been started."""
    found: list[claims.Claim] = []
    monkeypatch.setattr(adoption, "start_keeper", found.append)
    return found


@pytest.fixture
def orphan(tiny: Tiny, make_nodes: Nodes, queue: Queue, tmp_path: Path) -> Iterator[Orphan]:
    tiny.says(COUNT)
    left = Orphan(queue(make_nodes(1)), tmp_path / "gpu-001")
    yield left
    left.child.kill()
    left.child.wait(10)


@pytest.fixture
def unrepeatable(tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    """The playbook may not be run twice."""
    monkeypatch.setitem(playbooks.REGISTRY, "tiny", replace(playbooks.REGISTRY["tiny"], idempotent=False))


def test_child_of_a_dead_worker_is_followed_to_its_end_and_the_job_runs_once(
    orphan: Orphan, kept: list[claims.Claim], settings: LazySettings
) -> None:
    assert adoption.settle_lost() == 1
    assert adoption.settle_lost() == 0, "its lease is held again"
    [held] = kept
    assert (held.attempt, held.step) == (1, 1)
    orphan.may_go_on()
    assert adoption.keep(held) == "succeeded"
    assert orphan.log() == ["begin 1", "end 1"]
    assert endings(orphan.job) == {"gpu-001": "ok"}
    counters = list(JobEvent.objects.filter(job=orphan.job).values_list("counter", flat=True))
    assert counters == list(range(1, len(counters) + 1))
    assert list(Path(settings.JOBS_DIR).iterdir()) == []
    assert not NodeLease.objects.filter(released_at=None).exists()
    assert orphan.child.ended


def test_job_that_may_not_be_repeated_is_concluded_from_what_its_child_left(
    unrepeatable: None, orphan: Orphan, kept: list[claims.Claim]
) -> None:
    """Its child had ended before anybody looked: the job succeeded, and says so."""
    orphan.may_go_on()
    orphan.child.wait(60)
    assert orphan.child.ended
    assert adoption.settle_lost() == 1
    assert adoption.keep(kept[0]) == "succeeded"
    assert orphan.log() == ["begin 1", "end 1"]
    assert said(orphan.job).count("TASK [End]") == 1


def test_job_that_may_not_be_repeated_and_lost_its_child_too_says_how_far_it_came(
    unrepeatable: None, orphan: Orphan, kept: list[claims.Claim]
) -> None:
    orphan.child.kill()
    assert adoption.settle_lost() == 1
    assert adoption.keep(kept[0]) == "lost"
    orphan.job.refresh_from_db()
    assert (orphan.job.reason, endings(orphan.job)) == ("worker_error", {"gpu-001": "interrupted"})
    assert NodeLease.objects.get(released_at=None).draining_since is not None


def test_job_that_lost_worker_and_child_is_run_again_when_it_may_be(
    orphan: Orphan, kept: list[claims.Claim]
) -> None:
    orphan.child.kill()
    adoption.settle_lost()
    assert adoption.keep(kept[0]) == "queued"


def test_worker_that_comes_back_finds_its_job_in_other_hands_and_touches_nothing(
    tiny: Tiny, make_nodes: Nodes, queue: Queue, kept: list[claims.Claim], tmp_path: Path
) -> None:
    tiny.says(COUNT)
    running = Running(queue(make_nodes(1)))
    log, go = tmp_path / "gpu-001.log", tmp_path / "gpu-001.go"
    running.wait_until(lambda: log.exists())
    Job.objects.filter(pk=running.job.pk).update(
        lease_until=Now() - timedelta(seconds=1), cancel_requested_at=None
    )
    assert adoption.settle_lost() == 1
    assert running.end() == "adopted"
    assert running.commands(), "its child goes on"
    go.touch()
    assert adoption.keep(kept[0]) == "succeeded"
    assert log.read_text().split("\n")[:2] == ["begin 1", "end 1"]


def test_child_listens_to_nobody_but_its_last_holder(orphan: Orphan, kept: list[claims.Claim]) -> None:
    newer = AdoptedChild(orphan.space, mark=orphan.held.mark, step=2)
    newer.sign_of_life()
    orphan.child.stop("user")
    assert not processes.wait_until(lambda: orphan.child.ended, 2)
    newer.stop("deadline")
    orphan.child.wait(30)
    assert orphan.child.ended
    adoption.settle_lost()
    assert adoption.keep(kept[0]) == "timed_out"


def test_order_of_a_worker_that_died_before_it_could_write_is_told_by_the_child(
    orphan: Orphan, kept: list[claims.Claim]
) -> None:
    orphan.child.stop("idle")
    orphan.child.wait(30)
    adoption.settle_lost()
    assert adoption.keep(kept[0]) == "timed_out"
    orphan.job.refresh_from_db()
    assert orphan.job.reason == "idle"


def test_job_that_is_cancelled_while_nobody_follows_it_is_stopped_by_who_takes_it_over(
    orphan: Orphan, kept: list[claims.Claim]
) -> None:
    cancel_job(orphan.job, reason="enough", by=None)
    adoption.settle_lost()
    assert adoption.keep(kept[0]) == "cancelled"
    assert orphan.marked() == 0
    assert orphan.log() == ["begin 1"]


def test_limit_of_the_whole_job_counts_from_its_start_and_not_from_its_adoption(
    orphan: Orphan, kept: list[claims.Claim]
) -> None:
    Job.objects.filter(pk=orphan.job.pk).update(started_at=Now() - timedelta(hours=1))
    adoption.settle_lost()
    assert adoption.keep(kept[0]) == "timed_out"
    assert orphan.marked() == 0


def test_child_whose_every_keeper_dies_is_ended_in_the_end(orphan: Orphan, kept: list[claims.Claim]) -> None:
    for _ in range(adoption.MOST_ADOPTIONS):
        assert adoption.settle_lost() == 1
        orphan.expire()
    assert adoption.settle_lost() == 1
    assert [held.step for held in kept] == [1, 2, 3, 4, 5]
    orphan.job.refresh_from_db()
    assert orphan.job.status == "queued"
    assert orphan.marked() == 0


def test_job_of_another_machine_is_left_until_its_child_has_ended_itself(
    orphan: Orphan, kept: list[claims.Claim]
) -> None:
    Job.objects.filter(pk=orphan.job.pk).update(claimed_by="another-machine:1/2")
    assert adoption.settle_lost() == 0
    late = preparation.is_over_after(claims.lease_span().total_seconds()) + 1
    Job.objects.filter(pk=orphan.job.pk).update(lease_until=Now() - timedelta(seconds=late))
    assert adoption.settle_lost() == 1
    orphan.job.refresh_from_db()
    assert orphan.job.status == "queued"
    orphan.child.kill()


def test_child_that_was_never_told_to_begin_touches_no_node(
    tiny: Tiny,
    make_nodes: Nodes,
    queue: Queue,
    kept: list[claims.Claim],
    settings: LazySettings,
    tmp_path: Path,
) -> None:
    """Its worker died between the claim and the start: the job is run again at once, and no node has to drain."""
    tiny.says(COUNT)
    job = queue(make_nodes(1))
    held = claims.claim(job.pk, worker=f"{socket.gethostname()[:80]}:999999/999998")
    assert held is not None
    prepared = preparation.prepare(job, held)
    child = ChildProcess.started(prepared.space, mark=held.mark)
    assert processes.wait_until(lambda: prepared.space.lock.exists(), 30)
    Job.objects.filter(pk=job.pk).update(lease_until=Now() - timedelta(seconds=1))
    assert adoption.settle_lost() == 1
    job.refresh_from_db()
    assert (job.status, kept) == ("queued", [])
    child.wait(10)
    assert child.ended
    assert not (tmp_path / "gpu-001.log").exists()
    assert list(Path(settings.JOBS_DIR).iterdir()) == []
    assert not NodeLease.objects.filter(released_at=None).exists()


def test_worker_that_goes_leaves_what_may_not_be_repeated_to_the_next(
    unrepeatable: None, tiny: Tiny, make_nodes: Nodes, queue: Queue, kept: list[claims.Claim], tmp_path: Path
) -> None:
    tiny.says(COUNT)
    running = Running(queue(make_nodes(1)))
    running.wait_until(lambda: (tmp_path / "gpu-001.log").exists())
    Job.objects.update(hand_back=True)
    assert running.end() == "adopted"
    assert running.job.status == "running"
    assert adoption.settle_lost() == 1
    (tmp_path / "gpu-001.go").touch()
    assert adoption.keep(kept[0]) == "succeeded"


def test_node_of_which_a_record_with_holes_says_nothing_is_not_called_untouched(
    unrepeatable: None, orphan: Orphan, kept: list[claims.Claim]
) -> None:
    """As when the disk was full for a while: the playbook came to its end, and what it said of the node is gone."""
    orphan.may_go_on()
    orphan.child.wait(60)
    lines = orphan.space.spool.read_text().splitlines()
    left = [line for line in lines if '"host": "gpu-001"' not in line]
    assert len(left) < len(lines)
    orphan.space.spool.write_text("\n".join(left).replace('"lost": 0', '"lost": 6') + "\n")
    adoption.settle_lost()
    assert adoption.keep(kept[0]) == "failed"
    orphan.job.refresh_from_db()
    assert (orphan.job.reason, endings(orphan.job)) == ("record_lost", {"gpu-001": "interrupted"})


def test_playbook_that_was_killed_before_it_spoke_to_a_node_is_run_again(
    orphan: Orphan, kept: list[claims.Claim]
) -> None:
    """As by a machine without memory: that is the portal's own accident, and says nothing of the playbook."""
    orphan.may_go_on()
    orphan.child.wait(60)
    *_, end = orphan.space.spool.read_text().splitlines()
    killed = end.replace('"rc": 0', '"rc": null').replace('"status": "successful"', '"status": "failed"')
    assert killed != end
    orphan.space.spool.write_text(f"{killed}\n")
    adoption.settle_lost()
    assert adoption.keep(kept[0]) == "queued"
    assert endings(orphan.job) == {"gpu-001": "waiting"}
    first = HostResult.objects.get(job=orphan.job, attempt=1)
    assert first.ending == "not_attempted"
    assert "The process that ran it is gone" in orphan.job.waiting_for or orphan.job.waiting_for.startswith(
        "Runs again"
    )


def test_playbook_that_is_gone_since_ends_what_can_not_be_followed(
    orphan: Orphan, kept: list[claims.Claim], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(playbooks.REGISTRY, "tiny")
    adoption.settle_lost()
    assert adoption.keep(kept[0]) == "lost"
    assert orphan.marked() == 0


def test_frozen_worker_s_late_write_is_refused(orphan: Orphan, kept: list[claims.Claim]) -> None:
    adoption.settle_lost()
    for late in (claims.ours, claims.renew, claims.wishes):
        with pytest.raises(claims.Adopted), transaction.atomic():
            late(orphan.held)
    orphan.may_go_on()
    assert adoption.keep(kept[0]) == "succeeded"


def test_keeper_that_is_killed_is_followed_by_another(
    orphan: Orphan, kept: list[claims.Claim], settings: LazySettings
) -> None:
    """A real one, killed as an operating system out of memory does."""
    adoption.settle_lost()
    [first] = kept
    Job.objects.filter(pk=orphan.job.pk).update(lease_until=Now() + timedelta(seconds=30))
    orphan.expire()
    adoption.settle_lost()
    assert adoption.keep(first) == "adopted"
    orphan.may_go_on()
    assert adoption.keep(kept[1]) == "succeeded"
    assert orphan.log() == ["begin 1", "end 1"]


def test_frozen_child_is_ended_by_force(orphan: Orphan, kept: list[claims.Claim]) -> None:
    """It can't listen, so it can't tidy up; its nodes drain."""
    for each in processes.marked(MARK, orphan.held.mark):
        if "provisioning.jobs.child" in " ".join(processes.command_line(each.pid)):
            os.kill(each.pid, signal.SIGSTOP)
    cancel_job(orphan.job, by=None)
    adoption.settle_lost()
    assert adoption.keep(kept[0]) == "cancelled"
    assert orphan.marked() == 0
    assert NodeLease.objects.get(released_at=None).draining_since is not None


def test_node_that_was_at_work_while_the_child_was_frozen_is_not_called_untouched(
    orphan: Orphan, kept: list[claims.Claim]
) -> None:
    """The playbook goes on, nobody writes down what it says, and then the child is killed."""
    orphan.space.spool.write_bytes(b"")
    for each in processes.marked(MARK, orphan.held.mark):
        if "provisioning.jobs.child" in " ".join(processes.command_line(each.pid)):
            os.kill(each.pid, signal.SIGKILL)
    adoption.settle_lost()
    assert adoption.keep(kept[0]) == "queued"
    assert HostResult.objects.get(job=orphan.job, attempt=1).ending == "interrupted"


def test_node_of_a_child_that_had_to_leave_its_playbook_behind_is_not_called_untouched(
    orphan: Orphan, kept: list[claims.Claim]
) -> None:
    orphan.may_go_on()
    orphan.child.wait(60)
    left = {"rc": None, "status": "stopped", "why": "idle", "text": "left", "torn": True, "lost": 0}
    orphan.space.spool.write_text(json.dumps({"end": left}) + "\n")
    adoption.settle_lost()
    assert adoption.keep(kept[0]) == "timed_out"
    assert endings(orphan.job) == {"gpu-001": "interrupted"}


def test_folder_of_an_attempt_names_its_pipe_and_lock(tmp_path: Path) -> None:
    space = workspace.create(tmp_path / "jobs", "j1-1-0123abcd", owner="test")
    assert space.orders.is_fifo()
    assert not space.lock.exists()
    assert AdoptedChild(space, mark="j1-1-0123abcd", step=1).ended
    space.remove()
