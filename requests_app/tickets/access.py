"""Who may do what with a ticket, and in which state? One table; buttons, services and the API ask it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from requests_app.tickets.states import MACHINE, OPEN, QUEUED, WITH_TEAM, TicketAction, TicketState


class Doing(StrEnum):
    """What a person does with a ticket."""

    ANSWER = "answer"
    WITHDRAW = "withdraw"
    CLOSE = "close"
    CONFIRM_RELIEF = "confirm_relief"
    COMMENT = "comment"
    NOTE = "note"
    TAKE = "take"
    APPROVE = "approve"
    DECLINE = "decline"
    ASK_BACK = "ask_back"
    DELIVER = "deliver"
    OFFER = "offer"
    KEEP_PROMISE = "keep_promise"
    MOVE_PROMISE = "move_promise"
    ACCEPT = "accept"
    COUNTER = "counter"
    ASK_ABOUT_OFFER = "ask_about_offer"


@dataclass(frozen=True, kw_only=True)
class Standing:
    """What a person is to one ticket. Who is none of it doesn't see the ticket at all."""

    requester: bool = False
    member: bool = False
    lead: bool = False
    triager: bool = False
    infra: bool = False

    @property
    def speaks_for_team(self) -> bool:
        """True for the requester while in the team, and for its leads."""
        return (self.requester and self.member) or self.lead


_MOVES: dict[Doing, TicketAction] = {
    Doing.ANSWER: TicketAction.ANSWER,
    Doing.WITHDRAW: TicketAction.WITHDRAW,
    Doing.CLOSE: TicketAction.CLOSE,
    Doing.APPROVE: TicketAction.APPROVE,
    Doing.DECLINE: TicketAction.DECLINE,
    Doing.ASK_BACK: TicketAction.ASK_BACK,
}
_FOR_TRIAGERS = frozenset(
    {
        *(Doing.TAKE, Doing.APPROVE, Doing.DECLINE, Doing.ASK_BACK, Doing.DELIVER),
        *(Doing.OFFER, Doing.KEEP_PROMISE, Doing.MOVE_PROMISE),
    }
)
_FOR_SPEAKERS = frozenset({Doing.WITHDRAW, Doing.CLOSE, Doing.CONFIRM_RELIEF, Doing.ACCEPT, Doing.COUNTER})
_BY_LINES: dict[Doing, frozenset[TicketState]] = {
    Doing.OFFER: frozenset({*QUEUED, TicketState.OFFERED}),
    Doing.ACCEPT: frozenset({*QUEUED, TicketState.OFFERED}),
    Doing.COUNTER: frozenset({*QUEUED, TicketState.OFFERED}),
    Doing.ASK_ABOUT_OFFER: frozenset({*QUEUED, TicketState.OFFERED}),
    Doing.DELIVER: frozenset({*QUEUED, *WITH_TEAM, TicketState.APPROVED}),
    Doing.KEEP_PROMISE: frozenset(OPEN) - {TicketState.READY},
    Doing.MOVE_PROMISE: frozenset(OPEN) - {TicketState.READY},
}
"""What depends on a line more than on the state: an open offer, a line that waits for hands, a promise."""


def allows(doing: Doing, standing: Standing) -> bool:
    """True when a person of this standing may do it at all, whatever the state."""
    if doing in _FOR_TRIAGERS:
        return standing.triager
    if doing in _FOR_SPEAKERS:
        return standing.speaks_for_team
    if doing in {Doing.ANSWER, Doing.ASK_ABOUT_OFFER}:
        return standing.member or standing.lead
    if doing is Doing.NOTE:
        return standing.infra
    return standing.member or standing.lead or standing.infra


def fits(doing: Doing, state: str) -> bool:
    """True when it makes sense in this state, whoever does it."""
    if doing in _MOVES:
        return _MOVES[doing] in MACHINE.actions(state)
    if doing in _BY_LINES:
        return state in _BY_LINES[doing]
    if doing is Doing.TAKE:
        return state in OPEN
    return True


def may(doing: Doing, *, standing: Standing, state: str) -> bool:
    """True when a person of this standing may do it in this state."""
    return allows(doing, standing) and fits(doing, state)


def possible(*, standing: Standing, state: str) -> tuple[Doing, ...]:
    """Everything a person of this standing may do in this state."""
    return tuple(doing for doing in Doing if may(doing, standing=standing, state=state))
