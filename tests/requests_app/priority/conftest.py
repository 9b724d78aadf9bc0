"""Tickets of two teams, ranked, and a maker of many."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from portal.accounts.models import Team, User
from portal.kernel.clock import now
from portal.ledger.dispatch import deliver_all
from requests_app.blocks.services import BlockClaim, open_block
from requests_app.priority.policies import active_policy
from requests_app.priority.services import rank_batch
from requests_app.tickets.models import Ticket
from tests.builders import a_catalogue, a_cluster_ask, a_quota, some_nodes


@pytest.fixture
def desk(team: Team, other_team: Team) -> Team:
    """A catalogue, four nodes, and quota for two teams."""
    a_catalogue()
    some_nodes(4)
    a_quota(team)
    a_quota(other_team)
    return team


@pytest.fixture
def ticket(desk: Team, member: User) -> Ticket:
    """A ranked ask of the team, bigger than a policy would approve."""
    made = a_cluster_ask(desk, member, nodes=4)
    deliver_all()
    return Ticket.objects.get(pk=made.pk)


def block(ticket: Ticket, by: User, **more: Any) -> Ticket:
    """Blocked for an hour, and ranked."""
    facts = {"since": now() - timedelta(hours=1), "people": 0, "idle_gpus": 64, "what": "It hangs."}
    open_block(ticket=ticket, claim=BlockClaim(**{**facts, **more}), by=by)
    deliver_all()
    return fresh(ticket)


def fresh(ticket: Ticket) -> Ticket:
    return Ticket.objects.select_related("team", "offering_version__offering").get(pk=ticket.pk)


def many(like: Ticket, count: int, *, team: Team | None = None, **columns: Any) -> list[Ticket]:
    """Copies of a ticket that were filed a second apart, ranked in one go."""
    rows = [
        Ticket(
            status="submitted",
            team=team or like.team,
            requester=like.requester,
            offering_version=like.offering_version,
            title=f"Ask {number}",
            submitted_at=like.submitted_at + timedelta(seconds=number),
            rank_key=0,
            **columns,
        )
        for number in range(1, count + 1)
    ]
    made = Ticket.objects.bulk_create(rows)
    rank_batch([row.pk for row in made], active_policy().constants)
    return list(Ticket.objects.filter(pk__in=[row.pk for row in made]).order_by("pk"))
