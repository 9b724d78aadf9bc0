"""What goes wrong with the portal's own processes? Each fault is a deed that says whom it struck; what it broke comes back by itself."""

from __future__ import annotations

import os
import random
import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass

from portal.embedded import processes
from provisioning.jobs.child import MARK
from provisioning.jobs.models import Job
from provisioning.jobs.states import OWNED
from tests.chaos.evidence import Evidence, Fault
from tests.chaos.kept import Kept
from tests.chaos.stage import HostState, Stage
from tests.chaos.visitor import Visitor

DISK_FULL = "disk of the spool full"


@dataclass
class Chaos:
    """The stage, the dice, how long a lease is, who asks the web server, and what is known of what was done."""

    stage: Stage
    dice: random.Random
    lease: float
    visitor: Visitor
    evidence: Evidence

    def running(self) -> Job | None:
        """Some job that a worker holds."""
        found = list(Job.objects.filter(status__in=OWNED).order_by("pk"))
        return self.dice.choice(found) if found else None

    def sound_host(self) -> HostState | None:
        """Some node with which nothing is wrong; some always stay sound, or nothing would ever succeed."""
        sound = [state for state in self.stage.hosts if state.mend is None]
        return self.dice.choice(sound) if len(sound) > len(self.stage.hosts) // 2 else None

    def of_worker(self, kept: Kept) -> frozenset[int]:
        """Jobs that this worker holds."""
        whose = f"{socket.gethostname()[:80]}:{kept.pid}/"
        held = Job.objects.filter(status__in=OWNED, claimed_by__startswith=whose)
        return frozenset(held.values_list("pk", flat=True))


Deed = Callable[[Chaos, str], Fault | None]
"""Does it and says what it did; None when there was nothing to do it to. The words are the fault's name."""


def _away(chaos: Chaos, kept: Kept, name: str, *, seconds: float, number: signal.Signals) -> Fault:
    fault = Fault(name, jobs=chaos.of_worker(kept))
    kept.kill(number=number, away=seconds)
    chaos.stage.soon(seconds, fault.over)
    return fault


def _frozen(chaos: Chaos, kept: Kept, name: str, *, seconds: float) -> Fault:
    fault = Fault(name, jobs=chaos.of_worker(kept))
    kept.freeze(seconds)
    chaos.stage.soon(seconds, fault.over)
    return fault


def kill_worker(chaos: Chaos, name: str) -> Fault | None:
    kept = chaos.dice.choice(chaos.stage.workers)
    return _away(chaos, kept, name, seconds=chaos.dice.uniform(0, 4), number=signal.SIGKILL)


def end_worker(chaos: Chaos, name: str) -> Fault | None:
    kept = chaos.dice.choice(chaos.stage.workers)
    return _away(chaos, kept, name, seconds=0, number=signal.SIGTERM)


def freeze_worker(chaos: Chaos, name: str) -> Fault | None:
    kept = chaos.dice.choice(chaos.stage.workers)
    return _frozen(chaos, kept, name, seconds=chaos.dice.uniform(0.5, 3) * chaos.lease)


def kill_one(program: str, longest: float) -> Deed:
    """A fault that kills a program of this name, which stays away for at most so many seconds."""

    def deed(chaos: Chaos, name: str) -> Fault | None:
        kept = chaos.dice.choice(chaos.stage.named(program))
        return _away(chaos, kept, name, seconds=chaos.dice.uniform(0, longest), number=signal.SIGKILL)

    return deed


def freeze_one(program: str, longest: float) -> Deed:
    """A fault that freezes one of them for at most so many leases."""

    def deed(chaos: Chaos, name: str) -> Fault | None:
        kept = chaos.dice.choice(chaos.stage.named(program))
        return _frozen(chaos, kept, name, seconds=chaos.dice.uniform(0.1, longest) * chaos.lease)

    return deed


def _of_the_child(job: Job, word: str) -> list[int]:
    return [
        each.pid
        for each in processes.marked(MARK, job.mark)
        if word in " ".join(processes.command_line(each.pid))
    ]


def kill_child(chaos: Chaos, name: str) -> Fault | None:
    return _kill_of_a_job(chaos, name, "provisioning.jobs.child", most=9)


def kill_playbook(chaos: Chaos, name: str) -> Fault | None:
    return _kill_of_a_job(chaos, name, "ansible-playbook", most=1)


def _kill_of_a_job(chaos: Chaos, name: str, word: str, *, most: int) -> Fault | None:
    job = chaos.running()
    pids = [] if job is None else _of_the_child(job, word)[:most]
    for pid in pids:
        send(pid, signal.SIGKILL)
    return _at_once(name, job) if job is not None and pids else None


def _at_once(name: str, job: Job) -> Fault:
    fault = Fault(name, jobs=frozenset({job.pk}))
    fault.over()
    return fault


def freeze_child(chaos: Chaos, name: str) -> Fault | None:
    """Until it is thawed or killed by its holder; a thaw after the lease must find it listening to its new holder."""
    job = chaos.running()
    pids = [] if job is None else _of_the_child(job, "provisioning.jobs.child")
    if job is None or not pids:
        return None
    fault = Fault(name, jobs=frozenset({job.pk}))
    for pid in pids:
        send(pid, signal.SIGSTOP)

    def thaw() -> None:
        for pid in pids:
            send(pid, signal.SIGCONT)
        fault.over()

    chaos.stage.soon(chaos.dice.uniform(1, 2 * chaos.lease), thaw)
    return fault


def kill_keeper(chaos: Chaos, name: str) -> Fault | None:
    """Of those processes that follow a child whose worker is gone."""
    home = str(chaos.stage.home).encode()
    for entry in processes.PROC.iterdir():
        if entry.name.isdigit() and "tests.chaos.keeper_app" in (
            words := processes.command_line(int(entry.name))
        ):
            if home not in environment(int(entry.name)):
                continue  # another campaign's
            fault = Fault(name, jobs=frozenset({int(words[words.index("tests.chaos.keeper_app") + 1])}))
            send(int(entry.name), signal.SIGKILL)
            fault.over()
            return fault
    return None


def environment(pid: int) -> bytes:
    """As the process was started; empty when it is gone."""
    try:
        return (processes.PROC / str(pid) / "environ").read_bytes()
    except OSError:
        return b""


def fill_disk(chaos: Chaos, name: str) -> Fault | None:
    if chaos.stage.disk is None:
        return None
    ballast, fault = chaos.stage.disk / "ballast", Fault(name, everybody=True)
    try:
        with ballast.open("wb") as file:
            while True:
                file.write(b"\0" * 1_000_000)
                file.flush()
    except OSError:
        pass

    def empty() -> None:
        ballast.unlink(missing_ok=True)
        fault.over()

    chaos.stage.soon(chaos.dice.uniform(1, 4), empty)
    return fault


def cancel(chaos: Chaos, name: str) -> Fault | None:
    """An operator stops a running job through the web server, and may get no answer."""
    job = chaos.running()
    if job is None:
        return None
    chaos.visitor.cancel(job.ref)
    return _at_once(name, job)


def force(chaos: Chaos, name: str) -> Fault | None:
    """The same without asking whoever runs it."""
    job = chaos.running()
    if job is None:
        return None
    chaos.visitor.cancel(job.ref, force=True)
    return _at_once(name, job)


def send(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        return
