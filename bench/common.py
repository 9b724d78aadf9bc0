"""What do benches share? The machine in words, percentiles, a table, throw-away databases, servers and a browser of sorts."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import platform
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import psycopg

ROOT = Path(__file__).resolve().parent.parent


def machine() -> dict[str, str]:
    """The machine that the figures are of."""
    cpu = platform.processor() or platform.machine()
    with contextlib.suppress(OSError):
        found = re.search(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text())
        cpu = found[1] if found else cpu
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "cpu": f"{cpu}, {os.cpu_count()} cores",
        "memory": f"{memory:.0f} GiB",
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
    }


def percentile(values: Sequence[float], share: float) -> float:
    """Between neighbours in proportion, as PostgreSQL's percentile_cont."""
    ordered = sorted(values)
    place = (len(ordered) - 1) * share
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of text, numbers to the right."""
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]
    lines = [
        "  ".join(
            cell.ljust(width) if not n else cell.rjust(width)
            for n, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in [head, *rows]
    ]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines)


@contextlib.contextmanager
def databases(url: str, names: Sequence[str]) -> Iterator[dict[str, str]]:
    """Fresh databases on the server of `url`, dropped at the end; their addresses by name."""
    made: dict[str, str] = {}
    with psycopg.connect(url, autocommit=True) as server:
        try:
            for name in names:
                real = f"qm_bench_{os.getpid()}_{name}"
                server.execute(f'CREATE DATABASE "{real}" TEMPLATE template0')
                made[name] = urlsplit(url)._replace(path=f"/{real}").geturl()
            yield made
        finally:
            for name in made:
                server.execute(f'DROP DATABASE IF EXISTS "qm_bench_{os.getpid()}_{name}" WITH (FORCE)')


@contextlib.contextmanager
def postgres(folder: Path) -> Iterator[str]:
    """The server of PORTAL_DATABASE_URL, else an embedded one in `folder` that ends with the bench."""
    given = os.environ.get("PORTAL_DATABASE_URL", "")
    if given:
        yield given
        return
    from portal.embedded import locations, processes
    from portal.embedded import postgres as embedded

    server = embedded.Postgres.of(folder, throwaway=True)
    server.prepare()
    with (folder / "postgres.log").open("ab", buffering=0) as log:
        process = server.spawn(log)
    try:
        if not embedded.wait_until_ready(server, process):
            raise SystemExit(f"PostgreSQL did not start, see {folder}/postgres.log")
        server.ensure_database()
        yield locations.database_url(folder)
    finally:
        found = processes.identify(process.pid)
        if found is not None:
            processes.end(found, embedded.STOP, gone=lambda: process.poll() is not None)


@contextlib.contextmanager
def serving(words: Sequence[str], env: Mapping[str, str], log: Path) -> Iterator[int]:
    """A web server on a socket that is opened here; `{fd}` in `words` is its number. Its port, once it answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener, log.open("ab") as output:
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        port, number = listener.getsockname()[1], listener.fileno()
        process = subprocess.Popen(
            [word.format(fd=number) for word in words],
            cwd=ROOT,
            env=dict(env),
            pass_fds=(number,),
            stdout=output,
            stderr=output,
        )
        try:
            _wait(port, process, log)
            yield port
        finally:
            process.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(15)
            process.kill()


def _wait(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until and process.poll() is None:
        with contextlib.suppress(OSError, http.client.HTTPException):
            Browser(port).get("/")
            return
        time.sleep(0.2)
    raise SystemExit(f"the web server did not start, see {log}:\n{log.read_text()[-2000:]}")


@dataclass
class Answer:
    """What came back, and how many seconds it took."""

    status: int
    text: str
    seconds: float
    location: str


@dataclass
class Browser:
    """One connection that is kept open, cookies, and the token of the last form: what a person's browser has."""

    port: int
    cookies: dict[str, str] = field(default_factory=dict)
    token: str = ""
    connection: http.client.HTTPConnection | None = None

    def get(self, path: str) -> Answer:
        """Fetch a page."""
        return self._ask("GET", path, None)

    def post(self, path: str, form: Mapping[str, Any]) -> Answer:
        """Send a form, with the token of the last page."""
        return self._ask("POST", path, urlencode({**form, "csrfmiddlewaretoken": self.token}))

    def sign_in(self, path: str, name: str, password: str) -> None:
        """By the form at `path`."""
        self.get(path)
        done = self.post(path, {"username": name, "password": password})
        if done.status != 302:
            raise SystemExit(f"signing in at {path} answered {done.status}: {done.text[:500]}")

    def _ask(self, verb: str, path: str, body: str | None) -> Answer:
        headers = {"Host": f"localhost:{self.port}", "Accept": "text/html,*/*"}
        if self.cookies:
            headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        if body is not None:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        if self.connection is None:
            self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
            self.connection.connect()
            self.connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        began = time.perf_counter()
        try:
            self.connection.request(verb, path, body, headers)
            answer = self.connection.getresponse()
            data = answer.read()
        except (OSError, http.client.HTTPException):
            self.connection = None
            raise
        took = time.perf_counter() - began
        self._remember(answer)
        text = data.decode("utf-8", "replace")
        found = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', text)
        self.token = found[1] if found else self.token
        return Answer(answer.status, text, took, answer.getheader("Location", "") or "")

    def _remember(self, answer: http.client.HTTPResponse) -> None:
        for header in answer.headers.get_all("Set-Cookie") or []:
            name, _, value = header.partition(";")[0].partition("=")
            self.cookies[name.strip()] = value


def child(words: Sequence[str], env: Mapping[str, str]) -> Any:
    """Run a program of the bench; the last line that it prints is JSON."""
    done = subprocess.run([*words], cwd=ROOT, env=dict(env), stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(words)} ended with {done.returncode}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def say(text: str) -> None:
    """A line of progress, beside the figures."""
    print(text, file=sys.stderr, flush=True)
