"""How is one program started, followed, started again when it died, and ended with all it left?"""

import subprocess
import threading
import time
from collections.abc import Callable

from portal.embedded import processes, state
from portal.embedded.errors import StartError
from portal.embedded.logs import Log
from portal.embedded.processes import ProcessId
from portal.embedded.programs import Program

CHILD_VARIABLE = "QM_CHILD"
"""Tells which start of which program a process belongs to: what a dead worker left is found by it."""

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
STEADY_SECONDS = 60.0  # a program that lived that long begins again with the first pause


class Child:
    """One program of a supervisor, which is the only one to call this, one call at a time."""

    def __init__(self, program: Program, *, token: str, log: Log) -> None:
        self.program = program
        self.starts = 0
        self._token = token
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None
        self._identity: ProcessId | None = None
        self._began = 0.0
        self._pause = FIRST_PAUSE
        self._again_at: float | None = None

    @property
    def name(self) -> str:
        return self.program.name

    def start(self) -> None:
        self.program.before_start()
        self.starts += 1
        variables = {**self.program.variables, state.RUN_VARIABLE: self._token, CHILD_VARIABLE: self._mark}
        self._process = subprocess.Popen(
            processes.with_variables(self.program.argv, variables),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            umask=0o077,
            cwd=self.program.folder,
            pass_fds=self.program.descriptors,
            **self.program.identity,
        )
        self._identity = processes.identify(self._process.pid) or ProcessId(self._process.pid, "gone")
        self._began = time.monotonic()
        self._again_at = None
        threading.Thread(
            target=self._log.follow,
            args=(self.name, self._process.stdout),
            kwargs={"on_screen": self.program.on_screen},
            name=f"log-{self.name}",
            daemon=True,
        ).start()

    def remembered(self) -> state.Started | None:
        """What the state file says of it."""
        if self._identity is None:
            return None
        return state.Started(self.name, self.program.tier, self._identity, self.program.stages)

    def exit_code(self) -> int | None:
        """None while it runs or has not begun."""
        return None if self._process is None else self._process.poll()

    def await_ready(self, seconds: float) -> None:
        """Wait for a program that must answer before others can start."""
        ready = processes.wait_until(lambda: self.exit_code() is not None or self.program.is_ready(), seconds)
        if self.exit_code() is not None:
            raise StartError(f"{self.name} ended at its start:\n{self._log.last_words(self.name)}")
        if not ready:
            raise StartError(f"{self.name} does not answer after {seconds:.0f} s, see its log")

    def watch(self) -> bool:
        """Start it again when it died and its pause is over; True if there is a new process."""
        code = self.exit_code()
        if code is None:
            return False
        if self._again_at is None:
            self._plan_restart(code)
            return False
        if time.monotonic() < self._again_at:
            return False
        try:
            self.start()
        except (OSError, StartError) as problem:
            self._log.say(f"{self.name} could not be started again: {problem}")
            self._plan_restart(code)
            return False
        return True

    def stop(self, *, hurry: Callable[[], bool]) -> None:
        if self._process is None or self._identity is None:
            return
        pressed = hurry if self.program.may_be_hurried else (lambda: False)
        ended = processes.end(
            self._identity, self.program.stages, gone=lambda: self.exit_code() is not None, hurry=pressed
        )
        if not ended:
            self._log.say(f"{self.name} (process {self._identity.pid}) will not end")
        self._sweep()

    def _plan_restart(self, code: int) -> None:
        if time.monotonic() - self._began > STEADY_SECONDS:
            self._pause = FIRST_PAUSE
        self._log.say(f"{self.name} ended {_how(code)}; it starts again in {self._pause:g} s")
        self._sweep()
        self._again_at = time.monotonic() + self._pause
        self._pause = min(self._pause * 2, LONGEST_PAUSE)

    def _sweep(self) -> None:
        for stray in state.sweep(CHILD_VARIABLE, self._mark):
            self._log.say(f"ended process {stray.pid}, which {self.name} left behind")

    @property
    def _mark(self) -> str:
        return f"{self._token}:{self.name}:{self.starts}"


def _how(code: int) -> str:
    return f"by signal {-code}" if code < 0 else f"with code {code}"
