"""May this person speak for the desk?"""

from __future__ import annotations

from portal.accounts.models import User
from portal.kernel.errors import NotAllowed

DECIDE = "decide tickets"


def only_triagers(by: User, to: str = DECIDE) -> None:
    """NotAllowed for who has no say at the desk; `to` is what only its people do."""
    if not by.is_triager:
        raise NotAllowed(f"Only triagers {to}.")
