"""Who keeps something for an open ticket can ask which are."""

from __future__ import annotations

import pytest

from portal.accounts.models import Team, User
from requests_app.tickets.holding import open_among
from requests_app.tickets.models import Ticket
from tests.builders import a_catalogue, a_cluster_ask, a_quota
from tests.provisioning.builders import some_nodes

pytestmark = pytest.mark.django_db


def test_only_open_tickets_hold(team: Team, member: User) -> None:
    some_nodes(2)
    a_catalogue()
    a_quota(team, 64)
    ticket = a_cluster_ask(team, member)
    assert open_among([ticket.ref, "T-999999", "recheck", ""]) == {ticket.ref}
    Ticket.objects.filter(pk=ticket.pk).update(status="withdrawn")
    assert open_among([ticket.ref]) == set()
