"""Comments, files and following by API: the same services, the same walls."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from portal.accounts.models import User
from portal.accounts.services import issue_token
from requests_app.conversation.services import comment
from requests_app.tickets.models import Comment, Ticket
from tests.reading import ReadingClient
from tests.requests_app.tickets.conftest import an_unblock

pytestmark = pytest.mark.django_db
JSON = "application/json"


@pytest.fixture(autouse=True)
def own_folder(settings: Any, tmp_path: Path) -> None:
    settings.ATTACHMENTS_DIR = tmp_path / "files"


@pytest.fixture
def client() -> ReadingClient:
    return ReadingClient()


def signed(person: User, *scopes: str) -> dict[str, str]:
    _, raw = issue_token(name="x", scopes=list(scopes or ("requests:read", "requests:write")), by=person)
    return {"Authorization": f"Bearer {raw}"}


def url(ticket: Ticket, rest: str) -> str:
    return f"/api/v1/tickets/{ticket.ref}/{rest}"


def test_client_says_reads_and_edits(client: ReadingClient, ticket: Ticket, member: User, lead: User) -> None:
    headers = signed(member)
    body = {"body": "Take **them**.", "token": "one"}
    made = client.post(url(ticket, "comments"), body, JSON, headers=headers)
    assert made.status_code == 201
    again = client.post(url(ticket, "comments"), body, JSON, headers=headers).json()
    assert again["id"] == made.json()["id"]
    one = url(ticket, f"comments/{again['id']}")
    edited = client.patch(one, {"version": 1, "body": "Take two."}, JSON, headers=headers).json()
    assert (edited["body"], edited["version"]) == ("Take two.", 2)
    stale = client.patch(one, {"version": 1, "body": "Take three."}, JSON, headers=headers)
    assert stale.status_code == 409
    assert stale.json()["data"]["now"] == "Take two."
    assert stale.json()["data"]["yours"] == "Take three."
    other = client.patch(one, {"version": 2, "body": "Mine."}, JSON, headers=signed(lead))
    assert other.status_code == 403
    rows = client.get(url(ticket, "comments"), headers=headers).json()["results"]
    assert [row["body"] for row in rows] == ["Take two."]


def test_team_reads_no_notes(client: ReadingClient, ticket: Ticket, member: User, triager: User) -> None:
    note = comment(ticket=ticket, body="Among us.", internal=True, by=triager)
    headers = signed(member)
    assert client.get(url(ticket, "comments"), headers=headers).json()["results"] == []
    assert client.get(url(ticket, f"comments/{note.pk}"), headers=headers).status_code == 404
    refused = client.post(url(ticket, "comments"), {"body": "x", "internal": True}, JSON, headers=headers)
    assert refused.status_code == 403


@pytest.mark.parametrize("verb", ["get", "patch", "delete", "post"])
def test_things_of_another_ticket_are_not_found_through_ones_own(
    client: ReadingClient, ticket: Ticket, member: User, stranger: User, verb: str
) -> None:
    foreign = an_unblock(stranger.teams().get(), stranger)
    said = comment(ticket=foreign, body="Theirs.", files=[SimpleUploadedFile("a.txt", b"x")], by=stranger)
    file = said.attachments.get()
    headers = signed(member)
    for rest in (f"comments/{said.pk}", f"attachments/{file.public_id}"):
        answer = getattr(client, verb)(
            url(ticket, rest), {"version": 1, "body": "x"}, content_type=JSON, headers=headers
        )
        assert answer.status_code in (404, 405)
    assert Comment.objects.get().body == "Theirs."
    file.refresh_from_db()
    assert file.removed_at is None


def test_client_adds_reads_and_removes_files(
    client: ReadingClient, ticket: Ticket, member: User, lead: User
) -> None:
    headers = signed(member)
    sent = client.post(
        url(ticket, "attachments"), {"files": [SimpleUploadedFile("a.txt", b"hello")]}, headers=headers
    )
    assert sent.status_code == 201
    (made,) = sent.json()
    one = url(ticket, f"attachments/{made['id']}")
    got = client.get(one, headers=headers)
    assert got.whole == b"hello"
    assert got["Content-Disposition"].startswith("attachment")
    assert got["Content-Security-Policy"] == "sandbox; default-src 'none'"
    assert client.delete(one, headers=signed(lead)).status_code == 403
    assert client.delete(one, headers=headers).status_code == 204
    assert client.get(one, headers=headers).status_code == 404
    assert client.get(url(ticket, "attachments"), headers=headers).json()["results"] == []


def test_files_go_to_a_comment_of_ones_own_alone(
    client: ReadingClient, ticket: Ticket, member: User, triager: User
) -> None:
    theirs = comment(ticket=ticket, body="Theirs.", by=triager)
    mine = comment(ticket=ticket, body="Mine.", by=member)
    headers = signed(member)

    def put(number: object) -> int:
        body = {"files": [SimpleUploadedFile("a.txt", b"x")]}
        return client.post(url(ticket, f"attachments?comment={number}"), body, headers=headers).status_code

    assert [put(mine.pk), put(theirs.pk), put("x"), put(999999)] == [201, 422, 422, 404]
    nothing = client.post(url(ticket, "attachments"), {"files": []}, headers=headers)
    assert nothing.status_code == 422


def test_client_follows(client: ReadingClient, ticket: Ticket, member: User) -> None:
    headers = signed(member)
    assert client.get(url(ticket, "watch"), headers=headers).json() == {"follows": False}
    assert client.post(url(ticket, "watch"), {"follows": True}, JSON, headers=headers).status_code == 200
    assert client.get(url(ticket, "watch"), headers=headers).json() == {"follows": True}


def test_token_that_only_reads_says_nothing(client: ReadingClient, ticket: Ticket, member: User) -> None:
    headers = signed(member, "requests:read")
    assert client.post(url(ticket, "comments"), {"body": "x"}, JSON, headers=headers).status_code == 403
    assert client.post(url(ticket, "watch"), {"follows": True}, JSON, headers=headers).status_code == 403
