"""Files: private, checked at each download, inert whatever they pretend to be, and gone when they are removed."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connections
from django.test import Client

from portal.accounts.models import ApiToken, Membership, User
from portal.accounts.services import issue_token
from portal.kernel.errors import Invalid, NotAllowed
from portal.ledger.models import Event
from requests_app.attachments import storage
from requests_app.attachments.models import Attachment
from requests_app.attachments.services import keep_files, remove_file, sweep
from requests_app.conversation.services import comment
from requests_app.tickets.models import Comment, Ticket
from tests.reading import ReadingClient
from tests.requests_app.tickets.conftest import an_unblock

pytestmark = pytest.mark.django_db

SVG = b'<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>'
HTML = b"<html><script>alert(1)</script>"
POLYGLOT = b"GIF89a/*" + HTML + b"*/=1;alert(1)"


@pytest.fixture(autouse=True)
def own_folder(settings: Any, tmp_path: Path) -> Path:
    settings.ATTACHMENTS_DIR = tmp_path / "files"
    return tmp_path / "files"


def a_file(name: str = "log.txt", content: bytes = b"hello") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, content)


def address(file: Attachment) -> str:
    return f"/tickets/{file.ticket.ref}/files/{file.public_id}"


@pytest.fixture
def client() -> Client:
    return ReadingClient()


def on_disk(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def keep(ticket: Ticket, by: User, **more: Any) -> Attachment:
    return keep_files(ticket=ticket, files=[a_file(**more)], by=by)[0]


def test_file_comes_with_its_comment_and_goes_out_whole(client: Client, ticket: Ticket, member: User) -> None:
    client.force_login(member)
    client.post(
        f"/tickets/{ticket.ref}/comment", {"text": "See.", "files": [a_file(), a_file("b.bin", b"\x00\x01")]}
    )
    page = client.get(f"/tickets/{ticket.ref}/").content.decode()
    assert "log.txt" in page
    file = Attachment.objects.get(name="b.bin")
    assert file.comment == Comment.objects.get()
    answer = client.get(address(file))
    assert answer.whole == b"\x00\x01"
    assert answer["Content-Length"] == "2"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.svg", SVG),
        ("x.html", HTML),
        ("x.png", HTML),
        ("x.gif", POLYGLOT),
        ("x.xml", SVG),
        ("x.pdf", b"%PDF-1.7"),
    ],
)
def test_file_is_inert_whatever_it_pretends(
    client: Client, ticket: Ticket, member: User, name: str, content: bytes
) -> None:
    client.force_login(member)
    answer = client.get(address(keep(ticket, member, name=name, content=content)))
    assert answer["Content-Type"] == "application/octet-stream"
    assert answer["Content-Disposition"].startswith("attachment;")
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Content-Security-Policy"] == "sandbox; default-src 'none'"
    assert answer["Cache-Control"] == "private, no-store"


def test_hostile_name_breaks_no_header(client: Client, ticket: Ticket, member: User) -> None:
    client.force_login(member)
    file = keep(ticket, member, name='a"; filename="evil.html')
    answer = client.get(address(file))
    assert answer["Content-Disposition"].startswith("attachment;")
    assert "\n" not in answer["Content-Disposition"]


def test_who_may_not_see_it_finds_nothing(
    client: Client, ticket: Ticket, member: User, stranger: User, triager: User
) -> None:
    file = keep(ticket, member)
    assert client.get(address(file)).status_code == 302  # to the sign-in
    client.force_login(stranger)
    assert client.get(address(file)).status_code == 404
    assert client.post(address(file) + "/remove").status_code == 404
    client.force_login(triager)
    assert client.get(address(file)).status_code == 200
    Membership.objects.filter(user=member).delete()
    client.force_login(member)
    assert client.get(address(file)).status_code == 404


def test_file_of_a_note_is_for_infra_alone(
    client: Client, ticket: Ticket, member: User, triager: User
) -> None:
    comment(ticket=ticket, body="Among us.", internal=True, files=[a_file()], by=triager)
    file = Attachment.objects.get()
    client.force_login(member)
    assert client.get(address(file)).status_code == 404
    assert "log.txt" not in client.get(f"/tickets/{ticket.ref}/").content.decode()
    client.force_login(triager)
    assert client.get(address(file)).status_code == 200


def test_file_of_another_ticket_is_not_found_through_ones_own(
    client: Client, ticket: Ticket, member: User, stranger: User
) -> None:
    file = keep(an_unblock(stranger.teams().get(), stranger), stranger)
    client.force_login(member)
    assert client.get(f"/tickets/{ticket.ref}/files/{file.public_id}").status_code == 404
    assert client.post(f"/tickets/{ticket.ref}/files/{file.public_id}/remove").status_code == 404
    file.refresh_from_db()
    assert file.removed_at is None


def test_name_on_disk_is_nobodys_to_guess(own_folder: Path, ticket: Ticket, member: User) -> None:
    keep(ticket, member, name="../../secret.txt")
    (path,) = on_disk(own_folder)
    assert "secret" not in str(path.relative_to(own_folder))
    assert path.stat().st_mode & 0o077 == 0


def test_too_big_or_too_many_leave_nothing(
    own_folder: Path, settings: Any, ticket: Ticket, member: User
) -> None:
    settings.ATTACHMENT_MIB = 1
    with pytest.raises(Invalid):
        keep(ticket, member, content=b"x" * (1024 * 1024 + 1))
    with pytest.raises(Invalid):
        keep_files(ticket=ticket, files=[a_file() for _ in range(11)], by=member)
    with pytest.raises(Invalid):
        comment(ticket=ticket, body="See.", files=[a_file(content=b"")], by=member)
    assert on_disk(own_folder) == []
    assert not Attachment.objects.exists()
    assert not Comment.objects.exists()


def test_size_that_lies_is_found_while_writing(own_folder: Path) -> None:
    with pytest.raises(Invalid):
        storage.store(iter([b"x" * 60, b"x" * 60]), most=100)
    assert on_disk(own_folder) == []


def test_removed_file_is_gone_and_the_story_says_so(
    client: Client,
    own_folder: Path,
    ticket: Ticket,
    member: User,
    lead: User,
    django_capture_on_commit_callbacks: Any,
) -> None:
    file = keep(ticket, member)
    with pytest.raises(NotAllowed):
        remove_file(file=file, by=lead)
    with django_capture_on_commit_callbacks(execute=True):
        remove_file(file=file, by=member)
        remove_file(file=file, by=member)
    assert on_disk(own_folder) == []
    assert Event.objects.filter(name="ticket.file_removed").count() == 1
    client.force_login(member)
    assert client.get(address(file)).status_code == 404


def test_sweep_clears_what_a_crash_left_and_nothing_else(
    own_folder: Path, ticket: Ticket, member: User
) -> None:
    kept = keep(ticket, member)
    orphan = storage.store(iter([b"orphan"]), most=100)
    half = storage.path_of("ab" * 16).with_suffix(".part")
    half.parent.mkdir(exist_ok=True)
    half.write_bytes(b"half")
    assert sweep() == 0  # somebody may still be writing
    old = time.time() - 7200
    for path in on_disk(own_folder):
        os.utime(path, (old, old))
    assert sweep() == 2
    assert not storage.path_of(orphan.name).exists()
    assert storage.path_of(kept.stored_as).exists()


@pytest.mark.parametrize("size", [10, 200_000])
def test_token_in_a_file_is_ended(ticket: Ticket, member: User, lead: User, size: int) -> None:
    token, raw = issue_token(name="ci", scopes=["requests:read"], by=lead)
    keep(ticket, member, content=b"x" * size + b" " + raw.encode() + b"\n")
    assert ApiToken.objects.get(pk=token.pk).revoked_at is not None


@pytest.mark.django_db(transaction=True)
def test_two_uploads_do_not_both_take_the_last_room(settings: Any, ticket: Ticket, member: User) -> None:
    settings.ATTACHMENTS_TICKET_MIB = 1
    start, refused = threading.Barrier(4), []

    def send() -> None:
        try:
            start.wait()
            keep(ticket, member, content=b"x" * 700_000)
        except Invalid:
            refused.append(1)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=send) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) == 3
    assert Attachment.objects.count() == 1
