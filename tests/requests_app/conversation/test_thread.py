"""Long stories: both ends are there, the middle comes in steps, nothing is lost, and notes stay among infra people."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client

from portal.accounts.models import User
from portal.kernel.clock import now
from requests_app.conversation.thread import Story
from requests_app.tickets.models import Comment, Ticket
from tests.requests_app.tickets.conftest import FRAGMENT

pytestmark = pytest.mark.django_db


def say(
    ticket: Ticket, by: User, count: int, *, same_moment: bool = False, internal: bool = False, later: int = 0
) -> None:
    at = now() + timedelta(seconds=later)
    Comment.objects.bulk_create(
        Comment(
            ticket=ticket,
            author=by,
            body=f"word {number}",
            internal=internal,
            at=at if same_moment else at + timedelta(seconds=number),
        )
        for number in range(count)
    )


@pytest.mark.parametrize("same_moment", [False, True])
def test_every_entry_of_a_long_story_can_be_read(ticket: Ticket, member: User, same_moment: bool) -> None:
    say(ticket, member, 700, same_moment=same_moment)
    story = Story(ticket, member, ticket.lines.all())
    ends = story.ends()
    seen, after, left = list(ends.head), ends.after, ends.left_out
    while left:
        middle, left = story.between(after, ends.until)
        seen += middle
        after = middle[-1].cursor
    seen += ends.tail
    bodies = [entry.comment for entry in seen if entry.comment]
    assert bodies == [f"word {number}" for number in range(700)]
    assert len({entry.cursor for entry in seen}) == len(seen)


def test_end_of_a_page_only_grows(ticket: Ticket, member: User) -> None:
    say(ticket, member, 100)
    story = Story(ticket, member, ticket.lines.all())
    first = story.ends()
    say(ticket, member, 5, later=1000)
    again = story.ends(first.until)
    assert again.until == first.until
    assert again.after == first.after
    assert len(again.tail) == len(first.tail) + 5


def test_notes_are_not_in_the_teams_story(ticket: Ticket, member: User, triager: User) -> None:
    say(ticket, triager, 3, internal=True)
    assert not [e for e in Story(ticket, member, []).newest() if e.comment]
    assert len([e for e in Story(ticket, triager, []).newest() if e.comment]) == 3


def test_place_of_a_note_is_no_place_for_the_team(ticket: Ticket, member: User, triager: User) -> None:
    say(ticket, triager, 1, internal=True)
    note = Comment.objects.get()
    assert Story(ticket, member, []).between(f"c{note.pk}", f"c{note.pk}") == ([], 0)


@pytest.mark.parametrize("cursor", ["", "x", "c0", "c99999999", "e1 ", "c1'", "c" + "9" * 18])
def test_damaged_places_are_no_places(ticket: Ticket, member: User, cursor: str) -> None:
    assert Story(ticket, member, []).ends(cursor).tail
    assert Story(ticket, member, []).between(cursor, cursor) == ([], 0)


def test_middle_comes_as_a_part(client: Client, ticket: Ticket, member: User) -> None:
    say(ticket, member, 200)
    client.force_login(member)
    page = client.get(f"/tickets/{ticket.ref}/").content.decode()
    assert "Show what lies between" in page
    ends = Story(ticket, member, ticket.lines.all()).ends()
    address = f"/tickets/{ticket.ref}/story?after={ends.after}&until={ends.until}"
    part = client.get(address, headers=FRAGMENT).content.decode()
    assert "<html" not in part
    assert part.count('id="comment-') == 50
    assert "more)" in part
    assert client.get(address).status_code == 302


def test_permalink_opens_the_page_at_an_old_comment(client: Client, ticket: Ticket, member: User) -> None:
    say(ticket, member, 200)
    client.force_login(member)
    old = Comment.objects.order_by("pk")[60]
    answer = client.get(f"/tickets/{ticket.ref}/comments/{old.pk}/", follow=True)
    assert f'id="comment-{old.pk}"' in answer.content.decode()
