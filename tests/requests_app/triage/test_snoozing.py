"""What is snoozed leaves the inbox and comes back by itself: at its time, or when somebody else says something."""

from __future__ import annotations

from datetime import timedelta

import pytest

from portal.accounts.models import Team, User
from portal.kernel.clock import now
from portal.kernel.errors import Invalid
from portal.ledger.dispatch import deliver_all
from portal.ledger.models import Event
from requests_app.tickets.models import Ticket
from requests_app.tickets.services import comment
from requests_app.triage.filters import Filters
from requests_app.triage.inbox import desk as on_desk
from requests_app.triage.models import Snooze
from requests_app.triage.snoozing import LONGEST, snooze_ticket, wake_ticket
from tests.requests_app.triage.desk_builders import an_ask

pytestmark = pytest.mark.django_db


@pytest.fixture
def ask(desk: Team, member: User) -> Ticket:
    return an_ask(desk, member)


def shown(by: User, view: str = "inbox") -> list[int]:
    return [row.pk for row in on_desk(by, Filters(view=view))]


def test_snoozed_until_a_time_leaves_and_comes_back_without_anybody(ask: Ticket, triager: User) -> None:
    snooze_ticket(ticket=ask, version=ask.version, until=now() + timedelta(hours=4), by=triager)
    assert shown(triager) == []
    assert shown(triager, "snoozed") == [ask.pk]
    Ticket.objects.filter(pk=ask.pk).update(snoozed_until=now() - timedelta(seconds=1))
    assert shown(triager) == [ask.pk]


def test_snoozed_until_somebody_speaks_comes_back_when_the_team_does(
    ask: Ticket, triager: User, member: User
) -> None:
    snooze_ticket(ticket=ask, version=ask.version, reason="They look themselves.", by=triager)
    comment(ticket=ask, body="A note to myself.", internal=True, by=triager)
    deliver_all()
    assert shown(triager) == []
    comment(ticket=ask, body="It is back.", by=member)
    deliver_all()
    assert shown(triager) == [ask.pk]
    assert Event.objects.get(name="ticket.woken").payload == {"why": "commented"}
    assert not Snooze.objects.filter(ended_at=None).exists()


def test_what_was_said_before_wakes_nobody(ask: Ticket, triager: User, member: User) -> None:
    comment(ticket=ask, body="Said before, delivered after.", by=member)
    snooze_ticket(ticket=ask, version=ask.version, by=triager)
    deliver_all()
    assert shown(triager) == []


def test_a_time_that_was_set_is_kept_whatever_is_said(ask: Ticket, triager: User, member: User) -> None:
    snooze_ticket(ticket=ask, version=ask.version, until=now() + timedelta(hours=4), by=triager)
    comment(ticket=ask, body="Hello?", by=member)
    deliver_all()
    assert shown(triager) == []


def test_person_brings_it_back_before_its_time(ask: Ticket, triager: User) -> None:
    asleep = snooze_ticket(ticket=ask, version=ask.version, by=triager)
    wake_ticket(ticket=ask, version=asleep.version, by=triager)
    assert shown(triager) == [ask.pk]


@pytest.mark.parametrize("until", [timedelta(seconds=-1), LONGEST + timedelta(days=1)])
def test_moment_that_makes_no_sense_is_refused(ask: Ticket, triager: User, until: timedelta) -> None:
    with pytest.raises(Invalid):
        snooze_ticket(ticket=ask, version=ask.version, until=now() + until, by=triager)


def test_snooze_does_not_touch_the_rank(ask: Ticket, triager: User) -> None:
    before = ask.rank_key
    snooze_ticket(ticket=ask, version=ask.version, by=triager)
    deliver_all()
    ask.refresh_from_db()
    assert ask.rank_key == before
