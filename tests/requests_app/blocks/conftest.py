"""A ticket of the team, and a block on it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from portal.accounts.models import Team, User
from portal.kernel.clock import now
from requests_app.blocks.services import BlockClaim, open_block
from requests_app.tickets.models import Ticket
from tests.builders import a_catalogue, a_cluster_ask, a_quota, some_nodes


def a_claim(**more: Any) -> BlockClaim:
    facts = {"since": now() - timedelta(hours=10), "people": 2, "idle_gpus": 64, "what": "The share is gone."}
    return BlockClaim(**{**facts, **more})


@pytest.fixture
def ticket(team: Team, member: User) -> Ticket:
    """Filed, and not blocked."""
    a_catalogue()
    some_nodes(4)
    a_quota(team)
    return a_cluster_ask(team, member)


@pytest.fixture
def blocked(ticket: Ticket, member: User) -> Ticket:
    """Blocked for ten hours: two people, 64 GPUs."""
    open_block(ticket=ticket, claim=a_claim(), by=member)
    return ticket
