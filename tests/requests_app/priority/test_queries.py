"""Places are exact near the front and about right far back; what is next spreads over the teams."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.core.cache import cache

from portal.accounts.models import Team, User
from portal.kernel.clock import now
from requests_app.priority import queries
from requests_app.priority.queries import next_up, place_of
from requests_app.tickets.models import Ticket
from requests_app.tickets.services import withdraw_ticket
from tests.requests_app.priority.conftest import block, fresh, many

pytestmark = pytest.mark.django_db


def test_twelfth_has_eleven_ahead_and_reads_why(ticket: Ticket, member: User) -> None:
    rows = many(ticket, 11)
    block(rows[-1], member)
    place = place_of(fresh(ticket))
    assert place is not None
    assert (place.ahead, place.about, place.reasons) == (1, False, ("1 loses more GPU-hours a day",))
    last = place_of(fresh(rows[-2]))
    assert last is not None
    assert (last.ahead, last.ordinal) == (11, "12th")
    assert last.reasons == ("10 were filed earlier", "1 loses more GPU-hours a day")


def test_ties_are_broken_by_number(ticket: Ticket) -> None:
    twin = many(ticket, 1)[0]
    Ticket.objects.filter(pk=twin.pk).update(rank_key=ticket.rank_key)
    found = place_of(fresh(twin)), place_of(ticket)
    assert [place.ahead for place in found if place] == [1, 0]


def test_ticket_outside_the_queue_has_no_place(ticket: Ticket, member: User) -> None:
    withdraw_ticket(ticket=ticket, version=ticket.version, by=member)
    assert place_of(fresh(ticket)) is None


def test_far_back_the_place_is_about_right(ticket: Ticket, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.clear()
    monkeypatch.setattr(queries, "EXACT_UP_TO", 20)
    rows = many(ticket, 100)
    for number, row in enumerate(rows):
        Ticket.objects.filter(pk=row.pk).update(rank_key=(row.rank_key or 0) + number * 1800)
    place = place_of(fresh(rows[80]))
    assert place is not None
    assert place.about
    assert place.ahead == pytest.approx(81, abs=2)
    assert place.ordinal == "about 100th"


def test_place_costs_the_same_few_queries_whatever_is_ahead(
    ticket: Ticket, django_assert_max_num_queries: object
) -> None:
    rows = many(ticket, 60)
    with django_assert_max_num_queries(2):  # type: ignore[operator]
        place_of(rows[-1])


def test_next_is_spread_over_the_teams(ticket: Ticket, other_team: Team) -> None:
    flood = many(ticket, 5)
    other = many(flood[-1], 1, team=other_team)[0]
    assert [row.pk for row in next_up(3)] == [ticket.pk, other.pk, flood[0].pk]


def test_next_leaves_out_what_somebody_has_or_sleeps_or_is_expedited(
    ticket: Ticket, triager: User, operator: User
) -> None:
    taken, asleep, rushed, free = many(ticket, 4)
    Ticket.objects.filter(pk=ticket.pk).update(assignee=operator)
    Ticket.objects.filter(pk=taken.pk).update(assignee=triager)
    Ticket.objects.filter(pk=asleep.pk).update(snoozed_until=now() + timedelta(hours=1))
    Ticket.objects.filter(pk=rushed.pk).update(expedited_at=now())
    assert [row.pk for row in next_up()] == [free.pk]
    assert [row.pk for row in next_up(by=triager)] == [taken.pk, free.pk]


def test_asleep_until_a_moment_ago_is_awake(ticket: Ticket) -> None:
    Ticket.objects.filter(pk=ticket.pk).update(snoozed_until=now() - timedelta(seconds=1))
    assert next_up() == [ticket]
