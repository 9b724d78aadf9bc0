"""A relay in front of a server, with which a test does to the line what networks do: it is cut, or nothing gets through any more."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress

Address = str | tuple[str, int]
"""A file on which the server listens, or its host and port."""
CHUNK = 65_536


class Relay:
    """Listens on 127.0.0.1:`port` for the server `behind` it.

    `cut` drops every connection and refuses new ones. `silence` lets everybody in and nothing through, as a firewall that
    drops all, or a server that is frozen. Either lasts until `mend`.
    """

    def __init__(self, behind: Address) -> None:
        self._behind = behind
        self._door = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port: int = self._door.getsockname()[1]
        self._up, self._flows = threading.Event(), threading.Event()
        self._open: list[socket.socket] = []
        self.mend()
        threading.Thread(target=self._answer, daemon=True).start()

    def cut(self) -> None:
        self._up.clear()
        for each in self._open:
            _end(each)
        self._open.clear()

    def silence(self) -> None:
        self._flows.clear()

    def mend(self) -> None:
        self._up.set()
        self._flows.set()

    def close(self) -> None:
        self.cut()
        self._door.close()
        self._flows.set()

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
            back = threading.Thread(target=self._carry, args=(outer, inner), daemon=True)
            back.start()
            self._carry(inner, outer)
            back.join()

    def _carry(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while chunk := source.recv(CHUNK):
                self._flows.wait()
                sink.sendall(chunk)
        self._flows.wait()  # not even the end of a line gets through
        for each in (source, sink):
            _end(each)

    def _reach(self) -> socket.socket:
        if isinstance(self._behind, tuple):
            return socket.create_connection(self._behind)
        line = socket.socket(socket.AF_UNIX)
        line.connect(self._behind)
        return line


def _end(line: socket.socket) -> None:
    with suppress(OSError):
        line.shutdown(socket.SHUT_RDWR)
