"""How are many open pages served at once? By coroutines that wait; a few threads ask the database, none belongs to a page.

Django's own way would hold a thread and a connection for every open page, so the address of the stream is answered here,
before Django, with Django's sessions and users.
"""

from __future__ import annotations

import asyncio
import io
import logging
import re
import time
from collections.abc import Awaitable, Callable, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from django.contrib.auth import get_user
from django.contrib.sessions.middleware import SessionMiddleware
from django.core.exceptions import DisallowedHost
from django.core.handlers.asgi import ASGIRequest
from django.db import close_old_connections
from django.http import HttpResponse

from portal.accounts.models import User
from portal.kernel.errors import NotFound, PortalError
from provisioning.jobs import stream
from provisioning.jobs.listening import Listener

logger = logging.getLogger(__name__)

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]
T = TypeVar("T")

ADDRESS = re.compile(r"/jobs/(J-[1-9][0-9]{0,17})/stream")
THREADS = 4
APART = 0.2
"""Seconds between two messages: at most five a second, what comes meanwhile is merged."""
BEAT_EVERY = 15.0
LOOK_EVERY = 5.0
REPLAY_LOOK = 0.25
LONGEST = 1800.0


class StreamServer:
    """Answers the stream's address and hands everything else on."""

    def __init__(self, application: Application) -> None:
        self._application = application
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="streams")
        self._listener = Listener()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        found = ADDRESS.fullmatch(scope.get("path", "")) if scope["type"] == "http" else None
        if found is None or scope["method"] != "GET":
            await self._application(scope, receive, send)
            return
        try:
            user, place = await self._ask(_begin, scope, found[1])
        except DisallowedHost:
            await _refuse(send, 400)
            return
        except PortalError as problem:
            await _refuse(send, problem.status)
            return
        headers = [(b"content-type", f"{stream.CONTENT_TYPE}; charset=utf-8".encode())]
        headers += [(name.lower().encode(), value.encode()) for name, value in stream.HEADERS.items()]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        gone = asyncio.ensure_future(_until_gone(receive))
        try:
            await self._follow(scope, user, place, send, gone)
        except Exception as problem:  # noqa: BLE001 - whatever it is, the page comes back by itself and goes on where it was
            logger.warning("a stream of %s broke off: %s", found[1], problem)
        finally:
            gone.cancel()
        if not gone.done() or gone.cancelled():
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _follow(
        self, scope: Scope, user: User, place: stream.Place, send: Send, gone: asyncio.Future[None]
    ) -> None:
        await _say(send, stream.hello())
        begun = said = time.monotonic()
        with self._listener.of(int(place.ref[2:])) as heard:
            while not gone.done() and time.monotonic() - begun < LONGEST:
                heard.clear()
                try:
                    user = await self._ask(_still_there, scope)
                    news = await self._ask(stream.news, user, place)
                except PortalError:
                    return  # it isn't theirs to see any more
                place = news.place
                at = time.monotonic()
                if news.text or at - said >= BEAT_EVERY:
                    await _say(send, news.text or stream.BEAT)
                    said = at
                if news.ended:
                    return
                await asyncio.sleep(APART)
                if not news.more:
                    await _first(gone, heard.wait(), REPLAY_LOOK if place.speed else LOOK_EVERY)

    async def _ask(self, question: Callable[..., T], *told: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, _asked, question, told)


def _asked(question: Callable[..., T], told: tuple[Any, ...]) -> T:
    close_old_connections()
    try:
        return question(*told)
    finally:
        close_old_connections()


def _begin(scope: Scope, ref: str) -> tuple[User, stream.Place]:
    request = ASGIRequest(dict(scope), io.BytesIO())
    request.get_host()
    user = _still_there(scope)
    told = {name: str(request.GET[name]) for name in request.GET}
    return user, stream.begin(user, ref, told, request.headers.get("Last-Event-ID", ""))


def _still_there(scope: Scope) -> User:
    """Who asks, by the session, read anew: one that was ended sees nothing more."""
    request = ASGIRequest(dict(scope), io.BytesIO())
    SessionMiddleware(lambda _: HttpResponse()).process_request(request)
    user = get_user(request)
    if not isinstance(user, User) or not user.is_active:
        raise NotFound("Sign in first.")
    return user


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        continue


async def _first(gone: asyncio.Future[None], heard: Awaitable[Any], seconds: float) -> None:
    waiting = asyncio.ensure_future(heard)
    try:
        await asyncio.wait({gone, waiting}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiting.cancel()


async def _say(send: Send, text: str) -> None:
    await send({"type": "http.response.body", "body": text.encode(), "more_body": True})


async def _refuse(send: Send, status: int) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"cache-control", b"no-store")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": b"There is nothing to follow here.\n"})
