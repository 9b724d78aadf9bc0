"""Where can a ticket stand, and what leads from where to where?"""

from __future__ import annotations

from enum import StrEnum

from portal.kernel.transitions import Machine


class TicketState(StrEnum):
    """Where a ticket stands."""

    SUBMITTED = "submitted"
    WAITING = "waiting"
    OFFERED = "offered"
    APPROVED = "approved"
    PROVISIONING = "provisioning"
    PROMISED = "promised"
    RETURNED = "returned"
    READY = "ready"
    DECLINED = "declined"
    WITHDRAWN = "withdrawn"
    MERGED = "merged"
    CLOSED = "closed"


class TicketAction(StrEnum):
    """What moves a ticket."""

    ASK_BACK = "ask_back"
    ANSWER = "answer"
    APPROVE = "approve"
    OFFER = "offer"
    ACCEPT = "accept"
    COUNTER = "counter"
    LAPSE = "lapse"
    PROMISE = "promise"
    START = "start"
    DELIVER = "deliver"
    FAIL = "fail"
    DECLINE = "decline"
    WITHDRAW = "withdraw"
    CLOSE = "close"
    MERGE = "merge"
    RECONSIDER = "reconsider"
    REOPEN = "reopen"


_S, _A = TicketState, TicketAction

MACHINE: Machine[TicketState, TicketAction] = Machine(
    name="ticket",
    initial=_S.SUBMITTED,
    table={
        (_S.SUBMITTED, _A.APPROVE): _S.APPROVED,
        (_S.SUBMITTED, _A.OFFER): _S.OFFERED,
        (_S.SUBMITTED, _A.ASK_BACK): _S.WAITING,
        (_S.SUBMITTED, _A.DECLINE): _S.DECLINED,
        (_S.SUBMITTED, _A.WITHDRAW): _S.WITHDRAWN,
        (_S.SUBMITTED, _A.MERGE): _S.MERGED,
        (_S.SUBMITTED, _A.FAIL): _S.RETURNED,
        (_S.WAITING, _A.ANSWER): _S.SUBMITTED,
        (_S.WAITING, _A.RECONSIDER): _S.SUBMITTED,
        (_S.WAITING, _A.DECLINE): _S.DECLINED,
        (_S.WAITING, _A.WITHDRAW): _S.WITHDRAWN,
        (_S.WAITING, _A.MERGE): _S.MERGED,
        (_S.OFFERED, _A.ACCEPT): _S.APPROVED,
        (_S.OFFERED, _A.COUNTER): _S.SUBMITTED,
        (_S.OFFERED, _A.LAPSE): _S.SUBMITTED,
        (_S.OFFERED, _A.DECLINE): _S.DECLINED,
        (_S.OFFERED, _A.WITHDRAW): _S.WITHDRAWN,
        (_S.OFFERED, _A.FAIL): _S.RETURNED,
        (_S.APPROVED, _A.START): _S.PROVISIONING,
        (_S.APPROVED, _A.PROMISE): _S.PROMISED,
        (_S.APPROVED, _A.DELIVER): _S.READY,
        (_S.APPROVED, _A.RECONSIDER): _S.SUBMITTED,
        (_S.APPROVED, _A.FAIL): _S.RETURNED,
        (_S.PROVISIONING, _A.PROMISE): _S.PROMISED,
        (_S.PROVISIONING, _A.DELIVER): _S.READY,
        (_S.PROVISIONING, _A.FAIL): _S.RETURNED,
        (_S.PROMISED, _A.START): _S.PROVISIONING,
        (_S.PROMISED, _A.DELIVER): _S.READY,
        (_S.PROMISED, _A.FAIL): _S.RETURNED,
        (_S.RETURNED, _A.APPROVE): _S.APPROVED,
        (_S.RETURNED, _A.OFFER): _S.OFFERED,
        (_S.RETURNED, _A.DECLINE): _S.DECLINED,
        (_S.RETURNED, _A.WITHDRAW): _S.WITHDRAWN,
        (_S.READY, _A.CLOSE): _S.CLOSED,
        (_S.READY, _A.REOPEN): _S.RETURNED,
        (_S.DECLINED, _A.RECONSIDER): _S.SUBMITTED,
        (_S.MERGED, _A.RECONSIDER): _S.SUBMITTED,
        (_S.CLOSED, _A.REOPEN): _S.RETURNED,
    },
)

QUEUED = (TicketState.SUBMITTED, TicketState.RETURNED)
WITH_TEAM = (TicketState.WAITING, TicketState.OFFERED)
"""The team has it; the ticket's own clock stands still."""
FINAL = (TicketState.DECLINED, TicketState.WITHDRAWN, TicketState.MERGED, TicketState.CLOSED)
"""Nobody works on these any more. A person may still take a decision back, so not every one is a dead end."""
OPEN = tuple(state for state in MACHINE.states if state not in FINAL)
