"""How do Debian's PostgreSQL and RabbitMQ run for as long as one command does? `python3 -m tests.debian_servers make test`.

The command finds their addresses in PORTAL_DATABASE_URL and PORTAL_BROKER_URL. Ports and folders are their own, so the machine's
servers are neither used nor disturbed. The standard library is all that is needed. As root, or as an ordinary user.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

POSTGRES = Path("/usr/lib/postgresql")
RABBITMQ = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
STARTS_WITHIN = 300.0
ENDS_WITHIN = 20.0
AMQP = b"AMQP\x00\x00\x09\x01"
PATIENCE = 30
"""Seconds for which RabbitMQ lets a message be held without a word before it closes the channel; its own default is half an hour."""
TOLD_PATIENCE = "QM_TESTS_BROKER_PATIENCE"


def why_not() -> str:
    """Why they can't be started here; "" when they can."""
    missing = []
    if not any(POSTGRES.glob("*/bin/postgres")):
        missing.append("postgresql")
    if not RABBITMQ.is_file():
        missing.append("rabbitmq-server")
    return f"install {' and '.join(missing)}" if missing else ""


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens on."""
    with socket.socket() as asked:
        asked.bind(("127.0.0.1", 0))
        port: int = asked.getsockname()[1]
        return port


def _as(account: str) -> dict[str, Any]:
    """Words for Popen: root becomes the package's account, since neither server is to run as root."""
    if os.geteuid() != 0:
        return {}
    found = pwd.getpwnam(account)
    return {"user": found.pw_uid, "group": found.pw_gid, "extra_groups": []}


def _own_folder(folder: Path, account: str) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if os.geteuid() == 0:
        shutil.chown(folder, account, account)


