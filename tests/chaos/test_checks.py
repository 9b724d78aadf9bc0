"""The checker finds every kind of lie: each is planted into a campaign in which everything is true."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import pytest

from portal.kernel.clock import now
from portal.ledger.services import record
from provisioning.events import JOB_FINISHED
from provisioning.fleet.models import Node
from provisioning.jobs.models import HostResult, Job, JobEvent, NodeLease
from tests.chaos import checks
from tests.chaos.evidence import Asked, Evidence, Fault
from tests.chaos.playbook import STEPS

pytestmark = pytest.mark.django_db

ALL = tuple(f"{step}-{end}" for step in STEPS for end in ("begin", "end"))


@dataclass
class Past:
    """A campaign that is over: what the nodes wrote, what was done, and rows that say the same."""

    queue: Callable[..., Job]
    logs: dict[str, list[str]] = field(default_factory=dict)
    evidence: Evidence = field(default_factory=Evidence)
    clock: datetime = field(default_factory=lambda: now() - timedelta(hours=1))

    def job(self, nodes: list[Node], *, fails: tuple[str, ...] = ()) -> Job:
        """One that went as it should on these nodes, after all others."""
        job = self.queue(nodes, variables={"words": list(fails)})
        self.evidence.asked[job.ref] = Asked(tuple(node.name for node in nodes), fails)
        self.attempt(job, nodes, 1, fails=fails)
        ok = [node for node in nodes if node.name not in fails]
        self.ends(job, "succeeded" if not fails else "partial" if ok else "failed", fails=bool(fails))
        return job

    def attempt(self, job: Job, nodes: list[Node], number: int, *, fails: tuple[str, ...] = ()) -> None:
        taken, self.clock = self.clock, self.clock + timedelta(seconds=20)
        counter = 0
        for node in nodes:
            NodeLease.objects.create(
                node=node,
                job=job,
                attempt=number,
                taken_at=taken,
                released_at=self.clock,
                mark=f"j{job.pk}-{number}-a",
            )
            row, _ = HostResult.objects.get_or_create(job=job, attempt=number, node=node)
            row.ending = "failed" if node.name in fails else "ok"
            row.save()
            for place, what in enumerate(ALL, start=1):
                self.saw(node, what, job, number, at=taken + timedelta(seconds=place))
            for step in STEPS:
                counter += 1
                JobEvent.objects.create(
                    job=job,
                    attempt=number,
                    counter=counter,
                    kind="ok",
                    host=node.name,
                    task=f"Step {step}",
                    at=taken,
                )

    def ends(self, job: Job, status: str, *, fails: bool = False) -> None:
        record(JOB_FINISHED, subject=job.ref, by=None)
        self.says(
            job,
            status=status,
            attempt=1,
            reason="hosts_failed" if fails else "",
            started_at=self.clock - timedelta(seconds=20),
            ended_at=self.clock,
        )

    def saw(self, node: Node, what: str, job: Job, attempt: int = 1, *, at: datetime | None = None) -> None:
        moment = (at or self.clock - timedelta(seconds=1)).timestamp()
        self.logs.setdefault(node.name, []).append(f"{what} {job.ref} {attempt} {moment:.9f}")

    def forgets(self, node: Node, *words: str) -> None:
        self.logs[node.name] = [line for line in self.logs[node.name] if line.split()[0] not in words]

    def says(self, job: Job, **columns: Any) -> None:
        Job.objects.filter(pk=job.pk).update(**columns)

    def ends_on(self, job: Job, node: Node, ending: str, **columns: Any) -> None:
        HostResult.objects.filter(job=job, node=node).update(ending=ending, **columns)

    def fault(self, name: str, *, node: str = "", after: float = -15.0) -> None:
        """One that was there while the last job ran."""
        at = self.clock.timestamp() + after
        self.evidence.faults.append(Fault(name, at=at, until=at + 1, node=node))

    def judged(self) -> checks.Findings:
        return checks.judge({name: checks.read(lines) for name, lines in self.logs.items()}, self.evidence)


@pytest.fixture
def past(queue: Callable[..., Job]) -> Past:
    return Past(queue)


def only(findings: checks.Findings, kind: str) -> str:
    """The one sentence that was found, and nothing of another kind."""
    told = {name: found for name, found in vars(findings).items() if found}
    assert set(told) == {kind}, told
    assert len(told[kind]) == 1, told
    sentence: str = told[kind][0]
    return sentence


def test_truth_is_clean(past: Past, make_nodes: Callable[..., list[Node]]) -> None:
    first, second = make_nodes(2)
    past.job([first, second])
    past.job([second], fails=(second.name,))
    past.job([first, second], fails=(first.name,))
    assert past.judged().clean


def test_job_without_an_end_is_lost(past: Past, make_nodes: Callable[..., list[Node]]) -> None:
    job = past.queue(make_nodes(1), variables={"words": []})
    assert job.ref in only(past.judged(), "lost")


def test_job_that_was_promised_and_is_not_there_is_lost(past: Past) -> None:
    past.evidence.asked["J-4711"] = Asked(("gpu-001",), ())
    assert "nobody knows it" in only(past.judged(), "lost")


def test_job_that_forgot_a_node_is_lost_in_part(past: Past, make_nodes: Callable[..., list[Node]]) -> None:
    first, second = make_nodes(2)
    job = past.job([first])
    past.evidence.asked[job.ref] = Asked((first.name, second.name), ())
    assert second.name in only(past.judged(), "lost")


def test_two_at_work_on_a_node_are_found(past: Past, make_nodes: Callable[..., list[Node]]) -> None:
    (node,) = make_nodes(1)
    past.saw(node, "overlap", past.job([node]))
    assert "while another was at work" in only(past.judged(), "duplicated")


def test_step_that_ran_twice_in_an_attempt_is_found(
    past: Past, make_nodes: Callable[..., list[Node]]
) -> None:
    (node,) = make_nodes(1)
    past.saw(node, "one-begin", past.job([node]))
    assert "2 times" in only(past.judged(), "duplicated")


def test_older_attempt_that_works_after_a_newer_one_is_found(
    past: Past, make_nodes: Callable[..., list[Node]]
) -> None:
    (node,) = make_nodes(1)
    older, newer = past.job([node]), past.job([node])
    NodeLease.objects.filter(job=older).update(released_at=now())
    past.saw(node, "two-end", older, at=past.clock)
    assert newer.ref not in (said := only(past.judged(), "duplicated"))
    assert "after a later one" in said


def test_work_without_a_lease_is_found(past: Past, make_nodes: Callable[..., list[Node]]) -> None:
    first, second = make_nodes(2)
    past.saw(second, "one-begin", past.job([first]))
    assert "without a lease" in only(past.judged(), "duplicated")


@pytest.mark.parametrize("seconds", [-30, 30])
def test_work_outside_of_its_lease_is_found(
    past: Past, make_nodes: Callable[..., list[Node]], seconds: int
) -> None:
    (node,) = make_nodes(1)
    job = past.job([node])
    past.saw(node, "more-end", job, at=past.clock + timedelta(seconds=seconds))
    assert "outside of its lease" in only(past.judged(), "duplicated")


def test_end_that_was_told_twice_is_found(past: Past, make_nodes: Callable[..., list[Node]]) -> None:
    record(JOB_FINISHED, subject=past.job(make_nodes(1)).ref, by=None)
    assert "told 2 times" in only(past.judged(), "duplicated")


def test_end_that_nobody_was_told_is_found(past: Past, make_nodes: Callable[..., list[Node]]) -> None:
    nodes = make_nodes(1)
    job = past.queue(nodes, variables={"words": []})
    past.attempt(job, nodes, 1)
    past.says(job, status="succeeded", attempt=1, started_at=past.clock, ended_at=past.clock)
    assert "told 0 times" in only(past.judged(), "duplicated")


@pytest.mark.parametrize("mark", ALL)
def test_ok_without_a_mark_on_the_node_is_a_lie(
    past: Past, make_nodes: Callable[..., list[Node]], mark: str
) -> None:
    (node,) = make_nodes(1)
    past.job([node])
    past.forgets(node, mark)
    assert mark in only(past.judged(), "wrong")


def test_ok_where_the_failure_was_planned_is_a_lie(past: Past, make_nodes: Callable[..., list[Node]]) -> None:
    (node,) = make_nodes(1)
    past.says(past.job([node]), variables={"words": [node.name]})
    assert "its failure was planned" in only(past.judged(), "wrong")


def test_ok_of_an_attempt_that_was_repeated_is_judged_too(
    past: Past, make_nodes: Callable[..., list[Node]]
) -> None:
    nodes = make_nodes(1)
    job = past.job(nodes)
    past.forgets(nodes[0], "two-end")
    past.attempt(job, nodes, 2)
    past.says(job, attempt=2)
    assert "in attempt 1" in only(past.judged(), "wrong")


def test_failure_that_nobody_planned_needs_a_fault_there_at_that_time(
    past: Past, make_nodes: Callable[..., list[Node]]
) -> None:
    first, second = make_nodes(2)
    job = past.job([first, second])
    past.says(job, status="partial", reason="hosts_failed")
    past.ends_on(job, first, "failed", first_failure="Task failed: it timed out")
    assert "nothing was to fail there" in only(past.judged(), "wrong")
    past.fault("node frozen", node=second.name)
    past.fault("node frozen", node=first.name, after=-600)
    past.fault("node frozen", node=first.name, after=600)
    assert "nothing was to fail there" in only(past.judged(), "wrong")
    past.fault("node frozen", node=first.name)
    assert past.judged().clean


def test_planned_failure_before_the_end_of_the_steps_is_none(
    past: Past, make_nodes: Callable[..., list[Node]]
) -> None:
    (node,) = make_nodes(1)
    past.job([node], fails=(node.name,))
    past.forgets(node, "two-end")
    assert "nothing was to fail there" in only(past.judged(), "wrong")


def test_node_is_out_of_reach_only_while_something_is_wrong_with_it(
    past: Past, make_nodes: Callable[..., list[Node]]
) -> None:
    first, second = make_nodes(2)
    job = past.job([first, second])
    past.says(job, status="partial", reason="unreachable")
    past.ends_on(job, second, "unreachable")
    past.fault("node silent", node=first.name)
    assert "not out of reach then" in only(past.judged(), "wrong")
    past.fault("node silent", node=second.name)
    assert past.judged().clean


def test_not_attempted_with_a_mark_on_the_node_is_a_lie(
    past: Past, make_nodes: Callable[..., list[Node]]
) -> None:
    first, second = make_nodes(2)
    job = past.job([first, second])
    past.says(job, status="partial", reason="stopped_early")
    past.ends_on(job, second, "not_attempted")
    past.fault("playbook killed")
    past.forgets(second, *ALL[1:])
    assert "it saw ['one-begin']" in only(past.judged(), "wrong")


def test_interrupted_on_a_node_that_no_attempt_had_is_a_lie(
    past: Past, make_nodes: Callable[..., list[Node]]
) -> None:
    first, second = make_nodes(2)
    job = past.job([first])
    HostResult.objects.create(job=job, attempt=1, node=second, ending="interrupted")
    past.evidence.asked[job.ref] = Asked((first.name, second.name), ())
    past.says(job, status="partial", reason="stopped_early")
    past.fault("playbook killed")
    assert "no attempt ever had it" in only(past.judged(), "wrong")


@pytest.mark.parametrize(
    ("columns", "lie"),
    [
        ({"status": "partial", "reason": "stopped_early"}, "all alike"),
        ({"status": "failed", "reason": "worker_lost"}, ""),
        ({"status": "failed", "reason": ""}, "it has no reason"),
        ({"status": "cancelled", "reason": "user"}, "nobody cancelled it"),
        ({"status": "cancelled", "reason": "forced", "cancel_requested_at": now()}, "nobody cancelled it"),
        ({"status": "cancelled", "reason": "forced", "forced_at": now()}, ""),
        ({"status": "cancelled", "reason": "worker_lost", "cancel_requested_at": now()}, "don't agree"),
        ({"status": "failed", "reason": "user", "cancel_requested_at": now()}, "don't agree"),
    ],
)
def test_state_that_its_nodes_do_not_bear_out_is_a_lie(
    past: Past, make_nodes: Callable[..., list[Node]], columns: dict[str, Any], lie: str
) -> None:
    past.says(past.job(make_nodes(2)), **columns)
    past.fault("playbook killed")
    if lie:
        assert lie in only(past.judged(), "wrong")
    else:
        assert past.judged().clean


def test_success_without_a_node_is_a_lie(past: Past, make_nodes: Callable[..., list[Node]]) -> None:
    first, second = make_nodes(2)
    job = past.job([first, second])
    past.ends_on(job, second, "interrupted")
    assert "without all its nodes" in only(past.judged(), "wrong")


def test_node_without_a_last_word_is_found(past: Past, make_nodes: Callable[..., list[Node]]) -> None:
    first, second = make_nodes(2)
    job = past.job([first, second])
    past.says(job, status="partial", reason="stopped_early")
    past.fault("playbook killed")
    past.ends_on(job, second, "running")
    assert "no last word" in only(past.judged(), "wrong")


@pytest.mark.parametrize(("reason", "ending"), [("hosts_failed", "interrupted"), ("unreachable", "failed")])
def test_reason_that_no_node_bears_out_is_a_lie(
    past: Past, make_nodes: Callable[..., list[Node]], reason: str, ending: str
) -> None:
    first, second = make_nodes(2)
    job = past.job([first, second])
    past.says(job, status="partial", reason=reason)
    past.ends_on(job, second, ending)
    past.fault("node frozen", node=second.name)
    assert "as its reason says" in only(past.judged(), "wrong")


@pytest.mark.parametrize(
    ("reason", "fault"),
    [
        ("record_lost", "disk of the spool full"),
        ("could_not_start", "disk of the spool full"),
        ("stopped_early", "playbook killed"),
        ("idle", "child frozen"),
    ],
)
def test_reason_that_only_a_fault_brings_needs_it(
    past: Past, make_nodes: Callable[..., list[Node]], reason: str, fault: str
) -> None:
    job = past.job(make_nodes(1))
    past.says(job, status="failed", reason=reason)
    assert "nothing was there that explains it" in only(past.judged(), "wrong")
    past.fault(fault)
    assert past.judged().clean


def test_promise_to_stop_a_job_that_is_forgotten_is_a_lie(
    past: Past, make_nodes: Callable[..., list[Node]]
) -> None:
    job = past.job(make_nodes(1))
    past.says(job, status="lost", reason="worker_lost")
    assert past.judged().clean
    past.evidence.cancelled.add(job.ref)
    assert "a promise to stop it" in only(past.judged(), "wrong")


@pytest.mark.parametrize("missing", ["Step one", "Step two"])
def test_gap_in_the_events_is_found(past: Past, make_nodes: Callable[..., list[Node]], missing: str) -> None:
    job = past.job(make_nodes(2))
    past.says(job, status="failed", reason="worker_lost")
    HostResult.objects.filter(job=job).update(ending="interrupted")
    JobEvent.objects.filter(job=job, task=missing, counter__lt=4).delete()
    assert "have a gap" in only(past.judged(), "wrong")


def test_gap_in_the_events_of_an_attempt_that_was_repeated_is_found(
    past: Past, make_nodes: Callable[..., list[Node]]
) -> None:
    nodes = make_nodes(1)
    job = past.job(nodes)
    past.attempt(job, nodes, 2)
    past.says(job, attempt=2)
    JobEvent.objects.filter(job=job, attempt=1, task="Step one").delete()
    HostResult.objects.filter(job=job, attempt=1).update(ending="interrupted")
    assert "attempt 1 have a gap" in only(past.judged(), "wrong")


def test_ok_of_which_no_event_tells_is_found(past: Past, make_nodes: Callable[..., list[Node]]) -> None:
    job = past.job(make_nodes(1))
    JobEvent.objects.filter(job=job, task="Step two").delete()
    assert "Step two" in only(past.judged(), "wrong")


def test_line_that_a_dying_node_tore_counts_for_nothing() -> None:
    at = f"{time.time():.9f}"
    assert checks.read([f"one-begin J-1 1 {at}", "one-end J-1", "two-begin J-1 1 17.", "x J-1 y 1.0"]) == [
        checks.Line("one-begin", "J-1", 1, float(at)),
        checks.Line("two-begin", "J-1", 1, 17.0),
    ]
