"""A small real IMAP server on loopback: enough of RFC 3501 for one folder that is read, marked and expunged."""

from __future__ import annotations

import re
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass
class Box:
    """Mails by number; `log` is what clients asked for."""

    port: int = 0
    mails: dict[int, bytes] = field(default_factory=dict)
    deleted: set[int] = field(default_factory=set)
    log: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"imap://user:password@127.0.0.1:{self.port}/INBOX"


class _Talk(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        self.box: Box = self.server.state  # type: ignore[attr-defined]
        self.say(b"* OK loopback")
        while line := self.rfile.readline().decode().strip():
            tag, _, command = line.partition(" ")
            self.box.log.append(command)
            self.answer(command)
            self.say(f"{tag} OK done".encode())
            if command.upper().startswith("LOGOUT"):
                return

    def say(self, line: bytes) -> None:
        self.wfile.write(line + b"\r\n")

    def answer(self, command: str) -> None:
        box, upper = self.box, command.upper()
        if upper.startswith("CAPABILITY"):
            self.say(b"* CAPABILITY IMAP4rev1")
        elif upper.startswith("SELECT"):
            self.say(f"* {len(box.mails)} EXISTS".encode())
        elif upper.startswith("UID SEARCH"):
            numbers = " ".join(str(uid) for uid in box.mails if uid not in box.deleted)
            self.say(f"* SEARCH {numbers}".encode())
        elif upper.startswith("UID FETCH"):
            uid = int(command.split()[2])
            size = int(re.search(r"<0\.(\d+)>", command)[1])  # type: ignore[index]
            raw = box.mails[uid][:size]
            self.say(f"* 1 FETCH (UID {uid} BODY[]<0> {{{len(raw)}}}".encode())
            self.wfile.write(raw + b")\r\n")
        elif upper.startswith("UID STORE"):
            box.deleted.add(int(command.split()[2]))
        elif upper.startswith("EXPUNGE"):
            for uid in box.deleted:
                box.mails.pop(uid, None)


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False


@contextmanager
def imap_server(*mails: bytes) -> Iterator[Box]:
    """Holds these mails until the block ends."""
    box = Box(mails=dict(enumerate(mails, start=11)))
    with _Server(("127.0.0.1", 0), _Talk) as server:
        server.state = box  # type: ignore[attr-defined]
        box.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield box
        finally:
            server.shutdown()
            thread.join()
