"""Who starts the servers of a test run when they are first needed, and stops them whatever happens to it?

A process of its own, started by tests/servers.py. It lives as long as its standard input, which only the
run's controller holds: a run that ends, is interrupted or killed closes it, and the servers go with it.
Each line sent to the socket names a server; the answer is `ready` or the reason why not.
"""

import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from io import FileIO
from pathlib import Path

import psycopg

from portal.embedded import postgres, processes, valkey
from portal.embedded.errors import StartError
from portal.embedded.locations import runtime_dir
from portal.embedded.postgres import Postgres
from portal.embedded.processes import Stage
from portal.embedded.valkey import Valkey

AT_ONCE = (Stage(signal.SIGQUIT, 5.0), processes.KILL)  # the data are thrown away: no checkpoint is worth it


class Keeper:
    def __init__(self, var_dir: Path) -> None:
        self.var_dir = var_dir
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        self.turn = threading.Lock()

    def ensure(self, name: str) -> str:
        """Start the named server unless it runs; the answer for the one who asked."""
        starts: dict[str, Callable[[], subprocess.Popen[bytes]]] = {
            "database": self._start_database,
            "broker": self._start_broker,
        }
        with self.turn:
            found = self.running.get(name)
            if found is not None and found.poll() is None:
                return "ready"
            try:
                self.running[name] = starts[name]()
            except (KeyError, OSError, psycopg.Error, StartError) as problem:
                return f"{name}: {problem}"
            return "ready"

    def stop(self) -> None:
        with self.turn:
            for process in self.running.values():
                found = processes.identify(process.pid)
                if found is not None:
                    processes.end(found, AT_ONCE, gone=lambda one=process: one.poll() is not None)

    def _start_database(self) -> subprocess.Popen[bytes]:
        server = Postgres.of(self.var_dir, throwaway=True)
        server.prepare()
        with self._log("postgres") as log:
            process = server.spawn(log)
        if not postgres.wait_until_ready(server, process):
            raise StartError(f"PostgreSQL did not start, see {self.var_dir}/postgres.log")
        server.ensure_database()
        return process

    def _start_broker(self) -> subprocess.Popen[bytes]:
        server = Valkey.of(self.var_dir, throwaway=True)
        server.prepare()
        with self._log("valkey") as log:
            process = server.spawn(log)
        if not valkey.wait_until_ready(server, process):
            raise StartError(f"Valkey did not start, see {self.var_dir}/valkey.log")
        return process

    def _log(self, name: str) -> FileIO:
        return (self.var_dir / f"{name}.log").open("ab", buffering=0)


def answer(keeper: Keeper, line: socket.socket) -> None:
    with line, line.makefile("rw", encoding="utf-8") as talk:
        for name in talk:
            talk.write(keeper.ensure(name.strip()).replace("\n", " ") + "\n")
            talk.flush()


def serve(keeper: Keeper, door: socket.socket) -> None:
    while True:
        line, _ = door.accept()
        threading.Thread(target=answer, args=(keeper, line), daemon=True).start()


def main(var_dir: Path, door_path: Path) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # the end of the input is the only reason to go
    keeper = Keeper(var_dir)
    door = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    door.bind(str(door_path))
    door.listen(64)
    threading.Thread(target=serve, args=(keeper, door), daemon=True).start()
    print("ready", flush=True)  # noqa: T201 - the one who started us waits for it
    sys.stdin.buffer.read()
    keeper.stop()
    shutil.rmtree(runtime_dir(var_dir), ignore_errors=True)
    shutil.rmtree(door_path.parent, ignore_errors=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
