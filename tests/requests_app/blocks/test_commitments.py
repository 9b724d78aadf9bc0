"""What is owed on a day counts when somebody outside the team vouches for it, inside its lead time."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from portal.accounts.models import Membership, User
from portal.kernel.clock import now
from portal.kernel.errors import Invalid, NotAllowed
from portal.ledger.dispatch import deliver_all
from portal.ledger.models import Event
from portal.notify.models import Notification
from requests_app.blocks.commitments import Owed, commit, confirm_commitment, drop_commitment
from requests_app.blocks.models import Commitment
from requests_app.blocks.queries import evidence_for
from requests_app.tickets.models import Ticket

pytestmark = pytest.mark.django_db


def owed(sponsor: User, **more: Any) -> Owed:
    facts = {
        "what": "Launch of the new model",
        "due_on": now().date() + timedelta(days=10),
        "loss_per_day": 500,
        "sponsor": sponsor.username,
    }
    return Owed(**{**facts, **more})


def counts(ticket: Ticket, days: int = 0) -> float:
    found = evidence_for([ticket.pk], now() + timedelta(days=days)).get(ticket.pk)
    return found.dated_loss if found else 0.0


def test_it_counts_with_the_sponsors_yes_and_once(ticket: Ticket, member: User, stranger: User) -> None:
    made = commit(ticket=ticket, owed=owed(stranger), by=member)
    assert counts(ticket) == 0
    for _ in range(2):
        confirm_commitment(commitment=made, by=stranger)
    assert counts(ticket) == 500
    assert Event.objects.filter(name="commitment.confirmed").count() == 1


def test_it_counts_inside_its_lead_time_alone(ticket: Ticket, member: User, stranger: User) -> None:
    made = commit(ticket=ticket, owed=owed(stranger, lead_days=5), by=member)
    confirm_commitment(commitment=made, by=stranger)
    assert [counts(ticket, days) for days in (0, 4, 5, 10, 11)] == [0, 0, 500, 500, 0]


def test_sponsor_stands_outside_the_team(ticket: Ticket, member: User, lead: User) -> None:
    with pytest.raises(Invalid) as refused:
        commit(ticket=ticket, owed=owed(lead), by=member)
    assert set(refused.value.fields) == {"sponsor"}


def test_sponsor_who_joined_the_team_can_not_vouch_any_more(
    ticket: Ticket, member: User, stranger: User
) -> None:
    made = commit(ticket=ticket, owed=owed(stranger), by=member)
    Membership.objects.create(user=stranger, team=ticket.team)
    with pytest.raises(NotAllowed):
        confirm_commitment(commitment=made, by=stranger)


def test_nobody_but_the_sponsor_vouches(ticket: Ticket, member: User, stranger: User, triager: User) -> None:
    made = commit(ticket=ticket, owed=owed(stranger), by=member)
    for other in (member, triager):
        with pytest.raises(NotAllowed):
            confirm_commitment(commitment=made, by=other)


def test_what_is_taken_back_counts_no_more(ticket: Ticket, member: User, stranger: User) -> None:
    made = commit(ticket=ticket, owed=owed(stranger), by=member)
    confirm_commitment(commitment=made, by=stranger)
    drop_commitment(commitment=made, by=member)
    assert counts(ticket) == 0
    with pytest.raises(Invalid):
        confirm_commitment(commitment=made, by=stranger)


def test_sponsor_sees_the_commitment_and_not_the_ticket(ticket: Ticket, member: User, stranger: User) -> None:
    made = commit(ticket=ticket, owed=owed(stranger), by=member)
    assert Commitment.objects.visible_to(stranger).get() == made
    assert not Ticket.objects.visible_to(stranger).exists()


@pytest.mark.parametrize(
    ("more", "name"),
    [
        ({"what": " "}, "what"),
        ({"due_on": now().date() - timedelta(days=2)}, "due_on"),
        ({"lead_days": 91}, "lead_days"),
        ({"loss_per_day": 0}, "loss_per_day"),
    ],
)
def test_what_can_not_be_is_said_beside_its_field(
    ticket: Ticket, member: User, stranger: User, more: dict[str, Any], name: str
) -> None:
    with pytest.raises(Invalid) as refused:
        commit(ticket=ticket, owed=owed(stranger, **more), by=member)
    assert set(refused.value.fields) == {name}


def test_sponsor_hears_of_it_without_seeing_the_ticket(ticket: Ticket, member: User, stranger: User) -> None:
    commit(ticket=ticket, owed=owed(stranger), by=member)
    deliver_all()
    told = Notification.objects.filter(recipient=stranger)
    assert {message.kind for message in told} == {"commitment.sponsor_asked"}
    assert {message.ticket_id for message in told} == {None}
