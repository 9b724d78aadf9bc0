"""What a chat room hears: facts that any member may hear, from a portal that calls only where it may."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portal.accounts.models import User
from portal.kernel.errors import Invalid, NotAllowed
from portal.notify import egress
from portal.notify.chat import set_room
from portal.notify.chat_text import line, quiet
from portal.notify.models import ChatRoom, Notification
from requests_app.conversation.services import comment
from requests_app.tickets.models import Ticket
from requests_app.triage.services import ask_back
from tests.portal.notify.conftest import settled


class Chat(http.server.ThreadingHTTPServer):
    """Keeps what it is told; answers with `status`."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.told: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.status = 200

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.server_address[1]}"


class _Answer(http.server.BaseHTTPRequestHandler):
    server: Chat

    def do_POST(self) -> None:
        self.server.paths.append(self.path)
        self.server.told.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(self.server.status)
        self.send_header("Location", f"http://{self.server.host}/elsewhere")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass


@pytest.fixture
def chat() -> Iterator[Chat]:
    server = Chat()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.django_db
def test_room_hears_facts_and_no_comments(
    chat: Chat, settings: Any, ticket: Ticket, triager: User, go: Callable[[], int]
) -> None:
    settings.CHAT_URL, settings.CHAT_ALLOWED_HOSTS = f"http://{chat.host}/hook", (chat.host,)
    ticket = settled(ticket)
    comment(ticket=ticket, body="Among us.", internal=True, by=triager)
    comment(ticket=ticket, body="For the team.", by=triager)
    ask_back(ticket=ticket, version=ticket.version, question="Which share?", by=triager)
    go()
    texts = [each["text"] for each in chat.told]
    assert any("The desk asks" in text and ticket.ref in text for text in texts)
    assert not any(word in text for text in texts for word in ("Among us", "For the team", "Which share"))


@pytest.mark.django_db
def test_room_of_a_team_hears_of_its_requests_alone(
    chat: Chat, settings: Any, ticket: Ticket, lead: User, member: User, triager: User, go: Callable[[], int]
) -> None:
    settings.CHAT_ALLOWED_HOSTS = (chat.host,)
    with pytest.raises(NotAllowed):
        set_room(team=ticket.team, url=f"http://{chat.host}/team", by=member)
    set_room(team=ticket.team, url=f"http://{chat.host}/team", by=lead)
    ticket = settled(ticket)
    ask_back(ticket=ticket, version=ticket.version, question="Which?", by=triager)
    go()
    assert set(chat.paths) == {"/team"}
    set_room(team=ticket.team, url="", by=lead)
    assert not ChatRoom.objects.exists()


@pytest.mark.django_db
@pytest.mark.parametrize("status", [302, 404, 500])
def test_redirect_and_error_are_failures_and_nobody_is_followed(
    chat: Chat, settings: Any, ticket: Ticket, triager: User, go: Callable[[], int], status: int
) -> None:
    settings.CHAT_URL, settings.CHAT_ALLOWED_HOSTS = f"http://{chat.host}/hook", (chat.host,)
    ticket = settled(ticket)
    chat.status = status
    ask_back(ticket=ticket, version=ticket.version, question="Which?", by=triager)
    go()
    assert "/elsewhere" not in chat.paths
    assert Notification.objects.filter(channel="chat", status="pending", attempts=1).exists()


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org/hook",
        "https://user:pw@example.org/",
        "https://example.org:22/",
        "ftp://example.org/",
        "https:///x",
        "https://exa mple.org/",
        "https://example.org/\r\nX: y",
        "https://[::1",
        "nonsense",
    ],
)
def test_address_that_may_not_be_called_is_refused_as_it_is_written(url: str) -> None:
    assert egress.complaint(url) is not None


@pytest.mark.parametrize(
    "number",
    [
        "127.0.0.1",
        "10.1.2.3",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",  # noqa: S104
        "224.0.0.1",
        "::1",
        "fe80::1%eth0",
        "fd00::1",
        "::ffff:127.0.0.1",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
    ],
)
def test_numbers_inside_are_not_public(number: str) -> None:
    assert not egress.is_global(number)


def test_public_numbers_are() -> None:
    assert egress.is_global("1.1.1.1")
    assert egress.is_global("2606:4700::1111")


@pytest.mark.parametrize("numbers", [["127.0.0.1"], ["1.1.1.1", "10.0.0.1"]])
def test_name_that_leads_inside_is_refused(monkeypatch: pytest.MonkeyPatch, numbers: list[str]) -> None:
    monkeypatch.setattr(
        egress.socket, "getaddrinfo", lambda *_, **__: [(2, 1, 6, "", (number, 443)) for number in numbers]
    )
    with pytest.raises(egress.Refused, match="public internet"):
        egress.resolve("https://inside.example/hook")


def test_call_goes_to_the_number_that_was_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, int]] = []

    def connect(where: tuple[str, int], **_: Any) -> None:
        asked.append(where)
        raise OSError("enough")

    monkeypatch.setattr(egress.socket, "getaddrinfo", lambda *_, **__: [(2, 1, 6, "", ("1.1.1.1", 443))])
    monkeypatch.setattr(egress.socket, "create_connection", connect)
    with pytest.raises(OSError, match="enough"):
        egress.post_json("https://hooks.example/x", {"text": "x"})
    assert asked == [("1.1.1.1", 443)]


@pytest.mark.django_db
def test_lead_is_told_what_is_wrong_with_an_address(ticket: Ticket, lead: User) -> None:
    with pytest.raises(Invalid):
        set_room(team=ticket.team, url="http://169.254.169.254/", by=lead)


@given(st.text(max_size=200))
def test_title_calls_nobody(text: str) -> None:
    said = quiet(text)
    assert not any(each in said for each in "<>\n`")
    assert "@channel" not in quiet(f"{text}@channel")
    assert line(ref="T-1", title=text, said=text, url="https://x").startswith("<https://x|T-1> ")
