"""What a team does with its ticket, as member, lead, stranger and triager."""

from __future__ import annotations

from datetime import timedelta

import pytest

from portal.accounts.models import Membership, User
from portal.kernel.clock import now
from portal.kernel.errors import IllegalMove, Invalid, LostRace, NotAllowed
from portal.ledger.models import Event
from requests_app.blocks.models import BlockInterval
from requests_app.tickets import services
from requests_app.tickets.models import Comment, Ticket
from tests.personas import a_user
from tests.requests_app.hostile import HOSTILE

pytestmark = pytest.mark.django_db


def last_event(ticket: Ticket) -> Event:
    event = Event.objects.filter(subject=ticket.ref).order_by("-id").first()
    assert event is not None
    return event


def test_member_answers_and_the_clock_goes_on_from_where_it_stood(waiting: Ticket, lead: User) -> None:
    Ticket.objects.filter(pk=waiting.pk).update(waiting_since=now() - timedelta(hours=2), paused_seconds=60)
    waiting.refresh_from_db()
    services.answer_ticket(ticket=waiting, version=waiting.version, answer=" On nas-1. ", by=lead)
    waiting.refresh_from_db()
    assert waiting.status == "submitted"
    assert waiting.waiting_since is None
    assert 7260 <= waiting.paused_seconds <= 7290
    assert last_event(waiting).payload["answer"] == "On nas-1."


def test_member_cannot_answer_what_was_not_asked(blocked: Ticket, member: User) -> None:
    with pytest.raises(IllegalMove):
        services.answer_ticket(ticket=blocked, version=blocked.version, answer="x", by=member)


def test_who_saw_an_older_version_is_told_and_nothing_happens(waiting: Ticket, member: User) -> None:
    with pytest.raises(LostRace, match="has changed since you opened it"):
        services.answer_ticket(ticket=waiting, version=waiting.version - 1, answer="x", by=member)
    stale = Ticket.objects.get(pk=waiting.pk)
    services.answer_ticket(ticket=waiting, version=waiting.version, answer="On nas-1.", by=member)
    with pytest.raises(LostRace):
        services.answer_ticket(ticket=stale, version=stale.version, answer="On nas-2.", by=member)
    assert Event.objects.filter(name="ticket.answered", subject=waiting.ref).count() == 1


def test_triager_cannot_answer_or_withdraw_for_the_team(waiting: Ticket, triager: User) -> None:
    with pytest.raises(NotAllowed):
        services.answer_ticket(ticket=waiting, version=waiting.version, answer="x", by=triager)
    with pytest.raises(NotAllowed):
        services.withdraw_ticket(ticket=waiting, version=waiting.version, by=triager)


def test_requester_withdraws_with_a_reason_and_the_block_ends(waiting: Ticket, member: User) -> None:
    services.withdraw_ticket(ticket=waiting, version=waiting.version, reason="Found a way.", by=member)
    waiting.refresh_from_db()
    assert (waiting.status, waiting.rank_key, waiting.waiting_since) == ("withdrawn", None, None)
    assert BlockInterval.objects.get(ticket=waiting).end_source == "withdrawn"
    assert Event.objects.get(name="ticket.withdrawn").payload["reason"] == "Found a way."


def test_another_member_cannot_withdraw_but_the_lead_can(blocked: Ticket, lead: User) -> None:
    other = a_user("colleague", team=blocked.team)
    with pytest.raises(NotAllowed):
        services.withdraw_ticket(ticket=blocked, version=blocked.version, by=other)
    services.withdraw_ticket(ticket=blocked, version=blocked.version, by=lead)


def test_requester_who_left_the_team_can_do_nothing(blocked: Ticket, member: User) -> None:
    Membership.objects.filter(user=member).delete()
    assert not Ticket.objects.visible_to(member).exists()
    with pytest.raises(NotAllowed):
        services.comment(ticket=blocked, body="x", by=member)
    with pytest.raises(NotAllowed):
        services.withdraw_ticket(ticket=blocked, version=blocked.version, by=member)


def test_requester_closes_what_was_delivered_and_the_block_goes_on_until_somebody_says_so(
    ready: Ticket, member: User
) -> None:
    services.close_ticket(ticket=ready, version=ready.version, by=member)
    ready.refresh_from_db()
    assert (ready.status, ready.is_blocking) == ("closed", True)
    services.confirm_relief(ticket=ready, by=member)
    ready.refresh_from_db()
    assert (ready.status, ready.is_blocking) == ("closed", False)
    assert BlockInterval.objects.get(ticket=ready).end_source == "confirmed"


def test_requester_confirms_relief_once_however_often(blocked: Ticket, member: User) -> None:
    services.confirm_relief(ticket=blocked, by=member)
    services.confirm_relief(ticket=blocked, by=member)
    blocked.refresh_from_db()
    assert (blocked.is_blocking, blocked.blocked_people, blocked.idle_gpus) == (False, 0, 0)
    event = Event.objects.get(name="ticket.relieved", subject=blocked.ref)
    assert 3 * 3600 <= event.payload["seconds"] < 3 * 3600 + 60
    assert (event.payload["people"], event.payload["idle_gpus"]) == (4, 32)


def test_a_declined_team_can_still_say_that_it_works_again(
    blocked: Ticket, member: User, triager: User
) -> None:
    from requests_app.triage.services import decline_ticket

    decline_ticket(ticket=blocked, version=blocked.version, reason_code="focus", reason="No.", by=triager)
    services.confirm_relief(ticket=Ticket.objects.get(pk=blocked.pk), by=member)
    assert BlockInterval.objects.get(ticket=blocked).ended_by == member


def test_infra_keeps_notes_that_teams_do_not_see(
    blocked: Ticket, member: User, operator: User, stranger: User
) -> None:
    services.comment(ticket=blocked, body="Looks like nas-1.", internal=True, by=operator)
    said = services.comment(ticket=blocked, body="We look.", by=operator)
    assert list(Comment.objects.visible_to(member)) == [said]
    assert Comment.objects.visible_to(operator).count() == 2
    assert not Comment.objects.visible_to(stranger).exists()
    with pytest.raises(NotAllowed):
        services.comment(ticket=blocked, body="x", internal=True, by=member)


@pytest.mark.parametrize("text", ["", "   ", "x" * 5001, "nul\x00", "left\u202eright", "\ud800"])
def test_a_text_that_says_nothing_or_hides_something_is_refused(
    blocked: Ticket, member: User, text: str
) -> None:
    with pytest.raises(Invalid):
        services.comment(ticket=blocked, body=text, by=member)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_refused_or_kept_as_it_is(blocked: Ticket, member: User, text: str) -> None:
    try:
        made = services.comment(ticket=blocked, body=text, by=member)
    except Invalid:
        return
    made.refresh_from_db()
    assert "\x00" not in made.body
    assert made.body in (text, services.text_of("body", text))
