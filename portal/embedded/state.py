"""Who supervises this var folder, and what did a supervisor that was killed leave behind?

The lock says that somebody is there; the state file says who, and names every process it started together
with its moment of birth. A process is ended by a later run only when both agree, or when it carries the
token of that run in its environment: never because of a number alone.
"""

import fcntl
import json
import os
import secrets
import signal
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from portal.embedded import locations, processes
from portal.embedded.errors import AlreadyRunningError, StartError
from portal.embedded.processes import ProcessId, Stage

RUN_VARIABLE = "QM_RUN"
"""Every process below a supervisor carries its token, so that strays can be told from strangers."""

TAKEOVER_SECONDS = 60.0  # a reaper that cleans up after a killed supervisor holds the lock that long at most
STRAY = (Stage(signal.SIGTERM, 3.0), processes.KILL)


@dataclass(frozen=True)
class Started:
    """A process as the state file remembers it."""

    name: str
    tier: int
    process: ProcessId
    stages: tuple[Stage, ...]


@dataclass
class State:
    supervisor: ProcessId
    token: str = field(default_factory=lambda: secrets.token_hex(16))
    url: str = ""
    started: list[Started] = field(default_factory=list)

    def write(self, var_dir: Path) -> None:
        path = locations.state_file(var_dir)
        fresh = path.with_suffix(".new")
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            json.dump(asdict(self), file)
        fresh.replace(path)

    @classmethod
    def read(cls, var_dir: Path) -> "State | None":
        """None where there is none, or one that can't be read: such a file proves nothing."""
        try:
            found = json.loads(locations.state_file(var_dir).read_text(encoding="utf-8"))
            return cls(
                supervisor=ProcessId(**found["supervisor"]),
                token=found["token"],
                url=found["url"],
                started=[_started(entry) for entry in found["started"]],
            )
        except (OSError, ValueError, KeyError, TypeError):
            return None


def _started(entry: dict[str, Any]) -> Started:
    stages = (
        Stage(signal.Signals(stage["signal"]), stage["seconds"], stage["group"]) for stage in entry["stages"]
    )
    return Started(entry["name"], entry["tier"], ProcessId(**entry["process"]), tuple(stages))


class Lock:
    """The right to supervise a var folder; the kernel takes it back when its holder dies."""

    def __init__(self, var_dir: Path) -> None:
        self._var_dir = var_dir
        self._descriptor: int | None = None

    @property
    def is_held(self) -> bool:
        return self._descriptor is not None

    def try_take(self) -> bool:
        descriptor = os.open(locations.lock_file(self._var_dir), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            return False
        self._descriptor = descriptor
        return True

    def take(self, *, waiting: Callable[[], None] = lambda: None) -> None:
        """Take the lock, or say who has it. One whose supervisor is dead will be free when it is cleaned up."""
        if self.try_take():
            return
        waiting()
        if not processes.wait_until(self._taken_or_taken_by_the_living, TAKEOVER_SECONDS):
            raise StartError(f"Somebody holds {locations.lock_file(self._var_dir)} and will not let go")
        if not self.is_held:
            raise AlreadyRunningError(_already_running(self._var_dir))

    def release(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _taken_or_taken_by_the_living(self) -> bool:
        if self.try_take():
            return True
        state = State.read(self._var_dir)
        return state is not None and state.supervisor.alive


def _already_running(var_dir: Path) -> str:
    state = State.read(var_dir)
    place = f" at {state.url}" if state is not None and state.url else ""
    pid = state.supervisor.pid if state is not None else 0
    return (
        f"The portal already runs on {var_dir}{place} (process {pid}). "
        f"Stop it with Ctrl-C where it was started or with `kill {pid}`, "
        "or set PORTAL_VAR_DIR to start another one"
    )


def clean_up(var_dir: Path) -> list[str]:
    """End what a dead supervisor left running and forget it; the names of what was ended.

    The caller holds the lock.
    """
    state = State.read(var_dir)
    if state is None:
        return []
    left = [entry for entry in state.started if entry.process.alive]
    for entry in sorted(left, key=lambda entry: -entry.tier):
        processes.end(entry.process, entry.stages)
    strays = sweep(RUN_VARIABLE, state.token)
    locations.state_file(var_dir).unlink(missing_ok=True)
    for socket in (locations.broker_socket(var_dir), locations.postgres_socket(var_dir)):
        with suppress(OSError):
            socket.unlink(missing_ok=True)
    return [entry.name for entry in left] + [f"stray process {stray.pid}" for stray in strays]


def sweep(variable: str, value: str) -> list[ProcessId]:
    """End every process that carries this variable: what left its group, or outlived its parent."""
    found = processes.marked(variable, value)
    for stage in STRAY:
        for stray in found:
            processes.send(stray, stage.signal, group=False)
        if processes.wait_until(lambda: not _any_alive(found), stage.seconds):
            break
    return found


def _any_alive(found: Iterable[ProcessId]) -> bool:
    return any(process.alive for process in found)
