"""A line to PostgreSQL that can be cut: a TCP relay in front of it, for one thread of a test."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from django.db import connection


class Line:
    """Relays to where Django's database is. `cut` drops every connection and refuses new ones until `mend`."""

    def __init__(self, told: dict[str, Any]) -> None:
        self._host, self._port = str(told["HOST"] or "/var/run/postgresql"), int(told["PORT"] or 5432)
        self._door = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._door.getsockname()[1]
        self._up = threading.Event()
        self._up.set()
        self._open: list[socket.socket] = []
        threading.Thread(target=self._answer, daemon=True).start()

    def cut(self) -> None:
        self._up.clear()
        for each in self._open:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        self._open.clear()

    def mend(self) -> None:
        self._up.set()

    def close(self) -> None:
        self.cut()
        self._door.close()

    def _answer(self) -> None:
        while True:
            try:
                inner, _ = self._door.accept()
            except OSError:
                return
            if not self._up.is_set():
                inner.close()
                continue
            threading.Thread(target=self._join, args=(inner, self._reach()), daemon=True).start()

    def _join(self, inner: socket.socket, outer: socket.socket) -> None:
        self._open += [inner, outer]
        with inner, outer:
            back = threading.Thread(target=_relay, args=(outer, inner), daemon=True)
            back.start()
            _relay(inner, outer)
            back.join()

    def _reach(self) -> socket.socket:
        if not self._host.startswith("/"):
            return socket.create_connection((self._host, self._port))
        line = socket.socket(socket.AF_UNIX)
        line.connect(f"{self._host}/.s.PGSQL.{self._port}")
        return line


def _relay(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while chunk := source.recv(65536):
            sink.sendall(chunk)
    for each in (source, sink):
        with suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)


@contextmanager
def line() -> Iterator[Line]:
    """A line, up."""
    made = Line(connection.settings_dict)
    try:
        yield made
    finally:
        made.close()


def use(made: Line) -> None:
    """This thread's connection goes over the line from now on."""
    connection.close()
    connection.settings_dict = {**connection.settings_dict, "HOST": "127.0.0.1", "PORT": made.port}
