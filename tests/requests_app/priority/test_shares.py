"""Shares are computed once a day; ranks follow only a leap."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db.backends.postgresql.psycopg_any import DateTimeTZRange

from portal.accounts.models import Team, User
from portal.kernel.clock import now
from portal.ledger.models import Event
from provisioning.fleet.models import Reservation
from requests_app.priority.models import FairShare
from requests_app.priority.shares import refresh_shares
from requests_app.tickets.models import Ticket
from requests_app.triage.services import approve_ticket
from tests.builders import H100, a_cluster_ask
from tests.requests_app.priority.conftest import fresh

pytestmark = pytest.mark.django_db


def use_some(team: Team, member: User, triager: User, days: float = 3) -> None:
    """The team has held three nodes for `days`."""
    ask = a_cluster_ask(team, member, nodes=3, cluster_name="held")
    approve_ticket(ticket=ask, version=ask.version, by=triager)
    held = DateTimeTZRange(now() - timedelta(days=days), None)
    assert Reservation.objects.update(period=held) == 3


def share(team: Team, resource: str = H100) -> FairShare:
    return FairShare.objects.get(team=team, resource=resource)


def test_team_that_had_all_of_a_kind_waits_longer_for_it(
    ticket: Ticket, other_team: Team, member: User, triager: User
) -> None:
    use_some(ticket.team, member, triager)
    refresh_shares()
    mine, theirs = share(ticket.team), share(other_team)
    assert (mine.used, mine.entitled, mine.fairness) == (1, 0.5, 0.5)
    assert (theirs.used, theirs.fairness) == (0, 2)
    assert fresh(ticket).rank_facts["fairness"] == 0.5
    assert Event.objects.filter(name="fairness.moved").count() == 2


def test_second_look_moves_nobody(ticket: Ticket, member: User, triager: User) -> None:
    use_some(ticket.team, member, triager)
    assert refresh_shares() == 2
    assert refresh_shares() == 0
    assert Event.objects.filter(name="fairness.moved").count() == 2


def test_small_move_is_noted_and_re_ranks_nobody(ticket: Ticket, member: User, triager: User) -> None:
    use_some(ticket.team, member, triager)
    refresh_shares()
    FairShare.objects.filter(team=ticket.team, resource=H100).update(fairness=0.55, used=0.9)
    refresh_shares()
    assert (share(ticket.team).used, share(ticket.team).fairness) == (1, 0.55)


def test_where_nobody_had_anything_all_stand_at_one(ticket: Ticket) -> None:
    assert refresh_shares() == 0
    assert share(ticket.team).fairness == 1
