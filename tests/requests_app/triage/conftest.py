"""A desk with a catalogue, a quota and healthy nodes."""

from __future__ import annotations

import pytest

from portal.accounts.models import Team
from tests.builders import a_catalogue, a_quota, some_nodes


@pytest.fixture
def desk(team: Team) -> Team:
    """Eight free nodes and a quota of 64 GPUs for the team."""
    some_nodes(8)
    a_catalogue()
    a_quota(team)
    return team
