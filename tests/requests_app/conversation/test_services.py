"""Comments: said once, edited with their history, heard by whom they name, and no secret stays in them."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest
from django.db import connections

from portal.accounts.models import ApiToken, Membership, Team, User
from portal.accounts.services import issue_token
from portal.kernel.clock import now
from portal.kernel.errors import Conflict, Invalid, LostRace, NotAllowed
from portal.ledger.models import Event
from requests_app.conversation import watching
from requests_app.conversation.drafts import draft_of, save_draft
from requests_app.conversation.models import CommentRevision, Watch
from requests_app.conversation.readers import people_like
from requests_app.conversation.services import comment, edit_comment, hide_comment
from requests_app.tickets.models import Comment, Ticket
from tests.personas import a_team, a_user

pytestmark = pytest.mark.django_db


def last_payload(name: str) -> dict[str, object]:
    return dict(Event.objects.filter(name=name).latest("pk").payload)


def test_same_form_sent_twice_makes_one_comment(ticket: Ticket, member: User) -> None:
    first = comment(ticket=ticket, body="Once.", token="abc", by=member)
    assert comment(ticket=ticket, body="Once.", token="abc", by=member) == first
    assert Comment.objects.count() == 1
    assert Event.objects.filter(name="ticket.commented").count() == 1


def test_same_form_with_another_text_is_told_and_loses_nothing(ticket: Ticket, member: User) -> None:
    comment(ticket=ticket, body="Once.", token="abc", by=member)
    with pytest.raises(Conflict) as told:
        comment(ticket=ticket, body="Other.", token="abc", by=member)
    assert told.value.code == "idempotency-key-reused"


def test_edited_comment_is_still_the_one_that_its_form_sent(ticket: Ticket, member: User) -> None:
    made = comment(ticket=ticket, body="Once.", token="abc", by=member)
    edit_comment(comment=made, version=1, body="Better.", by=member)
    assert comment(ticket=ticket, body="Once.", token="abc", by=member).pk == made.pk


@pytest.mark.django_db(transaction=True)
def test_double_click_makes_one_comment(ticket: Ticket, member: User) -> None:
    start, made = threading.Barrier(6), []

    def send() -> None:
        try:
            start.wait()
            made.append(comment(ticket=ticket, body="Once.", token="abc", by=member).pk)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=send) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 6
    assert len(set(made)) == 1
    assert Comment.objects.count() == 1


def test_people_who_read_it_are_named(ticket: Ticket, member: User, lead: User, triager: User) -> None:
    comment(ticket=ticket, body="@lead and @triager, look", by=member)
    assert last_payload("ticket.commented")["mentions"] == [lead.pk, triager.pk]


def test_requester_is_neither_offered_nor_named_in_a_note(
    ticket: Ticket, member: User, triager: User, operator: User
) -> None:
    comment(ticket=ticket, body="@member is wrong, @operator?", internal=True, by=triager)
    assert last_payload("ticket.commented")["mentions"] == [operator.pk]
    assert not Watch.objects.filter(user=member).exists()
    assert people_like(ticket, "mem", internal=True) == []
    assert people_like(ticket, "mem", internal=False) == [member]


def test_strangers_and_people_who_left_are_no_names(ticket: Ticket, member: User, stranger: User) -> None:
    gone = a_user("gone", team=ticket.team)
    Membership.objects.filter(user=gone).delete()
    comment(ticket=ticket, body="@stranger @gone", by=member)
    assert last_payload("ticket.commented")["mentions"] == []
    assert people_like(ticket, "stranger", internal=False) == []


def test_author_edits_and_the_old_wording_stays(ticket: Ticket, member: User) -> None:
    made = comment(ticket=ticket, body="Frist.", by=member)
    edited = edit_comment(comment=made, version=1, body="First.", by=member)
    assert (edited.body, edited.version) == ("First.", 2)
    assert [row.body for row in CommentRevision.objects.all()] == ["Frist."]
    assert last_payload("ticket.comment_edited")["comment"] == made.pk


def test_stale_edit_says_both_texts(ticket: Ticket, member: User) -> None:
    made = comment(ticket=ticket, body="One.", by=member)
    edit_comment(comment=made, version=1, body="Two.", by=member)
    with pytest.raises(LostRace) as told:
        edit_comment(comment=made, version=1, body="Three.", by=member)
    assert (told.value.data["now"], told.value.data["yours"]) == ("Two.", "Three.")


def test_nobody_else_edits_and_nobody_after_the_window(ticket: Ticket, member: User, lead: User) -> None:
    made = comment(ticket=ticket, body="One.", by=member)
    with pytest.raises(NotAllowed):
        edit_comment(comment=made, version=1, body="Two.", by=lead)
    made.at = now() - timedelta(hours=2)
    with pytest.raises(NotAllowed):
        edit_comment(comment=made, version=1, body="Two.", by=member)


def test_hidden_comment_is_a_note_from_then_on(ticket: Ticket, member: User, triager: User) -> None:
    made = comment(ticket=ticket, body="Too much.", by=triager)
    with pytest.raises(NotAllowed):
        hide_comment(comment=made, by=member)
    hide_comment(comment=made, by=triager)
    hide_comment(comment=made, by=triager)
    assert not Comment.objects.visible_to(member).exists()
    assert Event.objects.filter(name="ticket.comment_hidden").count() == 1


def test_pasted_token_is_ended_and_masked(ticket: Ticket, member: User, lead: User) -> None:
    token, raw = issue_token(name="ci", scopes=["requests:read"], by=lead)
    made = comment(ticket=ticket, body=f"curl -H 'Bearer {raw}'", by=member)
    assert raw not in made.body
    assert token.public_id in made.body
    assert ApiToken.objects.get(pk=token.pk).revoked_at is not None
    assert last_payload("token.leaked")["owner"] == lead.pk


def test_lookalike_ends_nothing(ticket: Ticket, member: User, lead: User) -> None:
    token, raw = issue_token(name="ci", scopes=["requests:read"], by=lead)
    comment(ticket=ticket, body=raw[:-1] + ("a" if raw[-1] != "a" else "b"), by=member)
    assert ApiToken.objects.get(pk=token.pk).revoked_at is None


def test_empty_comment_is_refused(ticket: Ticket, member: User) -> None:
    with pytest.raises(Invalid):
        comment(ticket=ticket, body="  \n ", by=member)


def test_draft_is_kept_until_its_comment_is_sent(ticket: Ticket, member: User) -> None:
    save_draft(ticket=ticket, text="half a thou", token="abc", internal=False, by=member)
    kept = draft_of(ticket, member, internal=False)
    assert kept is not None
    assert kept.text == "half a thou"
    comment(ticket=ticket, body="half a thought", token="abc", by=member)
    assert draft_of(ticket, member, internal=False) is None
    assert save_draft(ticket=ticket, text="half a thou", token="abc", internal=False, by=member) is None
    assert draft_of(ticket, member, internal=False) is None


def test_note_and_comment_have_drafts_of_their_own(ticket: Ticket, triager: User, lead: User) -> None:
    save_draft(ticket=ticket, text="public", token="a", internal=False, by=triager)
    save_draft(ticket=ticket, text="secret", token="b", internal=True, by=triager)
    kept = draft_of(ticket, triager, internal=True)
    assert kept is not None
    assert kept.text == "secret"
    assert draft_of(ticket, lead, internal=False) is None
    with pytest.raises(NotAllowed):
        save_draft(ticket=ticket, text="x", token="c", internal=True, by=lead)


def test_who_takes_part_follows_and_a_mute_stays(ticket: Ticket, member: User, lead: User) -> None:
    watching.unwatch(ticket=ticket, by=lead)
    comment(ticket=ticket, body="@lead?", by=member)
    assert list(watching.watchers_of(ticket)) == [member]
    watching.watch(ticket=ticket, by=lead)
    assert set(watching.watchers_of(ticket)) == {member, lead}


def test_watchers_follow_a_merged_ticket_but_mutes_do_not(
    ticket: Ticket, blocked: Ticket, member: User, lead: User, triager: User
) -> None:
    watching.watch(ticket=ticket, by=lead)
    watching.unwatch(ticket=ticket, by=triager)
    watching.unwatch(ticket=blocked, by=member)
    watching.watch(ticket=ticket, by=member)
    watching.follow(ticket, blocked)
    assert set(watching.watchers_of(blocked)) == {lead}


def test_ticket_of_others_can_not_be_followed(ticket: Ticket, stranger: User) -> None:
    from portal.kernel.errors import NotFound

    with pytest.raises(NotFound):
        watching.watch(ticket=ticket, by=stranger)


def test_team_of_the_same_name_part_is_not_offered(ticket: Ticket, other_team: Team) -> None:
    a_user("memory", team=a_team("audio"))
    assert [each.username for each in people_like(ticket, "mem", internal=False)] == ["member"]
