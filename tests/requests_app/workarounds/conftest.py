"""A desk, a far-from-focus ticket, and a calendar whose pages a test turns."""

from __future__ import annotations

import pytest

from portal.accounts.models import Team, User
from requests_app.tickets.models import Ticket
from requests_app.workarounds.models import Workaround
from tests.builders import a_catalogue, a_quota, some_nodes
from tests.requests_app.workarounds.builders import Calendar, a_quota_workaround, far_ticket


@pytest.fixture
def desk(team: Team) -> Team:
    a_catalogue()
    some_nodes(8)
    a_quota(team)
    return team


@pytest.fixture
def calendar(monkeypatch: pytest.MonkeyPatch) -> Calendar:
    """Every module that asks the clock asks this one."""
    made = Calendar()
    monkeypatch.setattr("django.utils.timezone.now", made)
    return made


@pytest.fixture
def ticket(desk: Team, member: User) -> Ticket:
    return far_ticket(desk, member)


@pytest.fixture
def lent(ticket: Ticket, triager: User) -> Workaround:
    """Sixteen GPUs more for twenty days."""
    return a_quota_workaround(ticket, triager)
