"""How long until it works again? Of jobs that nobody held, of the web server, and of work that waited although a slot was free."""

from __future__ import annotations

import socket
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from django.db.models.functions import Now

from provisioning.jobs import dispatch
from provisioning.jobs.draining import draining
from provisioning.jobs.models import Job
from provisioning.jobs.states import OWNED
from provisioning.workers.models import Worker
from tests.chaos.evidence import Evidence
from tests.chaos.stage import SLOTS, Stage
from tests.chaos.visitor import EVERYTHING, OF_DATABASE, OF_WEB, Answer, recovered

UNHEARD = ("messages", "broker", "bells", "beat", "sweeping", "worker", "database", "connections", EVERYTHING)
"""First words of faults after which a job may wait although somebody could run it."""

LOOK_EVERY = 1.5
"""Seconds between two looks at what costs more than one query."""


@dataclass
class Recovery:
    """Call look() often. `worst` are seconds by the fault that they are put down to, `what` is what took them."""

    lease: float
    stage: Stage
    evidence: Evidence
    worst: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    what: dict[str, str] = field(default_factory=dict)
    taken: int = 0
    _open: dict[tuple[int, int, int], float] = field(default_factory=dict)
    _next_look: float = 0.0
    _idle_since: tuple[float, int] | None = None

    def look(self) -> None:
        self._orphans()
        if time.monotonic() >= self._next_look:
            self._next_look = time.monotonic() + LOOK_EVERY
            self._idle()
            self._draining()

    def _orphans(self) -> None:
        """A job whose lease ran out has been without a holder since its last renewal."""
        expired = Job.objects.filter(status__in=OWNED, lease_until__lt=Now())
        found = {
            (job.pk, job.attempt, job.adoptions): job.lease_until.timestamp()
            for job in expired
            if job.lease_until is not None
        }
        for key in [key for key in self._open if key not in found]:
            del self._open[key]
            self.taken += 1
        self._open |= found
        at = time.time()
        back = self._back("database", at)
        for (job_id, _, _), until in self._open.items():
            name, since = self.evidence.last_that_struck(job_id, until), max(until - self.lease, back)
            self._note(name, at - since, f"until J-{job_id} had a holder again")

    def _idle(self) -> None:
        """A job that may run waits while the same free slot waits, too."""
        ready = [job for queue in dispatch.queues() for job in dispatch.decision(queue).runnable]
        if not ready or not self._free():
            self._idle_since = None
            return
        at = time.time()
        begun, job = self._idle_since or (at, ready[0])
        if job not in ready:  # somebody took it: the next one begins to wait
            begun, job = at, ready[0]
        begun = max(begun, self._back("broker", at), self._back("database", at))
        self._idle_since = begun, job
        names = [
            fault.name
            for fault in self.evidence.faults
            if fault.at <= begun + 5 and fault.name.startswith(UNHEARD)
        ]
        what = f"until J-{job} was begun although a slot was free"
        self._note(names[-1] if names else "no fault", at - begun, what)

    def _back(self, server: str, at: float) -> float:
        """When the last outage of this server was over: as long as it lasts nothing can recover."""
        ends = (
            fault.until or at for fault in self.evidence.faults if fault.name.startswith((server, EVERYTHING))
        )
        return max(ends, default=0.0)

    def _free(self) -> bool:
        """Has any worker that said that it is there, and is awake and not on its way out, a slot left?"""
        host = socket.gethostname()[:80]
        held = Counter(
            whose.partition("/")[0]
            for whose in Job.objects.filter(status__in=OWNED).values_list("claimed_by", flat=True)
        )
        there = set(Worker.objects.values_list("name", flat=True))
        return any(
            kept.is_awake and f"{host}:{kept.pid}" in there and held[f"{host}:{kept.pid}"] < SLOTS
            for kept in self.stage.workers
        )

    def _draining(self) -> None:
        """A node that was well all the time is not seen to be quiet; one that was away is looked at ever more seldom."""
        at = time.time()
        for lease in draining().select_related("node"):
            if lease.draining_since is None:
                continue
            since = lease.draining_since.timestamp()
            if not self.evidence.of_node(lease.node.name, since, at):
                name = self.evidence.last_that_struck(lease.job_id, since)
                begun = max(since, self._back("broker", at), self._back("database", at))
                self._note(name, at - begun, f"until {lease.node.name} was seen quiet after J-{lease.job_id}")

    def of_web(self, answers: Sequence[Answer]) -> None:
        """From the death of the web server, or the end of an outage of its database, to its first good answer after that."""
        for fault in self.evidence.faults:
            if fault.name not in OF_WEB + OF_DATABASE:
                continue
            over = fault.at if fault.name in OF_WEB or fault.until is None else fault.until
            self._note(fault.name, recovered(fault, answers) - over, "until the web server answered well")

    def slow(self) -> list[str]:
        """Faults after which it took more than two leases."""
        return [
            f"after “{name}” it took {seconds:.1f} s {self.what[name]}, more than two leases of {self.lease:g} s"
            for name, seconds in sorted(self.worst.items())
            if seconds > 2 * self.lease
        ]

    def _note(self, name: str, seconds: float, what: str) -> None:
        if seconds >= self.worst[name]:
            self.worst[name], self.what[name] = seconds, what
