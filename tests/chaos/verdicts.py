"""Can a verdict be true? Of a job and of a node in one attempt, by what the node saw and which fault was there at that time."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence

from provisioning.jobs.models import HostResult, Job, NodeLease
from provisioning.jobs.states import Ending, JobState, Reason
from tests.chaos.evidence import Evidence
from tests.chaos.faults import DISK_FULL
from tests.chaos.playbook import LAST_MARK, STEPS

Span = tuple[float, float]
ALL_MARKS = frozenset(f"{step}-{end}" for step in STEPS for end in ("begin", "end"))
TASKS = frozenset(f"Step {step}" for step in STEPS)
NEVER: Span = (float("inf"), float("-inf"))
EXPLAINED = {
    Reason.COULD_NOT_START: (DISK_FULL,),
    Reason.RECORD_LOST: (DISK_FULL,),
    Reason.STOPPED_EARLY: ("playbook killed", DISK_FULL),
    Reason.IDLE: ("node frozen", "node silent", "child frozen", "database frozen"),
    Reason.DEADLINE: ("node frozen", "node silent", "child frozen", "database frozen"),
}
"""Reasons that only these faults bring."""


def of_job(job: Job, endings: Sequence[str], *, promised: bool) -> list[str]:
    """What can't be true of an ended job with these endings; `promised`: somebody was told that it would be stopped."""
    ok, all_ok = endings.count(Ending.OK), bool(endings) and set(endings) == {Ending.OK}
    state, reason = job.status, job.reason
    of_nodes = {Reason.HOSTS_FAILED: Ending.FAILED, Reason.UNREACHABLE: Ending.UNREACHABLE}
    lies = {
        "it has no nodes": not endings,
        "a node has no last word": bool(set(endings) & {Ending.WAITING, Ending.RUNNING}),
        "it succeeded without all its nodes": state == JobState.SUCCEEDED and not all_ok,
        "it is partial, but its nodes are all alike": state == JobState.PARTIAL and (not ok or all_ok),
        "it failed as a whole, but a node is ok": state == JobState.FAILED and reason in of_nodes and ok > 0,
        "no node ended as its reason says": reason in of_nodes and of_nodes[Reason(reason)] not in endings,
        "its state and its reason don't agree": (state == JobState.CANCELLED)
        != (reason in {Reason.USER, Reason.FORCED}),
        "nobody cancelled it": state == JobState.CANCELLED
        and (job.forced_at if reason == Reason.FORCED else job.cancel_requested_at) is None,
        "a promise to stop it is forgotten": promised
        and job.cancel_requested_at is None
        and state != JobState.CANCELLED
        and not _ended_by_itself(job),
        "it has no reason": state != JobState.SUCCEEDED and not reason,
    }
    return [lie for lie, told in lies.items() if told]


def _ended_by_itself(job: Job) -> bool:
    return job.status in {JobState.SUCCEEDED, JobState.PARTIAL, JobState.FAILED}


def unexplained(job: Job, evidence: Evidence) -> str:
    """Why the reason of a job can't be true, when only a fault that was not there brings it; "" when it can."""
    names = EXPLAINED.get(Reason(job.reason))
    if names is None or job.ended_at is None:
        return ""
    begin = (job.started_at or job.created_at).timestamp()
    if evidence.named(names, begin, job.ended_at.timestamp()):
        return ""
    return f"nothing was there that explains it: {job.reason_text[:200]}"


def span_of(job: Job, lease: NodeLease | None) -> Span:
    """From when to when an attempt had this node; an empty span when it never had."""
    if lease is None:
        return NEVER
    ends = [each for each in (lease.draining_since, lease.released_at, job.ended_at) if each is not None]
    return lease.taken_at.timestamp(), min(each.timestamp() for each in ends) if ends else time.time()


def of_node(job: Job, row: HostResult, marks: Collection[str], evidence: Evidence, span: Span) -> str:
    """Why this ending can't be true; "" when it can."""
    planned = row.node.name in job.variables["words"]
    hurt = evidence.of_node(row.node.name, *span)
    full = evidence.named((DISK_FULL,), *span)
    match row.ending:
        case Ending.OK:
            return _not_ok(marks, planned=planned)
        case Ending.FAILED if not (planned and marks >= ALL_MARKS or hurt or full):
            return f"nothing was to fail there ({sorted(marks)}): {row.first_failure[:200]}"
        case Ending.UNREACHABLE if not (hurt or full):
            return f"it was not out of reach then: {row.first_failure[:200]}"
        case Ending.NOT_ATTEMPTED if marks:
            return f"it saw {sorted(marks)}"
        case Ending.INTERRUPTED if span == NEVER:
            return "no attempt ever had it"
        case _:
            return ""


def _not_ok(marks: Collection[str], *, planned: bool) -> str:
    if planned:
        return "its failure was planned"
    missing = sorted(ALL_MARKS - set(marks))
    return f"it never saw {', '.join(missing)} before {LAST_MARK}" if missing else ""


def missing_tasks(row: HostResult, told: Collection[str]) -> list[str]:
    """Steps of a node that is ok of which no event tells."""
    return sorted(TASKS - set(told)) if row.ending == Ending.OK else []
