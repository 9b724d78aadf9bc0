"""What is in a log at a glance? Its plays and tasks with how many events and failures each has, and a task's nodes."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from datetime import datetime

from provisioning.jobs import queries
from provisioning.jobs.models import HEADS, Job
from provisioning.jobs.runner_events import RESULTS

TASKS = 1000
FAILURES = 5000
HOSTS = 500


@dataclass(frozen=True, kw_only=True)
class OutlineTask:
    """One task: events `head` to `last`; `failed` counts failures among them."""

    head: int
    last: int
    title: str
    role: str
    at: datetime
    failed: int

    @property
    def events(self) -> int:
        return self.last - self.head


@dataclass(frozen=True, kw_only=True)
class OutlinePlay:
    """One play with its tasks."""

    title: str
    tasks: list[OutlineTask]


@dataclass(frozen=True, kw_only=True)
class OutlineHost:
    """How a task went on one node, and where that stands in the log."""

    node: str
    ending: str
    counter: int


def outline(job: Job, attempt: int) -> list[OutlinePlay]:
    """The plays of an attempt, from its heads alone: nothing of the events in between is read."""
    events = queries.events_of(job, attempt)
    heads = list(
        events.filter(kind__in=HEADS)
        .order_by("counter")
        .only("counter", "kind", "play", "task", "data", "at")[:TASKS]
    )
    newest = events.order_by("-counter").values_list("counter", flat=True).first() or 0
    failed = list(events.filter(failed=True).order_by("counter").values_list("counter", flat=True)[:FAILURES])
    ends = [head.counter - 1 for head in heads[1:]] + [newest]
    plays: list[OutlinePlay] = []
    for head, last in zip(heads, ends, strict=True):
        if head.kind == "play" or not plays:
            plays.append(OutlinePlay(title=head.play or "Play", tasks=[]))
        if head.kind == "task":
            count = bisect_left(failed, last + 1) - bisect_left(failed, head.counter)
            role = str(head.data.get("role", ""))
            title = head.task or "A task without a name"
            plays[-1].tasks.append(
                OutlineTask(head=head.counter, last=last, title=title, role=role, at=head.at, failed=count)
            )
    return [play for play in plays if play.tasks]


def hosts_of_task(job: Job, attempt: int, head: int) -> list[OutlineHost]:
    """How the task that begins at `head` went on each node, failures first."""
    events = queries.events_of(job, attempt)
    end = (
        events.filter(counter__gt=head, kind__in=HEADS)
        .order_by("counter")
        .values_list("counter", flat=True)
        .first()
    )
    told = events.filter(counter__gt=head, kind__in=sorted(RESULTS)).exclude(host="")
    if end is not None:
        told = told.filter(counter__lt=end)
    found: dict[str, OutlineHost] = {}
    rows = told.order_by("counter").values_list("host", "kind", "changed", "failed", "counter")
    for host, kind, changed, failed, counter in rows.iterator(chunk_size=2000):
        ending = kind if kind != "ok" or not changed else "changed"
        if kind == "failed" and not failed:
            ending = "ok"  # a failure that the playbook ignores
        found[host] = OutlineHost(node=host, ending=ending, counter=counter)
    ranked = sorted(
        found.values(), key=lambda each: (each.ending not in {"failed", "unreachable"}, each.node)
    )
    return ranked[:HOSTS]
