"""A real SMTP server on loopback: it speaks the protocol, keeps what it gets, and refuses or fails when it is told to."""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage


@dataclass
class Got:
    """One mail as it arrived."""

    sender: str
    recipients: list[str]
    raw: bytes

    @property
    def mail(self) -> EmailMessage:
        parsed = message_from_bytes(self.raw, policy=policy.default)
        assert isinstance(parsed, EmailMessage)
        return parsed

    @property
    def text(self) -> str:
        body = self.mail.get_body(("plain",))
        assert body is not None
        return str(body.get_content())


@dataclass
class Server:
    """Where it listens, what came, and how it answers: `refuses` recipients with 550, `fails` the next n mails with 451."""

    port: int = 0
    got: list[Got] = field(default_factory=list)
    refuses: set[str] = field(default_factory=set)
    fails: int = 0

    @property
    def url(self) -> str:
        return f"smtp://127.0.0.1:{self.port}?tls=off"

    def to(self, address: str) -> list[Got]:
        return [each for each in self.got if address in each.recipients]


class _Talk(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        state: Server = self.server.state  # type: ignore[attr-defined]
        self.say("220 loopback")
        sender, recipients = "", []
        while line := self.rfile.readline().decode("latin-1").strip():
            word, _, rest = line.partition(" ")
            address = rest.partition("<")[2].partition(">")[0]
            if word.upper() == "MAIL":
                sender, recipients = address, []
                self.say("250 ok")
            elif word.upper() == "RCPT":
                if address in state.refuses:
                    self.say("550 5.1.1 nobody here")
                else:
                    recipients.append(address)
                    self.say("250 ok")
            elif word.upper() == "DATA":
                self.say("354 go on")
                raw = self.data()
                if state.fails:
                    state.fails -= 1
                    self.say("451 4.3.0 later")
                else:
                    state.got.append(Got(sender, recipients, raw))
                    self.say("250 kept")
            elif word.upper() == "QUIT":
                self.say("221 bye")
                return
            else:
                self.say("250 ok")

    def say(self, text: str) -> None:
        self.wfile.write(text.encode() + b"\r\n")

    def data(self) -> bytes:
        lines = []
        while (line := self.rfile.readline()) not in (b".\r\n", b""):
            lines.append(line[1:] if line.startswith(b"..") else line)
        return b"".join(lines)


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False


@contextmanager
def smtp_server() -> Iterator[Server]:
    """Listens on a free port until the block ends."""
    state = Server()
    with _Server(("127.0.0.1", 0), _Talk) as server:
        server.state = state  # type: ignore[attr-defined]
        state.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield state
        finally:
            server.shutdown()
            thread.join()
