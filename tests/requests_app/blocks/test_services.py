"""A block begins with a claim, changes with a trace, and ends by a word or a measurement."""

from __future__ import annotations

from datetime import timedelta

import pytest

from portal.accounts.models import Team, User
from portal.kernel.clock import now
from portal.kernel.errors import Conflict, IllegalMove, Invalid, LostRace, NotAllowed
from portal.ledger.dispatch import deliver_all
from portal.ledger.models import Event
from portal.notify.models import Notification
from requests_app.blocks import services
from requests_app.blocks.models import BlockAmendment, BlockInterval, BlockPerson
from requests_app.blocks.queries import lost_gpu_hours, lost_once, lost_people_hours
from requests_app.tickets.models import Ticket
from requests_app.tickets.services import confirm_relief, withdraw_ticket
from tests.builders import H100, a_cluster_ask
from tests.personas import a_user
from tests.requests_app.blocks.conftest import a_claim

pytestmark = pytest.mark.django_db


def names(ticket: Ticket) -> list[str]:
    return list(Event.objects.filter(subject=ticket.ref).order_by("id").values_list("name", flat=True))


def test_member_says_that_the_team_is_blocked_on_an_open_ticket(ticket: Ticket, member: User) -> None:
    version = ticket.version
    block = services.open_block(ticket=ticket, claim=a_claim(), by=member)
    ticket.refresh_from_db()
    assert (ticket.is_blocking, ticket.blocked_people, ticket.idle_gpus) == (True, 2, 64)
    assert ticket.version == version + 1
    assert block.ended_at is None
    assert "block.opened" in names(ticket)


def test_ticket_has_one_open_block_and_several_over_time(blocked: Ticket, member: User) -> None:
    with pytest.raises(Conflict) as refused:
        services.open_block(ticket=blocked, claim=a_claim(), by=member)
    assert refused.value.code == "already-blocked"
    confirm_relief(ticket=blocked, by=member)
    services.open_block(ticket=blocked, claim=a_claim(since=now()), by=member)
    assert BlockInterval.objects.filter(ticket=blocked).count() == 2


def test_withdrawn_ticket_takes_no_block(ticket: Ticket, member: User) -> None:
    withdraw_ticket(ticket=ticket, version=ticket.version, by=member)
    with pytest.raises(IllegalMove):
        services.open_block(ticket=ticket, claim=a_claim(), by=member)


def test_corrected_facts_keep_what_they_were_and_when_the_ticket_became_ready(
    blocked: Ticket, member: User
) -> None:
    filed = blocked.submitted_at
    services.amend_block(
        ticket=blocked, version=blocked.version, claim=a_claim(idle_gpus=8, people=1), by=member
    )
    blocked.refresh_from_db()
    block = blocked.blocks.get()
    assert (block.idle_gpus, block.people, blocked.idle_gpus) == (8, 1, 8)
    assert BlockAmendment.objects.get().idle_gpus_before == 64
    assert blocked.submitted_at == filed
    assert block.started_at < now() - timedelta(hours=9)


def test_correction_of_an_older_page_is_refused(blocked: Ticket, member: User) -> None:
    with pytest.raises(LostRace):
        services.amend_block(ticket=blocked, version=blocked.version - 1, claim=a_claim(), by=member)
    assert not BlockAmendment.objects.exists()


def test_correction_takes_the_desks_word_back(blocked: Ticket, member: User, triager: User) -> None:
    services.find_blocked(ticket=blocked, by=triager)
    services.amend_block(ticket=blocked, version=blocked.version, claim=a_claim(idle_gpus=512), by=member)
    assert blocked.blocks.get().confirmed_at is None


def test_named_people_are_of_the_team(ticket: Ticket, member: User, stranger: User) -> None:
    with pytest.raises(Invalid) as refused:
        services.open_block(ticket=ticket, claim=a_claim(who=[member.username, stranger.username]), by=member)
    assert set(refused.value.fields) == {"who"}
    assert not BlockInterval.objects.exists()


def test_more_people_named_than_counted_are_counted(ticket: Ticket, member: User, lead: User) -> None:
    who = [member.username, lead.username]
    block = services.open_block(ticket=ticket, claim=a_claim(people=0, who=who), by=member)
    assert block.people == 2
    assert BlockPerson.objects.filter(block=block, confirmed_at=None).count() == 2


