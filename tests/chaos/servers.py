"""Which database and broker does a campaign play on? Pairs of its own, so that it may kill them; or some that it is given."""

from __future__ import annotations

import shutil
import signal
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import psycopg

from portal.embedded import locations, postgres, valkey
from tests import debian_servers

EMBEDDED, DEBIAN, GIVEN = "embedded", "debian", "given"
PAIRS = (EMBEDDED, DEBIAN)


def why_not(pair: str) -> str:
    """Why this pair can't be started here; "" when it can."""
    return debian_servers.why_not() if pair == DEBIAN else ""


@dataclass
class Server:
    """A server of the campaign's own: how it starts, when it answers, and how it is asked to go."""

    start: Callable[[int], subprocess.Popen[bytes]]
    wait: Callable[[subprocess.Popen[bytes]], bool]
    goes_by: signal.Signals
    scattered: bool = False


@dataclass
class Pair:
    """Addresses, and the servers behind them that are the campaign's own."""

    says: str
    database_url: str
    broker_url: str
    database: Server | None = None
    broker: Server | None = None
    prepared: Callable[[], None] = lambda: None
    """To be called once the database answers."""
    _folders: list[Path] = field(default_factory=list)
    _last: Callable[[], None] = lambda: None

    def remove(self) -> None:
        """What is left of them after they have ended."""
        self._last()
        for folder in self._folders:
            shutil.rmtree(folder, ignore_errors=True)


def given(database_url: str, broker_url: str) -> Pair:
    """Somebody else's: nothing happens to them."""
    return Pair("the servers given", database_url, broker_url)


def make(pair: str, home: Path) -> Pair:
    return _debian() if pair == DEBIAN else _embedded(home)


class Startable(Protocol):
    def prepare(self) -> None: ...

    def spawn(self, output: int) -> subprocess.Popen[bytes]: ...


def _starting(server: Startable) -> Callable[[int], subprocess.Popen[bytes]]:
    def start(output: int) -> subprocess.Popen[bytes]:
        server.prepare()
        return server.spawn(output)

    return start


def _embedded(home: Path) -> Pair:
    folder = home / "servers"
    folder.mkdir(mode=0o700)
    database, broker = postgres.Postgres.of(folder, throwaway=True), valkey.Valkey.of(folder)

    def prepared() -> None:
        """A database that is killed must keep what it committed; that it would not in a power cut saves minutes."""
        database.ensure_database()
        with psycopg.connect(database.conninfo(), autocommit=True) as line:
            line.execute(f"ALTER DATABASE {locations.DATABASE} SET synchronous_commit = on")

    return Pair(
        "embedded PostgreSQL and Valkey",
        locations.database_url(folder),
        locations.broker_url(folder),
        Server(
            _starting(database), lambda each: postgres.wait_until_ready(database, each), signal.SIGINT, True
        ),
        Server(_starting(broker), lambda each: valkey.wait_until_ready(broker, each), signal.SIGTERM),
        prepared,
    )


def _debian() -> Pair:
    folder = debian_servers.new_folder()
    database, broker = debian_servers.Postgres(folder), debian_servers.RabbitMq(folder)

    def ready(server: debian_servers.Server) -> Callable[[subprocess.Popen[bytes]], bool]:
        return lambda process: debian_servers.wait_until_ready(server, process)

    return Pair(
        "stand-alone PostgreSQL and RabbitMQ",
        database.url,
        broker.url,
        Server(_starting(database), ready(database), signal.SIGINT, True),
        Server(_starting(broker), ready(broker), signal.SIGTERM),
        _folders=[folder],
        _last=broker.end_names,
    )
