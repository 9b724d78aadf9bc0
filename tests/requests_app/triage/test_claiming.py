"""Two people never get one ticket, and nobody waits for anybody."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connection

from portal.accounts.models import Team, User
from portal.kernel.clock import now
from portal.kernel.errors import Invalid, LostRace, NotAllowed
from portal.ledger.models import Event
from requests_app.tickets.models import Ticket
from requests_app.triage.claiming import assign_ticket, claim_next
from tests.personas import a_user
from tests.requests_app.triage.desk_builders import many_asks

CLAIMERS = 8


@pytest.mark.django_db
def test_next_is_the_most_urgent_that_nobody_has(desk: Team, member: User, triager: User) -> None:
    first, second, _ = many_asks(3, desk, member)
    Ticket.objects.filter(pk=first.pk).update(assignee=a_user(staff_role="triager"))
    claimed = claim_next(by=triager)
    assert claimed is not None
    assert (claimed.pk, claimed.assignee) == (second.pk, triager)
    assert Event.objects.get(name="ticket.taken").payload == {"assignee": "triager", "claimed": True}


@pytest.mark.django_db
def test_snoozed_and_unranked_tickets_are_not_handed_out(desk: Team, member: User, triager: User) -> None:
    many_asks(1, desk, member, snoozed_until=now() + timedelta(hours=1))
    many_asks(1, desk, member, rank_key=None)
    assert claim_next(by=triager) is None


@pytest.mark.django_db
def test_operator_claims_nothing(desk: Team, member: User, operator: User) -> None:
    many_asks(1, desk, member)
    with pytest.raises(NotAllowed):
        claim_next(by=operator)


@pytest.mark.django_db
def test_assigning_takes_a_triager_and_the_version_that_was_seen(
    desk: Team, member: User, triager: User, operator: User
) -> None:
    (ask,) = many_asks(1, desk, member)
    other = a_user("second", staff_role="triager")
    with pytest.raises(Invalid):
        assign_ticket(ticket=ask, version=1, to=operator, by=triager)
    given = assign_ticket(ticket=ask, version=1, to=other, by=triager)
    assert (given.assignee, given.version) == (other, 2)
    with pytest.raises(LostRace):
        assign_ticket(ticket=ask, version=1, to=triager, by=triager)
    assert Event.objects.get(name="ticket.assigned").payload == {"assignee": "second", "was": ""}


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("tickets", [1, CLAIMERS])
def test_eight_people_at_once_get_eight_tickets_or_one_gets_the_one(
    desk: Team, member: User, tickets: int
) -> None:
    many_asks(tickets, desk, member)
    people = [a_user(staff_role="triager") for _ in range(CLAIMERS)]

    def claim(person: User) -> int | None:
        try:
            found = claim_next(by=person)
            return found.pk if found else None
        finally:
            connection.close()

    with ThreadPoolExecutor(CLAIMERS) as pool:
        claimed = [number for number in pool.map(claim, people) if number is not None]
    assert len(claimed) == len(set(claimed)) == tickets
    assert Ticket.objects.filter(assignee__isnull=False).count() == tickets
    assert Event.objects.filter(name="ticket.taken").count() == tickets


@pytest.mark.django_db
def test_expedite_lane_is_served_first(desk: Team, member: User, triager: User) -> None:
    many_asks(2, desk, member)
    (urgent,) = many_asks(1, desk, member, rank_key=9_999, expedited_at=now())
    claimed = claim_next(by=triager)
    assert claimed is not None
    assert claimed.pk == urgent.pk
