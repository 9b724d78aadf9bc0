"""A portal that really serves by ASGI, for tests of what is sent bit by bit."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn


@contextmanager
def serving() -> Iterator[str]:
    """Its address. Needs a database that other threads can see: `django_db(transaction=True)`."""
    door = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(
        "portal.asgi:application", log_level="warning", lifespan="off", timeout_graceful_shutdown=1
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [door]})
    thread.start()
    while not server.started:
        time.sleep(0.02)
    try:
        yield f"http://127.0.0.1:{door.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(20)
        door.close()
