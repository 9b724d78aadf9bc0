"""Did anything go wrong in a campaign that must not? The nodes' own logs are compared with what the portal says."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from portal.ledger.models import Event
from provisioning.events import JOB_FINISHED
from provisioning.jobs.models import HostResult, Job, JobEvent, NodeLease
from provisioning.jobs.states import ENDED
from tests.chaos import verdicts
from tests.chaos.evidence import Evidence

CLOCK = 0.2
"""Seconds by which the database's clock and a node's may differ: both are this machine's, read a moment apart."""


@dataclass
class Findings:
    """What must not be, sentence by sentence; all empty is the goal."""

    lost: list[str] = field(default_factory=list)
    duplicated: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    slow: list[str] = field(default_factory=list)

    @property
    def clean(self) -> bool:
        return not any(vars(self).values())


@dataclass(frozen=True)
class Line:
    """One line of a node's log: what, of which attempt, at which moment of the node's clock."""

    what: str
    job: str
    attempt: int
    at: float


def read(lines: Iterable[str]) -> list[Line]:
    """A node's log; a line that a dying node tore counts for nothing."""
    found = []
    for line in lines:
        words = line.split()
        if len(words) == 4 and words[2].isdigit():
            try:
                at = float(words[3])
            except ValueError:
                continue
            found.append(Line(words[0], words[1], int(words[2]), at))
    return found


def judge(logs: Mapping[str, Sequence[Line]], evidence: Evidence) -> Findings:
    """Compare every node's log with the jobs, endings, leases, events and the ledger in the database."""
    findings = Findings()
    findings.lost += _lost(evidence)
    leases = _leases()
    for name, lines in logs.items():
        findings.duplicated += _twice(name, lines)
        findings.duplicated += _out_of_turn(name, lines, leases)
    findings.duplicated += _told_twice()
    for job in Job.objects.filter(status__in=ENDED).order_by("pk"):
        findings.wrong += _wrong(job, logs, evidence, leases)
    return findings


def _lost(evidence: Evidence) -> list[str]:
    """Jobs without an end, and jobs that were promised and are not there."""
    found = [
        f"{job.ref} is {job.status}: {job.waiting_for or job.reason_text}"
        for job in Job.objects.exclude(status__in=ENDED).order_by("pk")
    ]
    known: dict[str, list[str]] = defaultdict(list)
    for job_id, name in HostResult.objects.order_by("pk").values_list("job_id", "node__name"):
        if name not in known[f"J-{job_id}"]:
            known[f"J-{job_id}"].append(name)
    for ref, asked in evidence.asked.items():
        if ref not in known:
            found.append(f"{ref} was asked for, and nobody knows it")
        elif set(known[ref]) != set(asked.nodes):
            found.append(f"{ref} was asked for {sorted(asked.nodes)}, and is about {sorted(known[ref])}")
    return found


Leases = Mapping[tuple[str, str, int], NodeLease]


def _leases() -> Leases:
    """By node, job and attempt."""
    rows = NodeLease.objects.select_related("node")
    return {(lease.node.name, f"J-{lease.job_id}", lease.attempt): lease for lease in rows}


def _twice(node: str, lines: Sequence[Line]) -> list[str]:
    """Two at work at once, seen by the node itself, or one step begun twice."""
    found = [
        f"{node}: {line.job}/{line.attempt} began while another was at work"
        for line in lines
        if line.what == "overlap"
    ]
    counted = Counter((line.what, line.job, line.attempt) for line in lines if line.what.endswith("-begin"))
    return found + [
        f"{node}: {job}/{attempt} {what} {n} times" for (what, job, attempt), n in counted.items() if n > 1
    ]


def _out_of_turn(node: str, lines: Sequence[Line], leases: Leases) -> list[str]:
    """A node's leases are its tokens: they only grow in the order in which it saw their holders, and nobody works without."""
    found, highest = [], 0
    for line in lines:
        said = f"{node}: {line.job}/{line.attempt} {line.what}"
        lease = leases.get((node, line.job, line.attempt))
        if lease is None:
            found.append(f"{said} without a lease")
            continue
        if lease.pk < highest:
            found.append(f"{said} after a later one")
        highest = max(highest, lease.pk)
        until = math.inf if lease.released_at is None else lease.released_at.timestamp() + CLOCK
        if not lease.taken_at.timestamp() - CLOCK <= line.at <= until:
            found.append(f"{said} outside of its lease, {lease.taken_at:%H:%M:%S} to {lease.released_at}")
    return found


def _told_twice() -> list[str]:
    """Everybody hears of a job's end once."""
    told = Counter(Event.objects.filter(name=JOB_FINISHED).values_list("subject", flat=True))
    ended = {job.ref for job in Job.objects.filter(status__in=ENDED)}
    found = [f"the end of {ref} was told {told[ref]} times" for ref in sorted(ended) if told[ref] != 1]
    return found + [f"the end of {ref} was told, and it has not ended" for ref in sorted(set(told) - ended)]


def _wrong(job: Job, logs: Mapping[str, Sequence[Line]], evidence: Evidence, leases: Leases) -> list[str]:
    """What is untrue of one job that has ended: of itself, of its nodes in every attempt, of its record."""
    rows = list(HostResult.objects.filter(job=job).select_related("node").order_by("attempt", "node_id"))
    last = [row.ending for row in rows if row.attempt == job.targets_attempt]
    said = f"{job.ref}/{job.attempt} ({job.status}, {job.reason})"
    found = [f"{said}: {why}" for why in verdicts.of_job(job, last, promised=job.ref in evidence.cancelled)]
    for row in rows:
        marks = {
            line.what
            for line in logs.get(row.node.name, ())
            if (line.job, line.attempt) == (job.ref, row.attempt)
        }
        span = verdicts.span_of(job, leases.get((row.node.name, job.ref, row.attempt)))
        why = verdicts.of_node(job, row, marks, evidence, span)
        if why:
            found.append(f"{said}: in attempt {row.attempt} {row.node.name} is {row.ending}, but {why}")
    unexplained = verdicts.unexplained(job, evidence)
    return found + [f"{said}: {why}" for why in [*_record(job, rows), unexplained] if why]


def _record(job: Job, rows: Sequence[HostResult]) -> list[str]:
    """Events count from one without a gap in every attempt, and tell of every step that a node that is ok took."""
    counters: dict[int, list[int]] = defaultdict(list)
    done: dict[tuple[int, str], set[str]] = defaultdict(set)
    for attempt, counter, kind, host, task in JobEvent.objects.filter(job=job).values_list(
        "attempt", "counter", "kind", "host", "task"
    ):
        counters[attempt].append(counter)
        if kind == "ok":
            done[attempt, host].add(task)
    found = [
        f"the events of attempt {attempt} have a gap"
        for attempt, each in sorted(counters.items())
        if sorted(each) != list(range(1, len(each) + 1))
    ]
    for row in rows:
        missing = verdicts.missing_tasks(row, done[row.attempt, row.node.name])
        if missing:
            found.append(f"{row.node.name} is ok, and no event of attempt {row.attempt} tells of {missing}")
    return found


def settled() -> bool:
    """True when every job has ended and every node is free."""
    return (
        not Job.objects.exclude(status__in=ENDED).exists()
        and not NodeLease.objects.filter(released_at=None).exists()
    )
