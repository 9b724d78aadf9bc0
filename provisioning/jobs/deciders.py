"""May this person start jobs, stop them and run them again?"""

from __future__ import annotations

from portal.accounts.access import Action
from portal.accounts.models import User
from portal.kernel.errors import NotAllowed

START = "start jobs"
STOP = "stop and relaunch jobs"


def only_operators(by: User | None, to: str = STOP) -> None:
    """NotAllowed for who runs no jobs; `to` is what only operators do, and None is the portal itself."""
    if by is not None and not by.can(Action.RUN_JOBS):
        raise NotAllowed(f"Only operators may {to}.")
