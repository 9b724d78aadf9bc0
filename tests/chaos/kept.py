"""How is a process killed, frozen, and brought back? One of a campaign's own, watched by the thread that mends."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import psutil  # type: ignore[import-untyped]

ALONE = frozenset({signal.SIGTERM, signal.SIGINT})
"""Asked of the first process only: a pool that is told itself would say that its workers were lost."""


@dataclass
class Kept:
    """A process that is started again after it was killed. `scattered`: its children are in groups of their own, as PostgreSQL's."""

    name: str
    start: Callable[[], subprocess.Popen[bytes]]
    scattered: bool = False
    process: subprocess.Popen[bytes] | None = None
    back_at: float = 0.0
    frozen_until: float = 0.0
    leaves: bool = False
    _turn: threading.RLock = field(default_factory=threading.RLock, repr=False)

    @property
    def pid(self) -> int:
        """0 when it never ran."""
        return 0 if self.process is None else self.process.pid

    @property
    def lives(self) -> bool:
        return self.process is not None and self.process.poll() is None

    @property
    def is_awake(self) -> bool:
        """It runs, is not frozen, and was not told to go."""
        return self.lives and not self.frozen_until and not self.leaves

    def begin(self) -> None:
        with self._turn:
            self.process = self.start()
            self.leaves = False

    def kill(self, *, number: signal.Signals = signal.SIGKILL, away: float = 0.0) -> None:
        """End it with all its processes; it comes again after `away` seconds."""
        with self._turn:
            if self.lives:
                self.signal(signal.SIGCONT)
                self.signal(number)
            self.back_at, self.frozen_until, self.leaves = time.monotonic() + away, 0.0, True

    def freeze(self, seconds: float) -> None:
        with self._turn:
            self.signal(signal.SIGSTOP)
            self.frozen_until = time.monotonic() + seconds

    def signal(self, number: signal.Signals) -> None:
        with self._turn:
            if self.process is None or not self.lives:
                return
            if number in ALONE:
                _send(self.process.pid, number)
            elif self.scattered:
                for pid in _family(self.process.pid):
                    _send(pid, number)
            else:
                try:
                    os.killpg(self.process.pid, number)
                except ProcessLookupError:
                    return

    def mend(self, *, now: bool = False) -> None:
        """Thaw it or start it again, when its time has come."""
        with self._turn:
            at = time.monotonic()
            if self.frozen_until and (now or at > self.frozen_until):
                self.signal(signal.SIGCONT)
                self.frozen_until = 0.0
            if not self.lives and (now or at > self.back_at):
                self.begin()

    def end(self, number: signal.Signals, seconds: float) -> None:
        """Ask it to go, and take it where it doesn't."""
        with self._turn:
            if self.process is None:
                return
            self.signal(signal.SIGCONT)
            self.signal(number)
            try:
                self.process.wait(seconds)
            except subprocess.TimeoutExpired:
                self.signal(signal.SIGKILL)
                self.process.wait(seconds)


def _family(pid: int) -> list[int]:
    """The first process before its children, so that it can't start new ones meanwhile."""
    try:
        return [pid, *(child.pid for child in psutil.Process(pid).children(recursive=True))]
    except psutil.Error:
        return [pid]


def _send(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        return
