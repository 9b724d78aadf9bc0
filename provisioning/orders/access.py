"""Who may release a cluster or stop an order? Leads of its team, and operators."""

from __future__ import annotations

from portal.accounts.access import Action
from portal.accounts.models import Team, User
from portal.kernel.errors import NotAllowed


def may_steer(user: User, team: Team | None) -> bool:
    """True for operators, and for leads where there is a team."""
    return user.can(Action.OPERATE_FLEET) or (team is not None and user.leads(team))


def check_steers(user: User, team: Team | None) -> None:
    """NotAllowed with the way out."""
    if not may_steer(user, team):
        raise NotAllowed("Only a lead of the team or an operator may do this; ask one of them.")
