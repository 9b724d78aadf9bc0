"""What does a web process do before its first request and after its last? Keeps connections for its requests to share."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from asgiref.sync import sync_to_async
from django.db import DEFAULT_DB_ALIAS, connections

from portal.config import config

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

PATIENCE = 10.0
"""Seconds that a request waits for a connection when all are taken."""


class Lifespan:
    """Answers the server's `lifespan`, which Django can't, and hands every request on.

    A server that knows no lifespan still serves: each of its requests opens a connection of its own, as Django does.
    """

    def __init__(self, application: Application) -> None:
        self._application = application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request, or the life of the process."""
        if scope["type"] != "lifespan":
            await self._application(scope, receive, send)
            return
        await receive()
        share_connections()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await sync_to_async(let_go)()
        await send({"type": "lifespan.shutdown.complete"})


def share_connections() -> None:
    """Let requests share connections: one of its own costs a page a third of its time, since PostgreSQL starts from nothing.

    Asked for when the process serves, not in the settings: a worker forks, and a pool doesn't survive that.
    """
    most = config().web_connections
    settings = connections.settings[DEFAULT_DB_ALIAS]
    if most:
        pool = {"min_size": 1, "max_size": most, "timeout": PATIENCE}
        settings["OPTIONS"] = {**settings.get("OPTIONS", {}), "pool": pool}


def let_go() -> None:
    """Close what was shared, so that the database needn't find out by itself that nobody is there any more."""
    connection = connections[DEFAULT_DB_ALIAS]
    settings = connections.settings[DEFAULT_DB_ALIAS]
    if "pool" in settings.get("OPTIONS", {}):
        connection.close_pool()  # type: ignore[attr-defined]
        settings["OPTIONS"] = {name: value for name, value in settings["OPTIONS"].items() if name != "pool"}