def test_resource_is_a_kind_of_node_or_a_cluster_of_the_team(ticket: Ticket, member: User) -> None:
    with pytest.raises(Invalid):
        services.open_block(ticket=ticket, claim=a_claim(resource="my-gpus"), by=member)
    assert services.open_block(ticket=ticket, claim=a_claim(resource=H100), by=member).resource == H100


def test_person_confirms_by_their_own_click_once(blocked: Ticket, lead: User) -> None:
    first = services.confirm_person(ticket=blocked, by=lead)
    again = services.confirm_person(ticket=blocked, by=lead)
    assert first.confirmed_at == again.confirmed_at
    assert names(blocked).count("block.person_spoke") == 1


def test_person_changes_their_mind(blocked: Ticket, lead: User) -> None:
    services.confirm_person(ticket=blocked, half=True, by=lead)
    assert services.confirm_person(ticket=blocked, by=lead).half is False
    assert services.refuse_person(ticket=blocked, by=lead).confirmed_at is None


def test_nobody_confirms_for_another_team(blocked: Ticket, stranger: User, triager: User) -> None:
    for outsider in (stranger, triager):
        with pytest.raises(NotAllowed):
            services.confirm_person(ticket=blocked, by=outsider)


def test_desk_confirms_by_one_click_and_the_team_cannot(blocked: Ticket, triager: User, lead: User) -> None:
    with pytest.raises(NotAllowed):
        services.find_blocked(ticket=blocked, by=lead)
    for _ in range(2):
        services.find_blocked(ticket=blocked, by=triager)
    assert blocked.blocks.get().confirmed_by == triager
    assert names(blocked).count("block.found") == 1


def test_nothing_is_said_of_a_block_that_is_over(blocked: Ticket, member: User) -> None:
    confirm_relief(ticket=blocked, by=member)
    with pytest.raises(IllegalMove):
        services.confirm_person(ticket=blocked, by=member)


def test_hours_lost_follow_the_corrections(blocked: Ticket, member: User) -> None:
    block = blocked.blocks.get()
    at = block.started_at + timedelta(hours=20)
    assert lost_gpu_hours(block, at) == pytest.approx(64 * 20)
    assert lost_people_hours(block, at) == pytest.approx(2 * 20)
    services.amend_block(ticket=blocked, version=blocked.version, claim=a_claim(idle_gpus=0), by=member)
    block = blocked.blocks.get()
    assert lost_gpu_hours(block, at) == pytest.approx(64 * 10, rel=0.01)


def test_hours_stop_when_the_block_ends(blocked: Ticket, member: User) -> None:
    confirm_relief(ticket=blocked, by=member)
    block = blocked.blocks.get()
    assert lost_gpu_hours(block, now() + timedelta(days=9)) == pytest.approx(640, rel=0.01)


def test_same_gpus_told_on_two_tickets_are_lost_once(blocked: Ticket, team: Team, member: User) -> None:
    other = a_cluster_ask(team, member, cluster_name="other")
    services.open_block(ticket=other, claim=a_claim(), by=member)
    both = list(BlockInterval.objects.select_related("ticket"))
    assert lost_once(both, now()) == pytest.approx(640, rel=0.01)


def test_who_left_the_team_is_not_named(ticket: Ticket, member: User) -> None:
    gone = a_user("gone")
    with pytest.raises(Invalid):
        services.open_block(ticket=ticket, claim=a_claim(who=[gone.username]), by=member)


def test_named_people_are_asked_and_each_once(ticket: Ticket, member: User, lead: User) -> None:
    services.open_block(ticket=ticket, claim=a_claim(who=[lead.username]), by=member)
    claim = a_claim(who=[lead.username, member.username])
    services.amend_block(ticket=ticket, version=ticket.version, claim=claim, by=member)
    asked = Event.objects.filter(name="block.people_named").order_by("id")
    assert [event.payload["mentions"] for event in asked] == [[lead.pk], [member.pk]]
    deliver_all()
    assert Notification.objects.filter(recipient=lead, kind="block.people_named").exists()
