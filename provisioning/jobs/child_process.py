"""How does a worker hold its child? Started in a clean world, reached by a pipe, ended for sure, or left to its next holder."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from types import MappingProxyType, TracebackType
from typing import Self

from django.conf import settings

from provisioning.jobs.child import MARK
from provisioning.jobs.claims import Adopted, Fenced
from provisioning.jobs.containment import kill_leftovers, prefix
from provisioning.jobs.preparation import tool_path
from provisioning.jobs.workspace import Workspace, environment, is_alive

LONGEST_WORDS = 400
STOP_WAIT = 15.0
_let_go: list[subprocess.Popen[bytes]] = []


def _path(space: Workspace) -> str:
    """Where the child finds programs: in its own folder first, when it has some."""
    return f"{space.bin}{os.pathsep}{tool_path()}" if space.bin.is_dir() else tool_path()


class AdoptedChild:
    """The process of one attempt that another worker started, and all that it started.

    Leaving its context leaves nothing of it, unless the attempt was taken over: then it is its next holder's. One that
    is nobody's any more is not given time to tidy up. `step` is the number by which the child knows its holder.
    """

    def __init__(self, space: Workspace, *, mark: str, step: int) -> None:
        self._space = space
        self._mark = mark
        self._step = step
        self._orders = _opened(space)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is not None and issubclass(kind, Adopted):
                self.let_go()
                return
            if not self.ended and not (kind is not None and issubclass(kind, Fenced)):
                self.stop("")
                self.wait(STOP_WAIT)
            self.kill()
        finally:
            self._close()

    def _close(self) -> None:
        if self._orders is not None:
            os.close(self._orders)

    @property
    def ended(self) -> bool:
        """True when the process is gone: it holds the lock of its folder as long as it lives."""
        return not is_alive(self._space)

    def wait(self, seconds: float) -> None:
        """Wait for its end, at most that long."""
        deadline = time.monotonic() + seconds
        while not self.ended and (left := deadline - time.monotonic()) > 0:
            time.sleep(min(left, 0.1))

    def let_go(self) -> None:
        """It is another's from now on."""

    def go(self) -> None:
        """The attempt is on record as running: the playbook may begin."""
        self._say("go")

    def sign_of_life(self) -> None:
        """The lease was renewed: it may go on."""
        self._say("alive")

    def stop(self, why: str) -> None:
        """Ask it to end its playbook; its end record will say why."""
        self._say("stop", why)

    def kill(self) -> None:
        """End it and everything it started, by force."""
        kill_leftovers(self._mark)

    def last_words(self) -> str:
        """What it wrote before it went, if anything."""
        try:
            text = self._space.log.read_text(encoding="utf-8", errors="replace").strip()
        except OSError:
            return ""
        return text[-LONGEST_WORDS:]

    def _say(self, word: str, why: str = "") -> None:
        line = f"{word} {self._step} {why}".rstrip() + "\n"
        if self._orders is not None:
            with suppress(BlockingIOError):  # thousands of words that nobody has read: it is frozen
                os.write(self._orders, line.encode("ascii"))


def _end_of(pid: int) -> int | None:
    """What becomes readable when this process ends; None where the system has no such thing."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None


def _opened(space: Workspace) -> int | None:
    """Kept open, so that what is said before the child listens is not lost; None when the folder is gone."""
    try:
        return os.open(space.orders, os.O_RDWR | os.O_NONBLOCK)
    except OSError:
        return None


class ChildProcess(AdoptedChild):
    """The process of one attempt that this worker started."""

    def __init__(
        self, process: subprocess.Popen[bytes], space: Workspace, *, mark: str, step: int = 0
    ) -> None:
        super().__init__(space, mark=mark, step=step)
        self._process = process
        self._end = _end_of(process.pid)

    @classmethod
    def started(
        cls,
        space: Workspace,
        *,
        mark: str,
        sees_all: bool = False,
        variables: Mapping[str, str] = MappingProxyType({}),
    ) -> ChildProcess:
        """Start it; it begins when it is told to. OSError when the machine can't.

        `sees_all`: without a namespace, to look at processes of others. `variables` come on top of the environment
        that every attempt has.
        """
        with space.log.open("wb") as log:
            process = subprocess.Popen(
                [
                    *(() if sees_all else prefix()),
                    sys.executable,
                    "-m",
                    "provisioning.jobs.child",
                    str(space.folder),
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=settings.BASE_DIR,
                env={
                    **environment(
                        space,
                        mark=mark,
                        path=_path(space),
                        ansible_dir=space.project_dir,
                        mark_name=MARK,
                    ),
                    **variables,
                },
                start_new_session=True,
            )
        return cls(process, space, mark=mark)

    @property
    def ended(self) -> bool:
        """True when the process is gone."""
        return self._process.poll() is not None

    def let_go(self) -> None:
        """It is another's, but only its parent can take note of its end."""
        _let_go[:] = [process for process in _let_go if process.poll() is None]
        _let_go.append(self._process)

    def wait(self, seconds: float) -> None:
        """Wait for its end, at most that long; where the kernel tells it, to the moment."""
        if self._end is not None:
            told = select.poll()
            told.register(self._end, select.POLLIN)
            told.poll(max(seconds, 0) * 1000)
            self._process.poll()  # takes note of it, so that no zombie is left
            return
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return

    def _close(self) -> None:
        super()._close()
        if self._end is not None:
            os.close(self._end)
            self._end = None

    def kill(self) -> None:
        """End it and everything it started, by force."""
        if not self.ended:
            self._process.kill()  # with a namespace, the kernel takes all that is in it along
            self.wait(STOP_WAIT)
        super().kill()
