"""A project that is late moves the tickets that wait for it forward, a week at a time and each week once."""

from __future__ import annotations

from datetime import timedelta
from math import log2

import pytest

from portal.accounts.models import User
from portal.ledger.dispatch import deliver_all
from portal.ledger.models import Event
from requests_app.tickets.models import Ticket
from requests_app.workarounds.expiry import sweep
from requests_app.workarounds.models import Workaround
from requests_app.workarounds.queries import residual_of
from requests_app.workarounds.replacing import Plan, move_replacement
from requests_app.workarounds.services import call_proper
from tests.requests_app.workarounds.builders import Calendar, a_quota_workaround

pytestmark = pytest.mark.django_db
ONE_WEEK = 24 * log2(1.1) * 3600  # seconds: 3.3 hours


@pytest.fixture
def late(calendar: Calendar, ticket: Ticket, triager: User) -> Workaround:
    """Lent for three months; the clock stands at the end of its project's target day."""
    soon = Plan(target_on=calendar.at.date() + timedelta(days=30))
    made = a_quota_workaround(ticket, triager, days=92, plan=soon)
    assert made.replacement is not None
    days = (made.replacement.target_on - calendar.at.date()).days
    calendar.at = calendar.at.replace(hour=23, minute=59)
    calendar.go_on(days=days)
    return made


def ranked(ticket: Ticket) -> int:
    deliver_all()
    ticket.refresh_from_db()
    assert ticket.rank_key is not None
    return ticket.rank_key


def test_each_overdue_week_moves_the_ticket_forward_by_3_3_hours_and_counts_once(
    calendar: Calendar, late: Workaround, ticket: Ticket
) -> None:
    in_time = ranked(ticket)
    assert (sweep(), ranked(ticket)) == (0, in_time)
    for week in (1, 2, 3):
        calendar.go_on(minutes=2)
        sweep()
        assert in_time - ranked(ticket) == pytest.approx(week * ONE_WEEK, abs=3)
        told = Event.objects.filter(name="ticket.ranked").count()
        assert sweep() == 0
        assert Event.objects.filter(name="ticket.ranked").count() == told
        calendar.go_on(days=7, minutes=-2)
    assert residual_of(ticket, calendar.at) == pytest.approx(0.3 * 1.1**3)


def test_dropped_project_goes_on_being_late_and_a_done_one_never_is(
    calendar: Calendar, late: Workaround, ticket: Ticket, triager: User
) -> None:
    calendar.go_on(days=8)
    project = late.replacement
    assert project is not None
    move_replacement(replacement=project, version=1, action="drop", reason="No time.", by=triager)
    assert residual_of(ticket, calendar.at) == pytest.approx(0.3 * 1.1**2)


def test_proper_solution_is_never_late(
    calendar: Calendar, late: Workaround, ticket: Ticket, triager: User
) -> None:
    calendar.go_on(days=8)
    late.refresh_from_db()
    call_proper(workaround=late, version=late.version, because="It is good enough.", by=triager)
    assert residual_of(ticket, calendar.at) == pytest.approx(0.3)


def test_without_a_workaround_all_of_the_loss_remains(ticket: Ticket, calendar: Calendar) -> None:
    assert residual_of(ticket, calendar.at) == 1.0
