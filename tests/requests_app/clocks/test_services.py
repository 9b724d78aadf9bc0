"""Summaries follow what happens; each clock that is due is said once, by its team's own hours."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from portal.accounts.models import Team, User
from portal.kernel.errors import LostRace, NotAllowed
from portal.ledger.dispatch import deliver_all
from portal.ledger.models import Event
from requests_app import events
from requests_app.clocks import changes, services
from requests_app.clocks.figures import metrics
from requests_app.clocks.goals import ClockName
from requests_app.clocks.models import Calendar, ClockSummary
from requests_app.clocks.queries import clocks_of
from requests_app.tickets.models import Ticket
from requests_app.tickets.services import answer_ticket, comment
from requests_app.triage.services import approve_ticket, ask_back
from tests.requests_app.tickets.conftest import an_unblock

pytestmark = pytest.mark.django_db
MONDAY = datetime(2026, 11, 30, 10, tzinfo=UTC)
HOUR = timedelta(hours=1)


class Clock:
    """The one clock of the house, held in hand."""

    def __init__(self) -> None:
        self.at = MONDAY

    def __call__(self) -> datetime:
        return self.at


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    hand = Clock()
    monkeypatch.setattr("django.utils.timezone.now", hand)
    return hand


@pytest.fixture
def ticket(clock: Clock, desk: Team, member: User) -> Ticket:
    return an_unblock(desk, member)


def said(name: str) -> list[str]:
    return [event.payload["clock"] for event in Event.objects.filter(name=name).order_by("id")]


def test_each_clock_is_said_once_however_often_it_is_looked_at(clock: Clock, ticket: Ticket) -> None:
    services.sweep()
    assert said(events.CLOCK_AT_RISK) == []
    clock.at = MONDAY + HOUR * 0.9  # an hour is the goal for a first answer to who is stuck
    services.sweep()
    services.sweep()
    assert said(events.CLOCK_AT_RISK) == ["answer"]
    for hours in (1.5, 2, 3.5, 5, 30):
        clock.at = MONDAY + HOUR * hours
        services.sweep()
    assert sorted(said(events.CLOCK_MISSED)) == ["answer", "decision"]
    assert said(events.CLOCK_AT_RISK) == ["answer", "decision"]


def test_nothing_is_said_while_the_team_sleeps(clock: Clock, desk: Team, member: User) -> None:
    desk.time_zone = "Pacific/Auckland"
    desk.save()
    clock.at = datetime(2026, 11, 30, 3, 30, tzinfo=UTC)  # 16:30 over there
    ticket = an_unblock(desk, member)
    for hour in range(4, 20):  # midnight of UTC is no moment of theirs, nor is their own
        clock.at = datetime(2026, 11, 30, hour, tzinfo=UTC)
        services.sweep()
    assert Event.objects.filter(name=events.CLOCK_MISSED).count() == 0
    clock.at = datetime(2026, 11, 30, 20, 31, tzinfo=UTC)  # 09:31 the next morning
    services.sweep()
    assert said(events.CLOCK_MISSED) == ["answer"]
    reading = clocks_of(ticket).of(ClockName.ANSWER)
    assert reading is not None
    assert reading.due_at == datetime(2026, 11, 30, 20, 30, tzinfo=UTC)


def test_what_was_answered_in_time_is_no_news(clock: Clock, ticket: Ticket, triager: User) -> None:
    clock.at = MONDAY + HOUR * 0.5
    comment(ticket=ticket, body="Looking.", by=triager)
    clock.at = MONDAY + HOUR * 3
    services.sweep()
    assert said(events.CLOCK_MISSED) == []
    assert ClockSummary.objects.get(ticket=ticket).answer_seconds == 1800


def test_notes_and_the_teams_own_words_answer_nothing(
    clock: Clock, ticket: Ticket, triager: User, member: User, lead: User
) -> None:
    comment(ticket=ticket, body="Among us.", internal=True, by=triager)
    comment(ticket=ticket, body="Anybody?", by=member)
    comment(ticket=ticket, body="Me too.", by=lead)
    reading = clocks_of(ticket).of(ClockName.ANSWER)
    assert reading is not None
    assert reading.clock.stopped_at is None


def test_waiting_for_the_team_is_not_infras_time(
    clock: Clock, ticket: Ticket, triager: User, member: User
) -> None:
    clock.at = MONDAY + HOUR
    ticket = ask_back(ticket=ticket, version=ticket.version, question="Which?", by=triager)
    clock.at = MONDAY + HOUR * 5
    reading = clocks_of(ticket).of(ClockName.DECISION)
    assert reading is not None
    assert (reading.elapsed, reading.paused) == (HOUR, "the desk asked the team something")
    ticket = answer_ticket(ticket=ticket, version=ticket.version, answer="That.", by=member)
    clock.at = MONDAY + HOUR * 6
    approve_ticket(ticket=ticket, version=ticket.version, by=triager)
    deliver_all()
    assert ClockSummary.objects.get(ticket=ticket).decision_seconds == 7200


def save(by: User, slug: str = "", version: int = 0, **more: Any) -> Calendar:
    given = {
        "name": "Kathmandu",
        "zone": "Asia/Kathmandu",
        "days": [6, 0, 1, 2, 3],
        "opens": time(10),
        "closes": time(17),
        "holidays": [],
        "teams": ["vision"],
    }
    return changes.save_calendar(slug=slug, version=version, by=by, **{**given, **more})


def test_a_new_calendar_is_counted_from_the_first_day_on(
    clock: Clock, ticket: Ticket, triager: User, admin_user: User
) -> None:
    clock.at = MONDAY + HOUR * 4
    approve_ticket(ticket=ticket, version=ticket.version, by=triager)
    deliver_all()
    assert ClockSummary.objects.get(ticket=ticket).decision_seconds == 4 * 3600
    save(admin_user)  # 10:00 UTC is 15:45 there: an hour and a quarter is left of the day
    services.sweep()
    assert ClockSummary.objects.get(ticket=ticket).decision_seconds == 4500
    assert said(events.CLOCK_MISSED) == []


def test_two_admins_with_one_calendar_lose_neither(admin_user: User, team: Team) -> None:
    row = save(admin_user)
    save(admin_user, row.slug, 1, holidays=[datetime(2026, 12, 25).date()])  # noqa: DTZ001
    with pytest.raises(LostRace) as caught:
        save(admin_user, row.slug, 1, name="Nepal")
    assert caught.value.data["current"]["holidays"] == "2026-12-25"
    assert caught.value.data["version"] == 2


def test_only_admins_change_calendars(triager: User, team: Team) -> None:
    with pytest.raises(NotAllowed):
        save(triager)


def test_a_sweep_asks_the_same_for_few_and_many(clock: Clock, desk: Team, member: User) -> None:
    def queries(count: int) -> int:
        for _ in range(count):
            an_unblock(desk, member)
        ClockSummary.objects.all().delete()
        services.sweep()
        ClockSummary.objects.update(look_at=MONDAY)
        with CaptureQueriesContext(
            connection,
        ) as seen:
            services.sweep()
        return sum(
            1
            for query in seen.captured_queries
            if query["sql"].startswith("SELECT") and "event" in query["sql"]
        )

    assert queries(3) == queries(12)


def test_figures_come_with_their_n(clock: Clock, ticket: Ticket, triager: User) -> None:
    clock.at = MONDAY + HOUR * 2
    approve_ticket(ticket=ticket, version=ticket.version, by=triager)
    deliver_all()
    found = metrics(MONDAY - HOUR, MONDAY + HOUR)
    assert [(each.name, each.filed, each.decision.n, each.decision.p50) for each in found.pillars] == [
        ("developer-productivity", 1, 1, 7200.0)
    ]
    assert found.teams[0].name == "Vision"
    assert found.everything.unblock.n == 0
    assert metrics(MONDAY + HOUR, MONDAY + HOUR * 9).everything.filed == 0
