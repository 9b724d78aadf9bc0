"""A person may overrule the rule, with a reason, for a while, and in sight of everybody."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import pytest

from portal.accounts.models import User
from portal.kernel.clock import now
from portal.kernel.errors import Conflict, Invalid, LostRace, NotAllowed, Refused
from portal.ledger.dispatch import deliver_all
from portal.ledger.models import Event
from requests_app.priority import overrides
from requests_app.priority.models import Expedite, Pin
from requests_app.priority.queries import expedited, override_rate
from requests_app.tickets.models import Ticket
from requests_app.tickets.services import withdraw_ticket
from tests.requests_app.priority.conftest import fresh, many

pytestmark = pytest.mark.django_db

HOUR = 3600


def pin(ticket: Ticket, by: User, hours: float = 48, reason: str = "The launch is tomorrow.") -> Ticket:
    overrides.pin_ticket(ticket=ticket, version=ticket.version, hours=hours, reason=reason, by=by)
    return fresh(ticket)


def test_pin_moves_by_its_hours_and_stands_as_a_bar(ticket: Ticket, triager: User) -> None:
    before = ticket.rank_key or 0
    pinned = pin(ticket, triager)
    assert before - (pinned.rank_key or 0) == 48 * HOUR
    bars = {bar["name"]: bar["seconds"] for bar in pinned.rank_explanation["bars"]}
    assert bars["pin"] == 48 * HOUR
    assert sum(bars.values()) == pinned.rank_explanation["head_start"]
    assert Event.objects.get(name="rank.pinned", subject=ticket.ref).payload["reason"]


def test_pin_ends_by_itself_after_seven_days(ticket: Ticket, triager: User) -> None:
    before = ticket.rank_key
    pin(ticket, triager)
    assert overrides.end_due_pins() == 0
    Pin.objects.update(expires_at=now() - timedelta(seconds=1))
    assert (overrides.end_due_pins(), overrides.end_due_pins()) == (1, 0)
    assert fresh(ticket).rank_key == before
    assert Event.objects.filter(name="rank.unpinned").count() == 1


def test_new_pin_replaces_the_old_one(ticket: Ticket, triager: User) -> None:
    before = ticket.rank_key or 0
    pinned = pin(pin(ticket, triager), triager, hours=-5)
    assert before - (pinned.rank_key or 0) == -5 * HOUR
    assert Pin.objects.filter(ended_at=None).count() == 1


@pytest.mark.parametrize(("hours", "reason"), [(0, "why"), (721, "why"), (float("nan"), "why"), (5, " ")])
def test_pin_needs_hours_and_a_reason(ticket: Ticket, triager: User, hours: float, reason: str) -> None:
    with pytest.raises(Invalid):
        pin(ticket, triager, hours=hours, reason=reason)


def test_team_and_operators_overrule_nothing(ticket: Ticket, lead: User, operator: User) -> None:
    for person in (lead, operator):
        with pytest.raises(NotAllowed):
            pin(ticket, person)
        with pytest.raises(NotAllowed):
            overrides.set_effort(ticket=ticket, version=ticket.version, hours=Decimal(1), by=person)
        with pytest.raises(NotAllowed):
            overrides.expedite_ticket(ticket=ticket, version=ticket.version, reason="now", by=person)


def test_who_saw_an_older_version_overrules_nothing(ticket: Ticket, triager: User) -> None:
    with pytest.raises(LostRace):
        overrides.pin_ticket(ticket=ticket, version=ticket.version - 1, hours=5, reason="why", by=triager)
    assert not Pin.objects.exists()


def test_pins_count_in_the_override_rate(ticket: Ticket, triager: User) -> None:
    many(ticket, 3)
    pin(pin(ticket, triager), triager)
    assert override_rate() == 0.25


def test_half_the_effort_is_a_day_earlier_and_silence_goes_back(ticket: Ticket, triager: User) -> None:
    offered = float(ticket.offering_version.effort_hours)
    Ticket.objects.filter(pk=ticket.pk).update(blocked_people=0)
    quick = overrides.set_effort(ticket=ticket, version=ticket.version, hours=Decimal("0.25"), by=triager)
    assert fresh(quick).rank_facts["effort_hours"] == 0.25
    overrides.set_effort(ticket=quick, version=quick.version, hours=None, by=triager)
    assert fresh(ticket).rank_facts["effort_hours"] == offered


@pytest.mark.parametrize("hours", [Decimal(0), Decimal("0.2"), Decimal(81)])
def test_effort_has_limits(ticket: Ticket, triager: User, hours: Decimal) -> None:
    with pytest.raises(Invalid):
        overrides.set_effort(ticket=ticket, version=ticket.version, hours=hours, by=triager)


def expedite(ticket: Ticket, by: User) -> Expedite:
    return overrides.expedite_ticket(
        ticket=ticket, version=fresh(ticket).version, reason="Fleet incident.", by=by
    )


def test_expedite_lane_is_a_list_and_never_a_score(ticket: Ticket, triager: User) -> None:
    expedite(ticket, triager)
    assert list(expedited()) == [ticket]
    assert fresh(ticket).rank_key == ticket.rank_key
    with pytest.raises(Conflict):
        expedite(fresh(ticket), triager)


def test_lane_has_two_places_and_says_who_has_them(ticket: Ticket, triager: User) -> None:
    one, two = many(ticket, 2)
    expedite(one, triager)
    expedite(two, triager)
    with pytest.raises(Refused) as refused:
        expedite(ticket, triager)
    assert refused.value.code == "expedite-lane-full"
    assert refused.value.data["tickets"] == [two.ref, one.ref]
    assert fresh(ticket).expedited_at is None
    overrides.unexpedite_ticket(ticket=one, by=triager)
    assert expedite(ticket, triager).slot == 1


def test_what_is_over_gives_its_place_back(ticket: Ticket, triager: User, member: User) -> None:
    expedite(ticket, triager)
    current = fresh(ticket)
    withdraw_ticket(ticket=current, version=current.version, by=member)
    deliver_all()
    assert fresh(ticket).expedited_at is None
    assert not Expedite.objects.filter(ended_at=None).exists()
