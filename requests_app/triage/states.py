"""Where can a bulk action stand? Its rows are frozen first; then it runs, is done, or is stopped."""

from __future__ import annotations

from enum import StrEnum

from portal.kernel.transitions import Machine


class BulkState(StrEnum):
    """Where a bulk action stands."""

    FROZEN = "frozen"
    RUNNING = "running"
    DONE = "done"
    CANCELLED = "cancelled"


class BulkAction(StrEnum):
    """What moves a bulk action."""

    BEGIN = "begin"
    FINISH = "finish"
    CANCEL = "cancel"


_S, _A = BulkState, BulkAction

MACHINE: Machine[BulkState, BulkAction] = Machine(
    name="bulk action",
    initial=_S.FROZEN,
    table={
        (_S.FROZEN, _A.BEGIN): _S.RUNNING,
        (_S.FROZEN, _A.CANCEL): _S.CANCELLED,
        (_S.RUNNING, _A.FINISH): _S.DONE,
        (_S.RUNNING, _A.CANCEL): _S.CANCELLED,
    },
)
