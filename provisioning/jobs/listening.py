"""Who waits for news of which job? One connection of the process listens for all; without it everybody just looks more often."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from django.db import connection

from provisioning.jobs.telling import CHANNEL

logger = logging.getLogger(__name__)

AGAIN_AFTER = 5.0
_NOT_OF_PSYCOPG = frozenset({"cursor_factory", "context", "client_encoding", "prepare_threshold"})


class Listener:
    """Wakes those who wait. It listens only while somebody does."""

    def __init__(self) -> None:
        self._waiting: dict[int, set[asyncio.Event]] = {}
        self._task: asyncio.Task[None] | None = None

    @contextmanager
    def of(self, job_id: int) -> Iterator[asyncio.Event]:
        """An event that is set whenever the job says something."""
        heard = asyncio.Event()
        self._waiting.setdefault(job_id, set()).add(heard)
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._listen())
        try:
            yield heard
        finally:
            left = self._waiting[job_id]
            left.discard(heard)
            if not left:
                del self._waiting[job_id]
            if not self._waiting and self._task is not None:
                self._task.cancel()
                self._task = None

    async def _listen(self) -> None:
        while True:
            try:
                async with await psycopg.AsyncConnection.connect(autocommit=True, **_where()) as line:
                    await line.execute(f"LISTEN {CHANNEL}")
                    self._wake_all()
                    async for notice in line.notifies():
                        self._wake(notice.payload)
            except (psycopg.Error, OSError) as problem:
                logger.warning("nobody tells open pages of news (%s); they look by themselves", problem)
            await asyncio.sleep(AGAIN_AFTER)

    def _wake(self, payload: str) -> None:
        for heard in self._waiting.get(int(payload), ()) if payload.isdecimal() else ():
            heard.set()

    def _wake_all(self) -> None:
        for several in self._waiting.values():
            for heard in several:
                heard.set()


def _where() -> dict[str, Any]:
    told = connection.get_connection_params()
    return {name: value for name, value in told.items() if name not in _NOT_OF_PSYCOPG}