@dataclass
class Postgres:
    """One PostgreSQL in `folder`, which anybody may enter. It keeps what it committed through a kill, not through a power cut."""

    folder: Path
    port: int = field(default_factory=free_port)

    @property
    def url(self) -> str:
        return f"postgres://postgres@127.0.0.1:{self.port}/postgres"

    def prepare(self) -> None:
        """Make the cluster if there is none."""
        _own_folder(self.folder / "db-socket", "postgres")
        _own_folder(self.folder / "db", "postgres")
        if (self.folder / "db" / "PG_VERSION").exists():
            return
        words = ["-D", str(self.folder / "db"), "-A", "trust", "-U", "postgres", "-E", "UTF8"]
        subprocess.run(
            [self._program("initdb"), *words, "--locale=C.UTF-8"],
            check=True,
            stdout=subprocess.DEVNULL,
            cwd="/",
            **_as("postgres"),
        )

    def spawn(self, output: int | IO[bytes]) -> subprocess.Popen[bytes]:
        """Start it in a session of its own. Call prepare() first."""
        settings = ("listen_addresses=127.0.0.1", "fsync=off", "max_connections=200")
        words = ["-D", str(self.folder / "db"), "-p", str(self.port), "-k", str(self.folder / "db-socket")]
        return subprocess.Popen(
            [self._program("postgres"), *words, *(word for each in settings for word in ("-c", each))],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            cwd="/",
            **_as("postgres"),
        )

    def is_ready(self) -> bool:
        words = [self._program("pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self.port), "-t", "2"]
        return subprocess.run(words, check=False).returncode == 0

    def stop(self, process: subprocess.Popen[bytes]) -> None:
        """Cut its clients off and end it."""
        _end(process, signal.SIGINT)

    def _program(self, name: str) -> str:
        newest = max(POSTGRES.glob(f"*/bin/{name}"), key=lambda each: float(each.parts[-3]))
        return str(newest)


@dataclass
class RabbitMq:
    """One RabbitMQ in `folder`, which anybody may enter, with a name server of Erlang's of its own."""

    folder: Path
    port: int = field(default_factory=free_port)
    _distribution: int = field(default_factory=free_port)
    _names: int = field(default_factory=free_port)

    @property
    def url(self) -> str:
        return f"amqp://guest:guest@127.0.0.1:{self.port}//"

    @property
    def _home(self) -> Path:
        return self.folder / "mq"

    def prepare(self) -> None:
        _own_folder(self._home, "rabbitmq")
        often = PATIENCE * 100
        told = {
            "rabbitmq.conf": f"listeners.tcp.default = 127.0.0.1:{self.port}\n"
            f"log.console = false\nconsumer_timeout = {PATIENCE * 1000}\n",
            "advanced.config": f"[{{rabbit, [{{channel_tick_interval, {often}}}]}}].\n",
        }
        for name, text in told.items():
            (self._home / name).write_text(text)
            if os.geteuid() == 0:
                shutil.chown(self._home / name, "rabbitmq", "rabbitmq")

    def spawn(self, output: int | IO[bytes]) -> subprocess.Popen[bytes]:
        """Start it in a session of its own. Call prepare() first."""
        return subprocess.Popen(
            [str(RABBITMQ)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            cwd=self._home,
            env=self._variables(),
            **_as("rabbitmq"),
        )

    def is_ready(self) -> bool:
        """Does it speak AMQP? Its port is open a while before."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=2) as line:
                line.sendall(AMQP)
                return line.recv(1) == b"\x01"
        except OSError:
            return False

    def stop(self, process: subprocess.Popen[bytes]) -> None:
        """End it and its name server."""
        _end(process, signal.SIGTERM)
        self.end_names()

    def end_names(self) -> None:
        """End the name server, which outlives every RabbitMQ."""
        epmd = shutil.which("epmd")
        if epmd:
            subprocess.run(
                [epmd, "-kill"], env=self._variables(), check=False, stdout=subprocess.DEVNULL, timeout=20
            )

    def _variables(self) -> dict[str, str]:
        home = self._home
        return {
            "PATH": os.environ.get("PATH", "/usr/sbin:/usr/bin:/sbin:/bin"),
            "HOME": str(home),
            "LANG": "C.UTF-8",
            "RABBITMQ_CONFIG_FILE": str(home / "rabbitmq.conf"),
            "RABBITMQ_ADVANCED_CONFIG_FILE": str(home / "advanced.config"),
            "RABBITMQ_BASE": str(home),
            "RABBITMQ_MNESIA_BASE": str(home / "db"),
            "RABBITMQ_LOG_BASE": str(home / "log"),
            "RABBITMQ_PID_FILE": str(home / "pid"),
            "RABBITMQ_NODENAME": f"qm{self.port}@localhost",
            "RABBITMQ_DIST_PORT": str(self._distribution),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(home / "plugins"),
            "ERL_EPMD_PORT": str(self._names),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
        }


Server = Postgres | RabbitMq


def _end(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Ask, wait, and take it with its whole group."""
    if process.poll() is None:
        process.send_signal(number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(ENDS_WITHIN)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(ENDS_WITHIN)


def wait_until_ready(server: Server, process: subprocess.Popen[bytes]) -> bool:
    """True once it answers; False when its process ended or the time is over."""
    deadline = time.monotonic() + STARTS_WITHIN
    while process.poll() is None and time.monotonic() < deadline:
        if server.is_ready():
            return True
        time.sleep(0.2)
    return False


def new_folder() -> Path:
    """A folder for both, which their accounts may enter."""
    folder = Path(tempfile.mkdtemp(prefix="qm-servers-", dir="/tmp"))
    folder.chmod(0o755)
    return folder


def run(command: list[str], variables: Mapping[str, str]) -> int:
    """Run the command beside both servers; its exit code."""
    folder = new_folder()
    database, broker = Postgres(folder), RabbitMq(folder)
    started: list[tuple[Server, subprocess.Popen[bytes]]] = []
    try:
        for server in (database, broker):
            server.prepare()
            log = folder / f"{type(server).__name__}.log"
            with log.open("wb") as file:
                process = server.spawn(file)
            started.append((server, process))
            if not wait_until_ready(server, process):
                said = log.read_text(errors="replace")[-4000:]
                print(f"{type(server).__name__} did not start:\n{said}", file=sys.stderr)  # noqa: T201
                return 1
        told = {
            "PORTAL_DATABASE_URL": database.url,
            "PORTAL_BROKER_URL": broker.url,
            TOLD_PATIENCE: str(PATIENCE),
        }
        return subprocess.run(command, check=False, env={**variables, **told}).returncode
    finally:
        for server, process in started:
            server.stop(process)
        shutil.rmtree(folder, ignore_errors=True)


def _leave(number: int, _frame: object) -> None:
    """A polite kill ends the servers, too."""
    raise SystemExit(128 + number)


def main(command: list[str]) -> int:
    if not command:
        print(__doc__, file=sys.stderr)  # noqa: T201
        return 2
    if reason := why_not():
        print(f"There is no PostgreSQL and RabbitMQ of Debian's here: {reason}", file=sys.stderr)  # noqa: T201
        return 2
    signal.signal(signal.SIGTERM, _leave)
    return run(command, os.environ)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
