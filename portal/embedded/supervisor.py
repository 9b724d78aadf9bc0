"""How does the whole portal start, live and end on one machine?

    with Supervisor(config(), screen=sys.stdout) as running:
        running.wait_until_healthy()
        print(running.base_url)
        running.wait()

Leaving the block ends everything it started, in order, whatever the reason: end of the work, an exception,
Ctrl-C, SIGTERM or SIGHUP. A supervisor that is killed has a reaper; one killed with its reaper is cleaned
up after by the next start.
"""

import dataclasses
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import ExitStack, suppress
from types import FrameType, TracebackType
from typing import TextIO

from portal.config import Config
from portal.embedded import locations, ports, processes, programs, state
from portal.embedded.child import Child
from portal.embedded.errors import StartError
from portal.embedded.folders import ensure_var
from portal.embedded.health import is_healthy
from portal.embedded.logs import Log
from portal.embedded.postgres import Postgres
from portal.embedded.programs import Program
from portal.embedded.valkey import Valkey

LOOK_EVERY = 0.2
SERVER_SECONDS = 90.0
SETUP_SECONDS = 600.0
HEALTHY_SECONDS = 60.0
REAPER_SECONDS = 10.0
STARTS_BEFORE_GIVING_UP = 3
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

Hook = Callable[["Supervisor"], None]


def _nothing(running: "Supervisor") -> None:
    """The hook that does nothing."""


