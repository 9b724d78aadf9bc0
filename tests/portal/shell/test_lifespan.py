"""A web process keeps connections for its requests, whichever server runs it, and lets go of them when it ends."""

from __future__ import annotations

import asyncio
import http.client
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection, connections

from portal.config import BASE_DIR, Config, environment_for
from portal.shell import lifespan
from portal.shell.lifespan import Lifespan
from tests.addresses import database_url

NAME = "web-under-test"


async def _nobody(scope: Any, receive: Any, send: Any) -> None:
    raise AssertionError("only requests come this far")


def _live(during: Any) -> list[str]:
    """A server that starts the process, does `during`, and ends it; what it was answered."""
    said: list[str] = []

    async def live() -> None:
        inbox: asyncio.Queue[dict[str, str]] = asyncio.Queue()

        async def send(message: Any) -> None:
            said.append(message["type"])
            if message["type"] == "lifespan.startup.complete":
                during()
                await inbox.put({"type": "lifespan.shutdown"})

        await inbox.put({"type": "lifespan.startup"})
        await Lifespan(_nobody)({"type": "lifespan"}, inbox.get, send)

    asyncio.run(live())
    return said


def _pool() -> Any:
    return connections.settings["default"]["OPTIONS"].get("pool")


def test_a_process_shares_connections_from_its_start_to_its_end() -> None:
    seen: list[Any] = []
    said = _live(lambda: seen.append(_pool()))
    assert said == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
    assert seen[0]["max_size"] == Config().web_connections
    assert _pool() is None


def test_with_none_to_keep_every_request_opens_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lifespan, "config", lambda: Config(web_connections=0))
    seen: list[Any] = []
    _live(lambda: seen.append(_pool()))
    assert seen == [None]


@pytest.mark.django_db(transaction=True)
def test_the_server_of_the_production_guide_keeps_its_connections_for_the_next_request() -> None:
    with _uvicorn() as port:
        first = [_ask(port), _held()]
        again = [_ask(port), _ask(port), _held()]
    assert first[0] == again[0] == again[1] == 200
    assert set(first[1]) & set(again[2])
    assert _held() == []


@contextmanager
def _uvicorn() -> Iterator[int]:
    env = environment_for(database_url=f"{database_url()}?application_name={NAME}", log_level="WARNING")
    with socket.create_server(("127.0.0.1", 0)) as door:
        command = [sys.executable, "-m", "uvicorn", "portal.asgi:application", "--fd", str(door.fileno())]
        server = subprocess.Popen(command, env=env, cwd=BASE_DIR, pass_fds=[door.fileno()])
        try:
            yield door.getsockname()[1]
        finally:
            server.terminate()
            server.wait(60)


def _ask(port: int) -> int:
    """The kernel keeps who knocks waiting until the server is up."""
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    client.request("GET", "/healthz")
    status = client.getresponse().status
    client.close()
    return status


def _held() -> list[int]:
    """Processes of the database that the server under test holds, once the last of them has come to rest."""
    while True:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT pid, state FROM pg_stat_activity WHERE application_name = %s ORDER BY pid", [NAME]
            )
            rows = cursor.fetchall()
        if all(state == "idle" for _, state in rows):
            return [pid for pid, _ in rows]
        time.sleep(0.02)
