"""Who may operate the fleet by hand?"""

from __future__ import annotations

from portal.accounts.access import Action
from portal.accounts.models import User
from portal.kernel.errors import NotAllowed


def check_operates(user: User) -> None:
    """NotAllowed for everybody but operators."""
    if not user.can(Action.OPERATE_FLEET):
        raise NotAllowed("Only operators may do this.")
