"""A workaround is given whole or not at all: its relief, its end, its project, and a place below the cap."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connection

from portal.accounts.models import Team, User
from portal.kernel.errors import Conflict, Invalid, LostRace, NotAllowed, PortalError, Refused
from portal.ledger.models import Event
from requests_app.quotas.services import room_for
from requests_app.tickets.models import Ticket
from requests_app.workarounds.models import PillarCap, Workaround
from requests_app.workarounds.projects import Replacement
from requests_app.workarounds.services import end_workaround, grant_workaround
from tests.builders import H100, a_catalogue
from tests.personas import a_team, a_user
from tests.requests_app.workarounds.builders import (
    Calendar,
    a_quota_workaround,
    a_workaround,
    far_ticket,
    terms,
)

pytestmark = pytest.mark.django_db
PILLAR = "developer-productivity"


def test_quota_holds_from_the_same_moment_and_goes_back_when_it_ends(
    lent: Workaround, desk: Team, triager: User
) -> None:
    assert lent.status == "active"
    assert room_for(desk, H100).limit == 80
    end_workaround(workaround=lent, version=lent.version, by=triager)
    assert room_for(desk, H100).limit == 64
    lent.refresh_from_db()
    assert (lent.status, lent.ended_why) == ("ended", "ended")


def test_events_tell_the_whole_of_it_under_the_ticket_s_name(lent: Workaround) -> None:
    names = set(Event.objects.filter(subject=lent.ticket.ref).values_list("name", flat=True))
    assert {"workaround.granted", "workaround.started", "replacement.wanted", "quota.granted"} <= names
    told = Event.objects.get(name="workaround.granted").payload
    assert told["until"] == lent.expires_at.isoformat()


@pytest.mark.parametrize("who", ["member", "lead", "operator"])
def test_only_triagers_give_one(ticket: Ticket, who: str, request: pytest.FixtureRequest) -> None:
    with pytest.raises(NotAllowed):
        a_workaround(ticket, request.getfixturevalue(who))
    assert not Workaround.objects.exists()


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"kind": "magic"}, "kind"),
        ({"summary": " "}, "summary"),
        ({"summary": "two\nlines"}, "summary"),
        ({"closure_test": ""}, "closure_test"),
        ({"days": 0}, "days"),
        ({"days": 93}, "days"),
        ({"interest_hours": -1}, "interest_hours"),
        ({"interest_hours": "NaN"}, "interest_hours"),
        ({"residual": 1.2}, "residual"),
        ({"risk": "high"}, "risk_words"),
        ({"kind": "quota", "params": {"sku": "no-such-sku", "gpus": 8}}, "sku"),
    ],
)
def test_what_can_t_be_is_refused_by_field_and_leaves_nothing(
    ticket: Ticket, triager: User, wrong: dict[str, object], field: str
) -> None:
    with pytest.raises(Invalid) as refusal:
        a_workaround(ticket, triager, **wrong)
    assert field in refusal.value.fields
    assert not Workaround.objects.exists()
    assert not Replacement.objects.exists()


def test_owner_is_somebody_of_infra(ticket: Ticket, triager: User, member: User) -> None:
    with pytest.raises(Invalid) as refusal:
        a_workaround(ticket, triager, owner=member)
    assert "owner" in refusal.value.fields


def test_two_workarounds_of_a_class_share_one_project(desk: Team, member: User, triager: User) -> None:
    first, second = (a_workaround(far_ticket(desk, member), triager) for _ in range(2))
    assert first.replacement == second.replacement
    assert first.replacement is not None
    assert first.replacement.tickets.count() == 2


def test_second_granter_of_the_same_page_is_told(ticket: Ticket, triager: User, admin_user: User) -> None:
    seen = ticket.version
    a_workaround(ticket, triager)
    with pytest.raises(LostRace):
        grant_workaround(ticket=ticket, version=seen, terms=terms(), by=admin_user)
    assert Workaround.objects.count() == 1


def test_closed_ticket_needs_none(ticket: Ticket, triager: User, member: User) -> None:
    from requests_app.tickets.services import withdraw_ticket

    withdraw_ticket(ticket=ticket, version=ticket.version, by=member)
    with pytest.raises(Conflict):
        a_workaround(ticket, triager)


def test_one_planned_for_later_begins_when_its_day_comes(
    calendar: Calendar, ticket: Ticket, triager: User, desk: Team
) -> None:
    from requests_app.workarounds.expiry import sweep

    planned = a_quota_workaround(ticket, triager, starts_at=calendar.at + timedelta(days=2))
    assert planned.status == "planned"
    sweep()
    assert room_for(desk, H100).limit == 64
    calendar.go_on(days=2, minutes=1)
    assert sweep() == 1
    planned.refresh_from_db()
    assert (planned.status, room_for(desk, H100).limit) == ("active", 80)


def test_cap_refuses_with_the_numbers_and_whose_end_would_make_room(
    desk: Team, member: User, triager: User
) -> None:
    PillarCap.objects.create(pillar=PILLAR, most=1)
    first = a_workaround(far_ticket(desk, member), triager)
    with pytest.raises(Refused) as refusal:
        a_workaround(far_ticket(desk, member), triager)
    assert refusal.value.code == "workaround-cap"
    assert (refusal.value.data["open"], refusal.value.data["most"]) == (1, 1)
    assert refusal.value.data["could_end"][0]["workaround"] == first.ref
    assert triager.username in refusal.value.message
    assert Replacement.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_of_many_triagers_at_once_only_as_many_as_fit_pass_the_cap() -> None:
    team = a_team("vision")
    a_catalogue()
    member = a_user("member", team=team)
    triagers = [a_user(staff_role="triager") for _ in range(6)]
    tickets = [far_ticket(team, member) for _ in triagers]
    PillarCap.objects.create(pillar=PILLAR, most=2)

    def give(number: int) -> str:
        try:
            return a_workaround(tickets[number], triagers[number]).status
        except PortalError as problem:
            return problem.code
        finally:
            connection.close()

    with ThreadPoolExecutor(6) as pool:
        said = sorted(pool.map(give, range(6)))
    assert said.count("applying") == 2, said
    assert said.count("workaround-cap") == 4, said
    assert Workaround.objects.still_open().count() == 2
    assert Replacement.objects.count() == 1
