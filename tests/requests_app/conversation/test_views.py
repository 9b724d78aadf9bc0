"""The conversation's pages: who may say, edit, see, follow and name, through the scoped parent alone."""

from __future__ import annotations

import json

import pytest
from django.test import Client

from portal.accounts.models import User
from requests_app.conversation.models import CommentDraft, Watch
from requests_app.conversation.services import comment, edit_comment
from requests_app.tickets.models import Comment, Ticket
from tests.requests_app.tickets.conftest import FRAGMENT, an_unblock

pytestmark = pytest.mark.django_db


def url(ticket: Ticket, rest: str) -> str:
    return f"/tickets/{ticket.ref}/{rest}"


def test_answer_to_a_comment_leaves_the_composer_alone_and_brings_a_new_token(
    client: Client, ticket: Ticket, member: User
) -> None:
    client.force_login(member)
    answer = client.post(url(ticket, "comment"), {"text": "Hello **you**", "token": "t"}, headers=FRAGMENT)
    assert "<strong>you</strong>" in answer.content.decode()
    assert 'id="comment-box"' not in answer.content.decode()
    assert json.loads(answer["HX-Trigger"])["commented"]["token"] not in ("", "t")


def test_double_post_is_one_comment(client: Client, ticket: Ticket, member: User) -> None:
    client.force_login(member)
    for _ in range(2):
        client.post(url(ticket, "comment"), {"text": "Hello", "token": "t"})
    assert Comment.objects.count() == 1


def test_refused_comment_is_kept_as_a_draft(client: Client, ticket: Ticket, member: User) -> None:
    client.force_login(member)
    answer = client.post(url(ticket, "comment"), {"text": "x" * 6000, "token": "t"})
    assert answer.status_code == 422
    assert len(CommentDraft.objects.get().text) == 6000
    assert "x" * 6000 in client.get(url(ticket, "")).content.decode()


def test_half_written_text_comes_back_to_its_writer_alone(
    client: Client, ticket: Ticket, member: User, lead: User
) -> None:
    client.force_login(member)
    client.post(url(ticket, "comment-draft"), {"text": "half a thought", "token": "t"})
    assert "half a thought" in client.get(url(ticket, "")).content.decode()
    client.force_login(lead)
    assert "half a thought" not in client.get(url(ticket, "")).content.decode()


def test_composer_stays_when_the_work_is_swapped(client: Client, ticket: Ticket, member: User) -> None:
    client.force_login(member)
    assert 'id="comment-box" hx-preserve="true"' in client.get(url(ticket, "")).content.decode()


def test_preview_is_safe_and_a_part(client: Client, ticket: Ticket, member: User) -> None:
    client.force_login(member)
    sent = {"text": "**b** <script>alert(1)</script>"}
    part = client.post(url(ticket, "comment-preview"), sent, headers=FRAGMENT).content.decode()
    assert "<strong>b</strong>" in part
    assert "<script>alert" not in part
    assert "<html" not in part
    assert "<html" in client.post(url(ticket, "comment-preview"), sent).content.decode()


def test_only_readers_are_offered(
    client: Client, ticket: Ticket, member: User, lead: User, stranger: User
) -> None:
    client.force_login(member)
    offered = client.get(url(ticket, "people?q=")).json()["people"]
    assert {each["username"] for each in offered} == {"member", "lead"}
    assert client.get(url(ticket, "people?q=stran&internal=1")).json()["people"] == []


def test_edit_page_shows_both_texts_of_a_stale_form(client: Client, ticket: Ticket, member: User) -> None:
    said = comment(ticket=ticket, body="One.", by=member)
    edit_comment(comment=said, version=1, body="Two, from the other tab.", by=member)
    client.force_login(member)
    answer = client.post(url(ticket, f"comments/{said.pk}/edit"), {"text": "Three, mine.", "version": "1"})
    shown = answer.content.decode()
    assert answer.status_code == 409
    assert "Two, from the other tab." in shown
    assert "Three, mine." in shown
    assert Comment.objects.get().body == "Two, from the other tab."
    client.post(url(ticket, f"comments/{said.pk}/edit"), {"text": "Three, mine.", "version": "2"})
    assert Comment.objects.get().body == "Three, mine."
    history = client.get(url(ticket, f"comments/{said.pk}/history")).content.decode()
    assert "One." in history
    assert "Two, from the other tab." in history


@pytest.mark.parametrize("rest", ["", "edit", "history", "hide"])
@pytest.mark.parametrize("verb", ["get", "post"])
def test_comment_of_another_ticket_is_not_found_through_ones_own(
    client: Client, ticket: Ticket, member: User, stranger: User, rest: str, verb: str
) -> None:
    foreign = an_unblock(stranger.teams().get(), stranger)
    said = comment(ticket=foreign, body="Theirs.", by=stranger)
    client.force_login(member)
    answer = getattr(client, verb)(url(ticket, f"comments/{said.pk}/{rest}"), {"text": "x", "version": "1"})
    assert answer.status_code in (404, 405)
    assert Comment.objects.get(pk=said.pk).body == "Theirs."


@pytest.mark.parametrize("rest", ["", "edit", "history"])
def test_note_is_not_found_by_the_team(
    client: Client, ticket: Ticket, member: User, triager: User, rest: str
) -> None:
    note = comment(ticket=ticket, body="Among us.", internal=True, by=triager)
    client.force_login(member)
    assert client.get(url(ticket, f"comments/{note.pk}/{rest}")).status_code == 404


@pytest.mark.parametrize(
    "action", ["comment", "comment-draft", "comment-preview", "watch", "comments/1/hide", "files/x/remove"]
)
def test_nothing_is_done_by_a_link(client: Client, ticket: Ticket, member: User, action: str) -> None:
    client.force_login(member)
    assert client.get(url(ticket, action)).status_code == 405


@pytest.mark.parametrize("action", ["comment", "comment-draft", "comment-preview", "watch"])
def test_stranger_does_nothing(client: Client, ticket: Ticket, stranger: User, action: str) -> None:
    client.force_login(stranger)
    assert client.post(url(ticket, action), {"text": "x"}).status_code == 404
    assert client.get(url(ticket, "people")).status_code == 404
    assert not Comment.objects.exists()
    assert not Watch.objects.exists()


def test_person_follows_and_stops(client: Client, ticket: Ticket, lead: User) -> None:
    client.force_login(lead)
    part = client.post(url(ticket, "watch"), {"follow": "1"}, headers=FRAGMENT).content.decode()
    assert "Stop following" in part
    client.post(url(ticket, "watch"), {"follow": "0"})
    assert Watch.objects.get().muted
