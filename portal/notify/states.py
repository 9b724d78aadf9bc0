"""Where can a message stand? It waits, is being sent, and was sent, dropped for a reason, or given up for a person to look at."""

from __future__ import annotations

from enum import StrEnum

from portal.kernel.transitions import Machine


class MessageState(StrEnum):
    """Where a message stands."""

    PENDING = "pending"
    SENDING = "sending"
    SENT = "sent"
    DROPPED = "dropped"
    DEAD = "dead"


class MessageAction(StrEnum):
    """What moves a message."""

    CLAIM = "claim"
    SEND = "send"
    PUT_OFF = "put_off"
    DROP = "drop"
    GIVE_UP = "give_up"
    RETRY = "retry"


_S, _A = MessageState, MessageAction

MACHINE: Machine[MessageState, MessageAction] = Machine(
    name="message",
    initial=_S.PENDING,
    table={
        (_S.PENDING, _A.CLAIM): _S.SENDING,
        (_S.PENDING, _A.DROP): _S.DROPPED,
        (_S.SENDING, _A.SEND): _S.SENT,
        (_S.SENDING, _A.PUT_OFF): _S.PENDING,
        (_S.SENDING, _A.DROP): _S.DROPPED,
        (_S.SENDING, _A.GIVE_UP): _S.DEAD,
        (_S.DEAD, _A.RETRY): _S.PENDING,
    },
)
