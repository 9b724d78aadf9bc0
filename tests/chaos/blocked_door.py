"""How is a broker's port blocked? By a door before it through which nothing comes while it is shut, as behind a firewall that drops all."""

from __future__ import annotations

import socket
import threading
from types import TracebackType
from urllib.parse import urlsplit, urlunsplit

CHUNK = 65_536


class Door:
    """Listens on a port of its own for the broker of `url`. Whoever comes while it is shut is let in, and hears nothing."""

    def __init__(self, url: str) -> None:
        self._behind = urlsplit(url)
        self._open = threading.Event()
        self._open.set()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self._lines: list[socket.socket] = []
        threading.Thread(target=self._welcome, daemon=True).start()

    def __enter__(self) -> Door:
        return self

    def __exit__(self, *_: TracebackType | type[BaseException] | BaseException | None) -> None:
        self._listener.close()
        for line in self._lines:
            line.close()
        self._open.set()

    @property
    def url(self) -> str:
        """The broker's address by way of this door."""
        port = self._listener.getsockname()[1]
        if self._by_file:
            return f"redis://127.0.0.1:{port}/0"
        who, at, _ = self._behind.netloc.rpartition("@")
        return urlunsplit(self._behind._replace(netloc=f"{who}{at}127.0.0.1:{port}"))

    def shut(self) -> None:
        self._open.clear()

    def open(self) -> None:
        self._open.set()

    @property
    def _by_file(self) -> bool:
        return self._behind.scheme.endswith("+socket")

    def _welcome(self) -> None:
        while True:
            try:
                guest, _ = self._listener.accept()
                broker = self._to_broker()
            except OSError:
                return
            self._lines += [guest, broker]
            for source, sink in ((guest, broker), (broker, guest)):
                threading.Thread(target=self._carry, args=(source, sink), daemon=True).start()

    def _to_broker(self) -> socket.socket:
        if self._by_file:
            line = socket.socket(socket.AF_UNIX)
            line.connect(self._behind.path)
            return line
        return socket.create_connection((self._behind.hostname, self._behind.port))

    def _carry(self, source: socket.socket, sink: socket.socket) -> None:
        try:
            while said := source.recv(CHUNK):
                self._open.wait()
                sink.sendall(said)
        except OSError:
            pass
        self._open.wait()  # not even the end of a line gets through
        for line in (source, sink):
            line.close()
