"""Is this process still the one that was started, and how does it end with all that it started?"""

import os
import platform
import signal
import subprocess
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

LOOK_EVERY = 0.05
PROC = Path("/proc")
ON_LINUX = platform.system() == "Linux"


@dataclass(frozen=True)
class ProcessId:
    """A number that may be given again, and the moment of birth that makes it unique."""

    pid: int
    started: str

    @property
    def alive(self) -> bool:
        return started_at(self.pid) == self.started


@dataclass(frozen=True)
class Stage:
    """One step of asking a process to end: a signal, to it or its whole group, and how long to wait."""

    signal: signal.Signals
    seconds: float
    group: bool = False


KILL = Stage(signal.SIGKILL, 5.0, group=True)


def identify(pid: int) -> ProcessId | None:
    """The living process of that number; a zombie is not one."""
    started = started_at(pid)
    return None if started is None else ProcessId(pid, started)


def started_at(pid: int) -> str | None:
    return _started_by_proc(pid) if ON_LINUX else _started_by_ps(pid)


def _started_by_proc(pid: int) -> str | None:
    try:
        text = (PROC / str(pid) / "stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    state, *rest = text.rpartition(")")[2].split()  # the command before may hold anything, brackets too
    return None if state in "ZX" else f"{_boot_id()}:{rest[18]}"


def _boot_id() -> str:
    """Ticks count from the boot: without it, a process of yesterday and one of today could look alike."""
    try:
        return (PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return "boot"


def _started_by_ps(pid: int) -> str | None:
    shown = subprocess.run(
        ["env", "LC_ALL=C", "ps", "-o", "state=,lstart=", "-p", str(pid)],
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    state, _, started = shown.partition(" ")
    return started.strip() if started and not state.startswith("Z") else None


def marked(variable: str, value: str) -> list[ProcessId]:
    """Every living process, other than this one, that has this variable in its environment."""
    wanted = f"{variable}={value}"
    pids = _marked_by_proc(wanted) if ON_LINUX else _marked_by_ps(wanted)
    found = (identify(pid) for pid in pids if pid != os.getpid())
    return [process for process in found if process is not None]


def _marked_by_proc(wanted: str) -> Iterable[int]:
    for entry in PROC.iterdir():
        if not entry.name.isdigit():
            continue
        try:
            variables = (entry / "environ").read_bytes().split(b"\0")
        except OSError:
            continue  # gone meanwhile, or of another user, who is not our child
        if wanted.encode() in variables:
            yield int(entry.name)


def _marked_by_ps(wanted: str) -> Iterable[int]:
    shown = subprocess.run(
        ["ps", "-axwwE", "-o", "pid=,command="], capture_output=True, text=True, check=False, errors="replace"
    ).stdout
    for line in shown.splitlines():
        pid, _, words = line.strip().partition(" ")
        if pid.isdigit() and wanted in words.split():
            yield int(pid)


def command_line(pid: int) -> list[str]:
    """The words of its command; empty when it is gone. Where only ps tells, words with spaces fall apart."""
    if ON_LINUX:
        try:
            words = (PROC / str(pid) / "cmdline").read_bytes().rstrip(b"\0").split(b"\0")
        except OSError:
            return []
        return [os.fsdecode(word) for word in words]
    shown = subprocess.run(
        ["ps", "-ww", "-o", "command=", "-p", str(pid)], capture_output=True, text=True, check=False
    ).stdout
    return shown.split()


def send(process: ProcessId, number: signal.Signals, *, group: bool) -> None:
    """Signal a process that is still the one meant, or its group; one that is gone is no error."""
    if not process.alive:
        return
    try:
        if group and os.getpgid(process.pid) == process.pid:
            os.killpg(process.pid, number)
        else:
            os.kill(process.pid, number)
    except (ProcessLookupError, PermissionError):
        return


def end(
    process: ProcessId,
    stages: Iterable[Stage],
    *,
    gone: Callable[[], bool] | None = None,
    hurry: Callable[[], bool] = lambda: False,
) -> bool:
    """Go through the stages until the process is gone; False if it survived them all.

    `gone` replaces the look at the process table where the caller is the parent and can reap;
    `hurry` ends the waiting of every stage but the last.
    """
    is_gone = gone or (lambda: not process.alive)
    *patient, last = stages
    for stage in patient:
        send(process, stage.signal, group=stage.group)
        wait_until(lambda: is_gone() or hurry(), stage.seconds)
        if is_gone():
            return True
    send(process, last.signal, group=last.group)
    return wait_until(is_gone, last.seconds)


def wait_until(condition: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() >= deadline:
            return False
        time.sleep(LOOK_EVERY)
    return True


def with_variables(argv: Iterable[str], variables: dict[str, str | None]) -> list[str]:
    """`argv` behind env(1), which sets variables (None unsets) and becomes the command: no second process.

    Never for a secret: what stands here can be read in the process table for a moment.
    """
    unset = [word for name, value in variables.items() if value is None for word in ("-u", name)]
    given = [f"{name}={value}" for name, value in variables.items() if value is not None]
    return ["env", *unset, *given, *argv]
