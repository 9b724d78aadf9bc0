"""Which events of the ledger do clocks listen to, and what does each mean to them? An act that was taken back means nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any

from requests_app import events
from requests_app.clocks.intervals import Happening, Turn

QUESTION = "the desk asked the team something"
OFFER = "the team has an offer"

TURNS: Mapping[str, tuple[Turn, str]] = {
    events.TICKET_ASKED_BACK: (Turn.WITH_TEAM, QUESTION),
    events.OFFER_PROPOSED: (Turn.WITH_TEAM, OFFER),
    events.OFFER_ANSWERED: (Turn.WITH_TEAM, OFFER),
    events.TICKET_ANSWERED: (Turn.WITH_DESK, ""),
    events.OFFER_ASKED: (Turn.WITH_DESK, ""),
    events.OFFER_COUNTERED: (Turn.WITH_DESK, ""),
    events.OFFER_LAPSED: (Turn.WITH_DESK, ""),
    events.OFFER_WITHDRAWN: (Turn.WITH_DESK, ""),
    events.TICKET_RETURNED: (Turn.WITH_DESK, ""),
    events.TICKET_REOPENED: (Turn.WITH_DESK, ""),
    events.LINE_REOPENED: (Turn.WITH_DESK, ""),
    events.TICKET_APPROVED: (Turn.DECIDED, ""),
    events.TICKET_DECLINED: (Turn.DECIDED, ""),
    events.TICKET_WITHDRAWN: (Turn.OVER, ""),
    events.TICKET_MERGED: (Turn.OVER, ""),
}
PROMISES = (events.PROMISE_MADE, events.PROMISE_MOVED, events.PROMISE_KEPT, events.PROMISE_CANCELLED)
LISTENED = (
    *TURNS,
    *PROMISES,
    events.LINE_DECIDED,
    events.TICKET_COMMENTED,
    events.TICKET_DELIVERED,
    events.TICKET_UNDONE,
)


@dataclass(frozen=True, kw_only=True)
class Told:
    """One event of the ledger, and what its actor is to the ticket."""

    number: int
    name: str
    at: datetime
    payload: Mapping[str, Any]
    by_infra: bool = False
    by_requester: bool = False


@dataclass(frozen=True, kw_only=True)
class Promised:
    """A promise and all that moved it: what was promised first is what is measured."""

    position: int
    quantity: int
    made_at: datetime
    due_on: date
    kept_at: datetime | None = None
    cancelled_at: datetime | None = None


def standing(told: Iterable[Told]) -> list[Told]:
    """Without what was taken back: to its clocks it never was."""
    rows = list(told)
    undone = {number for each in rows for number in _numbers(each.payload.get("undoes"))}
    return [each for each in rows if each.number not in undone and each.name != events.TICKET_UNDONE]


def _numbers(value: object) -> list[int]:
    return [each for each in value if isinstance(each, int)] if isinstance(value, list) else []


def story(told: Iterable[Told], *, filed_at: datetime, positions: frozenset[int]) -> list[Happening]:
    """What happened, for the clocks of an answer and a decision; decided is what has no undecided line left."""
    happened = [Happening(at=filed_at, turn=Turn.FILED)]
    decided: set[int] = set()
    rows = standing(told)
    by_line = any(each.name == events.LINE_DECIDED for each in rows)
    for each in rows:
        position = each.payload.get("position")
        if each.name == events.LINE_DECIDED and isinstance(position, int):
            decided.add(position)
            whole = decided >= positions
            happened.append(Happening(at=each.at, turn=Turn.DECIDED if whole else Turn.ANSWERED))
            continue
        if each.name == events.LINE_REOPENED and isinstance(position, int):
            decided.discard(position)
        heard = _heard(each, by_line=by_line)
        if heard is not None:
            happened.append(heard)
    return happened


def _heard(told: Told, *, by_line: bool) -> Happening | None:
    """The event as clocks see it; None when it means nothing, such as a note of the desk among itself."""
    if told.name == events.TICKET_COMMENTED:
        heard = told.by_infra and not told.by_requester and not told.payload.get("internal")
        return Happening(at=told.at, turn=Turn.ANSWERED) if heard else None
    turn, why = TURNS.get(told.name, (None, ""))
    if turn is None or (turn is Turn.DECIDED and by_line):
        return None  # the lines say it more exactly
    return Happening(at=told.at, turn=turn, why=why)


def promises(told: Iterable[Told]) -> list[Promised]:
    """Every promise by its first day; moving it keeps that day, whoever asked for it."""
    found: dict[tuple[int, str], Promised] = {}
    for each in standing(told):
        if each.name not in PROMISES:
            continue
        first = str(each.payload.get("first_due_on", ""))
        position = int(each.payload.get("position") or 0)
        key = (position, first)
        if each.name == events.PROMISE_MADE:
            found[key] = Promised(
                position=position,
                quantity=int(each.payload.get("quantity") or 0),
                made_at=each.at,
                due_on=date.fromisoformat(first),
            )
        elif key in found and each.name == events.PROMISE_KEPT:
            found[key] = replace(found[key], kept_at=each.at)
        elif key in found and each.name == events.PROMISE_CANCELLED:
            found[key] = replace(found[key], cancelled_at=each.at)
    return list(found.values())


def delivered_at(told: Sequence[Told]) -> datetime | None:
    """When all of it was handed over the first time."""
    return next((each.at for each in standing(told) if each.name == events.TICKET_DELIVERED), None)
