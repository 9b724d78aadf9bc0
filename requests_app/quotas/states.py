"""What can become of GPUs that were set aside?"""

from __future__ import annotations

from enum import StrEnum

from portal.kernel.transitions import Machine


class HoldState(StrEnum):
    """Where set-aside GPUs stand."""

    HELD = "held"
    USED = "used"
    FREED = "freed"


class HoldAction(StrEnum):
    """What happens to them."""

    USE = "use"
    FREE = "free"


HOLD = Machine(
    name="hold",
    initial=HoldState.HELD,
    table={
        (HoldState.HELD, HoldAction.USE): HoldState.USED,
        (HoldState.HELD, HoldAction.FREE): HoldState.FREED,
        (HoldState.USED, HoldAction.FREE): HoldState.FREED,
    },
)