class Supervisor:
    """Starts the servers that have no URL, prepares the database, and keeps the portal's programs running.

    before_ready(running) is called when the database is migrated and before the web server starts (to
    import data), after_ready(running) when the web server answered its first health check. `screen` is
    where the common log goes; None writes the files alone.
    """

    def __init__(
        self,
        config: Config,
        *,
        screen: TextIO | None = None,
        before_ready: Hook = _nothing,
        after_ready: Hook | None = None,
        portal_programs: Callable[..., list[Program]] = programs.portal,
        setup: tuple[str, ...] | None = ("prepare",),
    ) -> None:
        self.config = dataclasses.replace(config, var_dir=config.var_dir.absolute())
        self.port = 0
        self.base_url = ""
        self._screen = screen
        self._before_ready, self._after_ready = before_ready, after_ready
        self._portal_programs, self._setup = portal_programs, setup
        self._children: list[Child] = []
        self._turn = threading.RLock()
        self._ending = threading.Event()
        self._hurry = threading.Event()
        self._watcher: threading.Thread | None = None
        self._reaper: subprocess.Popen[bytes] | None = None
        self._reaper_starts = 0
        self._state: state.State | None = None
        self._undo = ExitStack()
        self._log: Log

    def __enter__(self) -> "Supervisor":
        try:
            self._start()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    @property
    def log(self) -> Log:
        return self._log

    def wait(self) -> None:
        """Until Ctrl-C or a signal, which comes as KeyboardInterrupt."""
        while not self._ending.wait(1.0):
            pass

    def wait_until_healthy(self, timeout: float = HEALTHY_SECONDS) -> None:
        """Until the web server answers; StartError with what it said when it does not."""
        web = self._child("web")
        processes.wait_until(
            lambda: is_healthy(self.base_url) or web.starts >= STARTS_BEFORE_GIVING_UP, timeout
        )
        if not is_healthy(self.base_url):
            raise StartError(
                f"The web server does not answer at {self.base_url}:\n{self._log.last_words('web')}"
            )

    def pids(self) -> dict[str, int]:
        """Name and process number of everything that runs under this supervisor."""
        with self._turn:
            remembered = [child.remembered() for child in self._children if child.exit_code() is None]
        return {entry.name: entry.process.pid for entry in remembered if entry is not None}

    def _start(self) -> None:
        var_dir = self.config.var_dir
        ensure_var(var_dir)
        self._log = Log(locations.log_dir(var_dir), self._screen)
        self._undo.callback(self._log.close)
        self._catch_signals()
        self._take_over()
        listener = self._undo.enter_context(ports.listen(self.config.host, self.config.port))
        self.port = listener.getsockname()[1]
        self.base_url = ports.url(self.config.host, self.port)
        self._begin_state()
        self._start_servers()
        self._run_setup()
        self._before_ready(self)
        for program in self._portal_programs(self.config, listener=listener):
            self._add(program)
        self._watcher = threading.Thread(target=self._watch, name="watcher", daemon=True)
        self._watcher.start()
        if self._after_ready is not None:
            self.wait_until_healthy()
            self._after_ready(self)

    def _take_over(self) -> None:
        """Become the only supervisor of this var, and end what a dead one left."""
        lock = state.Lock(self.config.var_dir)
        lock.take()
        self._undo.callback(lock.release)
        for name in state.clean_up(self.config.var_dir):
            self._log.say(f"ended {name}, left by a run that was killed")

    def _begin_state(self) -> None:
        me = processes.identify(os.getpid())
        assert me is not None
        self._state = state.State(supervisor=me, url=self.base_url)
        self._undo.callback(locations.state_file(self.config.var_dir).unlink, missing_ok=True)
        self._state.write(self.config.var_dir)
        self._start_reaper()

    def _start_reaper(self) -> None:
        assert self._state is not None
        self._reaper_starts += 1
        words = [sys.executable, "-m", "portal.embedded.reaper", str(self.config.var_dir), self._state.token]
        self._reaper = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            cwd=self.config.base_dir,
        )

    def _start_servers(self) -> None:
        var_dir = self.config.var_dir
        if self.config.database_url is None:
            self._log.say(f"starting PostgreSQL in {locations.postgres_dir(var_dir)}")
            server = Postgres.of(var_dir)
            self._add(programs.database(server)).await_ready(SERVER_SECONDS)
            server.ensure_database()
        if self.config.broker_url is None:
            self._log.say("starting the broker")
            self._add(programs.broker(Valkey.of(var_dir))).await_ready(SERVER_SECONDS)

    def _run_setup(self) -> None:
        if self._setup is None:
            return
        self._log.say("preparing the database and the catalogue")
        child = self._add(programs.manage(self.config, *self._setup, port=self.port))
        processes.wait_until(lambda: child.exit_code() is not None, SETUP_SECONDS)
        if child.exit_code() != 0:
            raise StartError(f"The portal could not be prepared:\n{self._log.last_words(child.name)}")
        self._forget(child)

    def _add(self, program: Program) -> Child:
        assert self._state is not None
        child = Child(program, token=self._state.token, log=self._log)
        with self._turn:
            self._children.append(child)
            child.start()
            self._remember()
        return child

    def _forget(self, child: Child) -> None:
        with self._turn:
            self._children.remove(child)
            self._remember()

    def _remember(self) -> None:
        """Write down what runs, so that a later run can tell it from strangers."""
        assert self._state is not None
        entries = (child.remembered() for child in self._children)
        self._state.started = [entry for entry in entries if entry is not None]
        self._state.write(self.config.var_dir)

    def _child(self, name: str) -> Child:
        return next(child for child in self._children if child.name == name)

    def _watch(self) -> None:
        while not self._ending.wait(LOOK_EVERY):
            with self._turn:
                if self._ending.is_set():
                    return
                begun = [child.watch() for child in self._children]
                if any(begun):
                    self._remember()
                self._watch_reaper()

    def _watch_reaper(self) -> None:
        died = self._reaper is not None and self._reaper.poll() is not None
        if died and self._reaper_starts < STARTS_BEFORE_GIVING_UP:
            self._start_reaper()

    def _catch_signals(self) -> None:
        """Only a main thread may; elsewhere the program around decides when the block ends."""
        if threading.current_thread() is not threading.main_thread():
            return
        for number in ENDING:
            self._undo.callback(signal.signal, number, signal.signal(number, self._on_signal))

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self._ending.is_set():
            if number == signal.SIGINT:
                self._hurry.set()
            return
        self._ending.set()
        raise KeyboardInterrupt

    def _stop(self) -> None:
        self._ending.set()
        if self._state is not None:
            self._log.say("stopping (Ctrl-C again: without waiting for tasks)")
            if self._watcher is not None:
                self._watcher.join()
            self._stop_children()
            state.sweep(state.RUN_VARIABLE, self._state.token)
            self._remove_sockets()
        self._undo.close()  # forgets the state, lets the lock go, gives the signals back
        self._end_reaper()

    def _stop_children(self) -> None:
        for tier in sorted({child.program.tier for child in self._children}, reverse=True):
            threads = [
                threading.Thread(target=child.stop, kwargs={"hurry": self._hurry.is_set})
                for child in self._children
                if child.program.tier == tier
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

    def _remove_sockets(self) -> None:
        """Servers remove theirs; one that was killed could not."""
        folder = locations.runtime_dir(self.config.var_dir)
        names = (locations.POSTGRES_SOCKET, locations.LONGEST_SOCKET_NAME, locations.BROKER_SOCKET)
        for name in names:
            (folder / name).unlink(missing_ok=True)
        if folder.parent == locations.SHORT_PARENT:
            shutil.rmtree(folder, ignore_errors=True)

    def _end_reaper(self) -> None:
        if self._reaper is None or self._reaper.stdin is None:
            return
        self._reaper.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            self._reaper.wait(REAPER_SECONDS)
