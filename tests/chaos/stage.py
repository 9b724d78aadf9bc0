"""What does a chaos campaign play on? Servers, workers, beat, web and nodes of its own, each of which can be killed and comes again."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from provisioning.workers.routing import Work, queue_of
from tests.chaos.kept import Kept
from tests.chaos.playbook import LOG, ROOT
from tests.chaos.servers import Pair, Server
from tests.ssh.sshd import Sshd

SLOTS = 2
"""Jobs that one worker runs at once."""
DOORBELLS = 2
"""Workers for everything else: while one is frozen, the other goes on, as in every installation that is to outlive a machine."""
MEND_EVERY = 0.2


@dataclass
class HostState:
    """A node and what is wrong with it just now."""

    host: Sshd
    mend_at: float = 0.0
    mend: Callable[[], None] | None = None

    @property
    def name(self) -> str:
        return self.host.folder.name

    @property
    def log(self) -> list[str]:
        """What it saw itself."""
        file = self.host.folder / "root" / LOG
        return file.read_text(encoding="utf-8", errors="replace").splitlines() if file.exists() else []


@dataclass
class Stage:
    """Everything of one campaign; `home` is its folder."""

    home: Path
    pair: Pair
    worker_count: int = 3
    kept: dict[str, Kept] = field(default_factory=dict)
    hosts: list[HostState] = field(default_factory=list)
    key: Path = Path()
    other_key: Path = Path()
    disk: Path | None = None
    later: list[tuple[float, Callable[[], None]]] = field(default_factory=list)
    postmen: list[subprocess.Popen[bytes]] = field(default_factory=list)
    door: socket.socket | None = None
    turn: threading.RLock = field(default_factory=threading.RLock, repr=False)
    """Held by whoever changes a node or what is due later."""

    @property
    def jobs_dir(self) -> Path:
        return self.home / "var" / "jobs"

    @property
    def workers(self) -> list[Kept]:
        return self.named("jobs")

    def named(self, program: str) -> list[Kept]:
        """All of one kind: `jobs-1` and `jobs-2` are "jobs"."""
        return [kept for name, kept in self.kept.items() if name.partition("-")[0] == program]

    @property
    def port(self) -> int:
        """Where the web server answers."""
        assert self.door is not None
        return int(self.door.getsockname()[1])

    def log(self, name: str) -> int:
        (self.home / "logs").mkdir(exist_ok=True)
        return os.open(self.home / "logs" / f"{name}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def start_servers(self) -> None:
        for name, server in (("database", self.pair.database), ("broker", self.pair.broker)):
            if server is not None:
                self._start_server(name, server)
        self.pair.prepared()

    def _start_server(self, name: str, server: Server) -> None:
        def start() -> subprocess.Popen[bytes]:
            output = self.log(name)
            try:
                return server.start(output)
            finally:
                os.close(output)

        kept = self._keep(name, start, scattered=server.scattered)
        assert kept.process is not None
        if not server.wait(kept.process):
            raise RuntimeError(f"the {name} did not start, see {self.home}/logs/{name}.log")

    def _keep(
        self, name: str, start: Callable[[], subprocess.Popen[bytes]], *, scattered: bool = False
    ) -> Kept:
        self.kept[name] = Kept(name, start, scattered=scattered)
        self.kept[name].begin()
        return self.kept[name]

    def start_portal(self) -> None:
        """Beat, workers and the web server, whose door stays open while it is away."""
        short = ",".join(queue_of(work) for work in Work if work != Work.JOBS)
        workers = {f"jobs-{number}": (Work.JOBS.value, SLOTS) for number in range(1, self.worker_count + 1)}
        doorbells = {f"bell-{number}": (short, 2) for number in range(1, DOORBELLS + 1)}
        for name, (queue, slots) in {**workers, **doorbells}.items():
            quiet = ("--without-mingle", "--without-gossip")
            self._celery(name, "worker", "-n", f"{name}@%h", "-Q", queue, "-c", str(slots), *quiet)
        self._celery("beat", "beat", "-s", str(self.home / "beat-schedule"), "--pidfile=")
        self.door = socket.create_server(("127.0.0.1", 0), backlog=64)
        number = self.door.fileno()
        self._python("web", "-m", "portal.embedded.serve", str(number), "WARNING", descriptors=(number,))

    def _celery(self, name: str, *words: str) -> None:
        self._python(name, "-W", "ignore", "-m", "celery", "-q", "-A", "tests.chaos.worker_app", *words)

    def _python(self, name: str, *words: str, descriptors: tuple[int, ...] = ()) -> None:
        def start() -> subprocess.Popen[bytes]:
            output = self.log(name)
            try:
                return subprocess.Popen(
                    [sys.executable, *words],
                    cwd=ROOT,
                    stdout=output,
                    stderr=output,
                    stdin=subprocess.DEVNULL,
                    start_new_session=True,
                    pass_fds=descriptors,
                )
            finally:
                os.close(output)

        self._keep(name, start)

    def limit_disk(self, megabytes: int) -> None:
        """Give attempts a small disk of their own, where this account may."""
        self.jobs_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        words = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=0700", "tmpfs", str(self.jobs_dir)]
        if shutil.which("mount") and subprocess.run(words, capture_output=True, check=False).returncode == 0:
            self.disk = self.jobs_dir

    def soon(self, seconds: float, deed: Callable[[], None]) -> None:
        """Do it in a while, or at the end of the campaign if that comes first."""
        with self.turn:
            self.later.append((time.monotonic() + seconds, deed))

    def mend(self, *, now: bool = False) -> None:
        """Bring back what is due."""
        for kept in self.kept.values():
            kept.mend(now=now)
        with self.turn:
            due = [each for each in self.later if now or time.monotonic() > each[0]]
            self.later = [each for each in self.later if each not in due]
        for _, deed in due:
            deed()
        for state in self.hosts:
            with self.turn:
                if state.mend is not None and (now or time.monotonic() > state.mend_at):
                    mend = state.mend
                    mend()
                    state.mend = None
        self.postmen = [postman for postman in self.postmen if postman.poll() is None]

    def end(self) -> None:
        """Those who work first, then those whom they work with."""
        servers = {"broker": self.pair.broker, "database": self.pair.database}
        for name, kept in self.kept.items():
            if name not in servers:
                kept.end(signal.SIGKILL, 20)
        for postman in self.postmen:
            postman.kill()
            postman.wait(20)
        for state in self.hosts:
            state.host.stop()
        for name, server in servers.items():
            if name in self.kept and server is not None:
                self.kept[name].end(server.goes_by, 30)
        self._clear()

    def _clear(self) -> None:
        if self.door is not None:
            self.door.close()
        if self.disk is not None:
            subprocess.run(["umount", "-l", str(self.disk)], check=False)
        self.pair.remove()


class Mender(threading.Thread):
    """Brings back what is due. A thread of its own, since the campaign's own hangs on a database that it froze."""

    def __init__(self, stage: Stage) -> None:
        super().__init__(daemon=True, name="mender")
        self._stage, self._done = stage, threading.Event()
        self.problem: Exception | None = None

    def run(self) -> None:
        while not self._done.wait(MEND_EVERY):
            try:
                self._stage.mend()
            except Exception as problem:  # noqa: BLE001 - told by whoever waits for the end
                self.problem = problem

    def end(self) -> None:
        self._done.set()
        self.join(60)


@contextmanager
def on(stage: Stage) -> Iterator[Stage]:
    """The stage is cleared whatever happens on it."""
    try:
        yield stage
    finally:
        stage.end()


class Helper(Protocol):
    """A thread that works beside the campaign until it is told to end."""

    def start(self) -> None: ...

    def end(self) -> None: ...


@contextmanager
def at_work(*helpers: Helper) -> Iterator[None]:
    """Helpers work as long as the block, however that ends: a mender left alone would start again what is cleared."""
    with ExitStack() as stack:
        for helper in helpers:
            helper.start()
            stack.callback(helper.end)
        yield
