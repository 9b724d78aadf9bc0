"""Which queued job runs next, and what does each other one wait for? Pure rules: class, share of the team, age, nodes, slots.

- Classes: unblock jobs first, then ordinary ones, then those that run when there is room (sweeps).
- Within a class and a priority, teams that have their share of what runs come after those that have not, then the oldest comes
  first. A share is what is left when the slots are divided among the teams that run or wait.
- A job starts with all of its nodes or takes none. One that waited `PATIENCE` keeps those of its nodes that become free: no
  later job may take them, so it can't be overtaken for ever. Of two that want the same node the older one keeps it.
- One slot of a queue with at least `ENOUGH` is for unblock jobs alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import IntEnum

PATIENCE = timedelta(minutes=10)
ENOUGH = 3
RESERVED = 1
UNBLOCK_FROM = 10
"""Priorities from here on are of unblock jobs; those below 0 run when there is room."""


class Class(IntEnum):
    """How soon a job wants to run."""

    UNBLOCK = 0
    ORDINARY = 1
    ROOM = 2


@dataclass(frozen=True, kw_only=True)
class Waiting:
    """A queued job."""

    job: int
    team: str
    class_: Class
    priority: int
    since: datetime
    nodes: frozenset[int]


@dataclass(frozen=True, kw_only=True)
class Queue:
    """What there is: `busy` nodes with a sentence about who has them, running jobs by class and team, slots or None.

    `slots` None: nobody knows how many jobs can run at once, so none is kept free. `running_*` are those in the slots of
    this queue's workers, whichever queue they came from. `site` is in the sentences, for people with several.
    """

    busy: Mapping[int, str] = field(default_factory=dict)
    running_by_team: Mapping[str, int] = field(default_factory=dict)
    running_ordinary: int = 0
    running_unblock: int = 0
    slots: int | None = None
    site: str = ""

    @property
    def of_site(self) -> str:
        """` of site north`, or nothing where there is only one."""
        return f" of site {self.site}" if self.site else ""

    @property
    def open_to_ordinary(self) -> bool:
        """False when all that is free is the slot of unblock jobs, or nothing."""
        if self.slots is None:
            return True
        kept = RESERVED if self.slots >= ENOUGH else 0
        return self.running_ordinary < self.slots - kept and self.open_to_unblock

    @property
    def open_to_unblock(self) -> bool:
        """False when every slot is taken."""
        return self.slots is None or self.running_ordinary + self.running_unblock < self.slots


@dataclass(frozen=True, kw_only=True)
class Decision:
    """`runnable` in the order in which they should run; for every other job the sentence that says what it waits for."""

    runnable: tuple[int, ...]
    why: Mapping[int, str]


def class_of(priority: int, *, unblocks: bool) -> Class:
    """The class of a job with this priority; `unblocks`: its order is a workaround for a team that can't work."""
    if unblocks or priority >= UNBLOCK_FROM:
        return Class.UNBLOCK
    return Class.ROOM if priority < 0 else Class.ORDINARY


def decide(
    waiting: Sequence[Waiting],
    queue: Queue,
    *,
    at: datetime,
    names: Mapping[int, str],
    refs: Mapping[int, str],
) -> Decision:
    """Sort out who may run now. `names` and `refs` say nodes and jobs as people do."""
    keepers = _keepers(waiting, at)
    share = _share(waiting, queue)
    runnable: list[int] = []
    why: dict[int, str] = {}
    for job in sorted(waiting, key=lambda job: _place(job, queue, share)):
        text = _nobody(queue) or _nodes_in_the_way(job, queue, keepers, names, refs) or _no_slot(job, queue)
        if text:
            why[job.job] = text
        else:
            runnable.append(job.job)
    return Decision(runnable=tuple(runnable), why=why)


def _place(job: Waiting, queue: Queue, share: int) -> tuple[int, int, bool, datetime, int]:
    has_its_share = bool(job.team) and queue.running_by_team.get(job.team, 0) >= share
    return (job.class_, -job.priority, has_its_share, job.since, job.job)


def _share(waiting: Sequence[Waiting], queue: Queue) -> int:
    """Slots for each team; ordinary jobs of no team count as one more."""
    teams = {job.team for job in waiting if job.team} | set(queue.running_by_team) - {""}
    nobodys = any(not job.team and job.class_ != Class.ROOM for job in waiting)
    slots = queue.slots or sum(queue.running_by_team.values()) + 1
    return max(1, slots // max(1, len(teams) + nobodys))


def _keepers(waiting: Iterable[Waiting], at: datetime) -> dict[int, Waiting]:
    keepers: dict[int, Waiting] = {}
    patient = [job for job in waiting if at - job.since >= PATIENCE and job.class_ != Class.ROOM]
    for job in sorted(patient, key=lambda job: (job.since, job.job)):
        for node in job.nodes:
            keepers.setdefault(node, job)
    return keepers


def _nodes_in_the_way(
    job: Waiting,
    queue: Queue,
    keepers: Mapping[int, Waiting],
    names: Mapping[int, str],
    refs: Mapping[int, str],
) -> str:
    for node in sorted(job.nodes):
        if node in queue.busy:
            return f"Waits for {names.get(node, 'a node')}, which {queue.busy[node]}."
    for node in sorted(job.nodes):
        keeper = keepers.get(node)
        if keeper is not None and keeper.job != job.job:
            who = refs.get(keeper.job, "another job")
            return f"Waits for {names.get(node, 'a node')}, which is kept for {who}: that has waited longest."
    return ""


def _nobody(queue: Queue) -> str:
    if queue.slots != 0:
        return ""
    if queue.site:
        return f"No worker of site {queue.site} is there: start one, or its nodes can't be reached."
    return "No worker takes jobs right now."


def _no_slot(job: Waiting, queue: Queue) -> str:
    if queue.open_to_ordinary or (job.class_ == Class.UNBLOCK and queue.open_to_unblock):
        return ""
    if queue.open_to_unblock:
        return f"Waits for a worker{queue.of_site}: the one slot that is free is kept for jobs that unblock a team."
    return f"Waits for a worker{queue.of_site}: all {queue.slots} slots are taken."
