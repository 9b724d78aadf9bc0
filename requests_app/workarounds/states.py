"""What can become of a workaround, and of the project that replaces it? One pure table each.

A workaround that can't be taken back is `stuck`: its time is over and it is still there, which is worse than either.
"""

from __future__ import annotations

from enum import StrEnum

from portal.kernel.transitions import Machine


class WorkaroundState(StrEnum):
    """Where a workaround stands."""

    PLANNED = "planned"
    APPLYING = "applying"
    ACTIVE = "active"
    RENEWAL_ASKED = "renewal_asked"
    REVERTING = "reverting"
    ENDED = "ended"
    FAILED = "failed"
    STUCK = "stuck"


class WorkaroundAction(StrEnum):
    """What happens to it."""

    APPLY = "apply"
    HOLD = "hold"
    ASK_RENEWAL = "ask_renewal"
    RENEW = "renew"
    REFUSE_RENEWAL = "refuse_renewal"
    REVERT = "revert"
    FAIL = "fail"
    END = "end"


_W, _A = WorkaroundState, WorkaroundAction

WORKAROUND: Machine[WorkaroundState, WorkaroundAction] = Machine(
    name="workaround",
    initial=_W.PLANNED,
    table={
        (_W.PLANNED, _A.APPLY): _W.APPLYING,
        (_W.PLANNED, _A.END): _W.ENDED,
        (_W.APPLYING, _A.HOLD): _W.ACTIVE,
        (_W.APPLYING, _A.FAIL): _W.FAILED,
        (_W.APPLYING, _A.END): _W.ENDED,
        (_W.ACTIVE, _A.ASK_RENEWAL): _W.RENEWAL_ASKED,
        (_W.ACTIVE, _A.RENEW): _W.ACTIVE,
        (_W.ACTIVE, _A.REVERT): _W.REVERTING,
        (_W.ACTIVE, _A.END): _W.ENDED,
        (_W.RENEWAL_ASKED, _A.RENEW): _W.ACTIVE,
        (_W.RENEWAL_ASKED, _A.REFUSE_RENEWAL): _W.ACTIVE,
        (_W.RENEWAL_ASKED, _A.REVERT): _W.REVERTING,
        (_W.RENEWAL_ASKED, _A.END): _W.ENDED,
        (_W.REVERTING, _A.END): _W.ENDED,
        (_W.REVERTING, _A.FAIL): _W.STUCK,
        (_W.FAILED, _A.REVERT): _W.REVERTING,
        (_W.FAILED, _A.END): _W.ENDED,
        (_W.STUCK, _A.REVERT): _W.REVERTING,
        (_W.STUCK, _A.END): _W.ENDED,
    },
)

HOLDING = (_W.ACTIVE, _W.RENEWAL_ASKED)
"""The team works by it."""
OPEN = (_W.PLANNED, _W.APPLYING, _W.ACTIVE, _W.RENEWAL_ASKED, _W.REVERTING, _W.STUCK)
"""Debt: it is there, or about to be."""
IN_TROUBLE = (_W.FAILED, _W.STUCK)
"""A person has to look."""


class ReplacementState(StrEnum):
    """Where a project stands."""

    PROPOSED = "proposed"
    PLANNED = "planned"
    IN_PROGRESS = "in_progress"
    DONE = "done"
    DROPPED = "dropped"


class ReplacementAction(StrEnum):
    """What happens to it."""

    PLAN = "plan"
    START = "start"
    FINISH = "finish"
    DROP = "drop"
    TAKE_UP = "take_up"


_R, _P = ReplacementState, ReplacementAction

REPLACEMENT: Machine[ReplacementState, ReplacementAction] = Machine(
    name="replacement",
    initial=_R.PROPOSED,
    table={
        (_R.PROPOSED, _P.PLAN): _R.PLANNED,
        (_R.PROPOSED, _P.START): _R.IN_PROGRESS,
        (_R.PROPOSED, _P.DROP): _R.DROPPED,
        (_R.PLANNED, _P.START): _R.IN_PROGRESS,
        (_R.PLANNED, _P.DROP): _R.DROPPED,
        (_R.IN_PROGRESS, _P.FINISH): _R.DONE,
        (_R.IN_PROGRESS, _P.DROP): _R.DROPPED,
        (_R.DROPPED, _P.TAKE_UP): _R.PROPOSED,
    },
)

LIVE = (_R.PROPOSED, _R.PLANNED, _R.IN_PROGRESS)
"""Somebody still means to build the proper solution."""
