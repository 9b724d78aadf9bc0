"""What does the desk decide? Take, approve, decline, ask back and deliver; each one event and one transaction."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from django.db import transaction

from portal.accounts.models import User
from portal.kernel.clock import now
from portal.kernel.errors import Invalid
from portal.ledger.services import record
from requests_app import events
from requests_app.negotiation import fulfilment
from requests_app.negotiation.closing import close_offer
from requests_app.negotiation.dates import refuse_passed_window
from requests_app.negotiation.states import OfferAction
from requests_app.tickets.deciders import only_triagers
from requests_app.tickets.lines import decide, deliver, give_up, reopen
from requests_app.tickets.models import Line, LineVerdict, Ticket
from requests_app.tickets.reasons import REASONS
from requests_app.tickets.settling import locked, move_ticket, settle, stale
from requests_app.tickets.states import MACHINE, TicketAction, TicketState
from requests_app.tickets.wording import text_of


def take_ticket(*, ticket: Ticket, version: int, by: User) -> Ticket:
    """Put a ticket on one's own desk; the second taker is told who was quicker."""
    only_triagers(by)
    with transaction.atomic():
        taken = Ticket.objects.filter(pk=ticket.pk, version=version).update(assignee=by, version=version + 1)
        if not taken:
            raise stale(ticket)
        record(events.TICKET_TAKEN, subject=ticket.ref, payload={"assignee": by.username}, by=by)
    ticket.refresh_from_db()
    return ticket


def approve_ticket(
    *,
    ticket: Ticket,
    version: int,
    granted: Mapping[int, int] | None = None,
    note: str = "",
    by: User | None,
) -> Ticket:
    """Say yes to every undecided line, in full or to less, and set off what follows: all of it, in ONE transaction.

    `granted` maps a line's position to a quantity; silence grants what was asked. `by` is None for a policy.
    Refused with numbers and the nearest yes when quota or capacity don't allow it, and with new dates when the time it was
    asked for has passed; then nothing has changed.
    """
    if by is not None:
        only_triagers(by)
    note = _text("note", note, required=False)
    with transaction.atomic():
        ticket = locked(ticket, version)
        MACHINE.after(ticket.status, TicketAction.APPROVE)
        close_offer(ticket, OfferAction.SUPERSEDE, by=by)
        lines = _pending(ticket)
        quantities = _quantities(lines, granted or {})
        for line in lines:
            refuse_passed_window(ticket, line)
        _grant(ticket, lines, quantities, by)
        for line in _missing(ticket):
            fulfilment.begin(_rest_of(ticket, line), by=by)
        payload = {"team": ticket.team.slug, "note": note, "lines": _lines(ticket), "by_policy": by is None}
        record(events.TICKET_APPROVED, subject=ticket.ref, payload=payload, by=by)
        settle(
            ticket,
            by=by,
            extra={"decided_at": now(), "decided_by": by, "note": note, "reason": "", **_taken(ticket, by)},
        )
    return ticket


def _pending(ticket: Ticket) -> list[Line]:
    """What is not decided. Of a request that was opened again, what people made is to be decided anew."""
    lines = list(ticket.lines.all())
    pending = [line for line in lines if line.verdict == LineVerdict.PENDING]
    if pending or ticket.status != TicketState.RETURNED:
        return pending
    made = [line for line in lines if line.verdict == LineVerdict.GRANTED and fulfilment.by_hand(line)]
    return [reopen(line, returned=True, by=None) for line in made]


def _missing(ticket: Ticket) -> list[Line]:
    """Granted lines of which a part never came because its order came to nothing; the rest of them is delivered."""
    return [line for line in ticket.lines.all() if line.returned_at is not None and line.by_hand_qty]


def _rest_of(ticket: Ticket, line: Line) -> fulfilment.Step:
    """Only what is missing is set off again."""
    source = fulfilment.source_of(ticket, line)
    return fulfilment.Step(ticket=ticket, line=line, quantity=line.by_hand_qty, source=source)


def _quantities(lines: Sequence[Line], granted: Mapping[int, int]) -> dict[int, int]:
    """A quantity per undecided line. Invalid, by line, for what was not asked."""
    asked = {line.position: line.asked_qty for line in lines}
    complaints = {
        f"granted.{position}": ["There is no such undecided line."]
        for position in granted
        if position not in asked
    }
    found = {**asked, **granted}
    for position, most in asked.items():
        if not 1 <= found[position] <= most:
            complaints[f"granted.{position}"] = [f"Grant from 1 to the {most} asked; decline to say no."]
    if complaints:
        raise Invalid(complaints)
    return found


def _grant(ticket: Ticket, lines: Sequence[Line], quantities: Mapping[int, int], by: User | None) -> None:
    """Verdicts first, then what follows them."""
    for line in lines:
        decide(line, LineVerdict.GRANTED, quantities[line.position], by=by)
    for line in lines:
        source = fulfilment.source_of(ticket, line)
        quantity = quantities[line.position]
        fulfilment.begin(fulfilment.Step(ticket=ticket, line=line, quantity=quantity, source=source), by=by)


def decline_ticket(
    *, ticket: Ticket, version: int, reason_code: str, reason: str, nearest_yes: str = "", by: User
) -> Ticket:
    """Say no, with a reason as data and the nearest yes."""
    only_triagers(by)
    if reason_code not in REASONS:
        raise Invalid({"reason_code": [f"Choose one of: {', '.join(REASONS)}."]})
    reason = _text("reason", reason)
    nearest_yes = _text("nearest_yes", nearest_yes, required=False)
    said: dict[str, str] = {"reason_code": reason_code, "reason": reason, "nearest_yes": nearest_yes}
    with transaction.atomic():
        ticket = locked(ticket, version)
        MACHINE.after(ticket.status, TicketAction.DECLINE)
        close_offer(ticket, OfferAction.WITHDRAW, by=by)
        for line in _pending(ticket):
            decide(line, LineVerdict.DECLINED, 0, by=by, reason_code=reason_code, reason=reason)
        for line in _missing(ticket):
            give_up(line, reason=reason, by=by)
        payload = {"team": ticket.team.slug, **said}
        record(events.TICKET_DECLINED, subject=ticket.ref, payload=payload, by=by)
        extra = {"decided_at": now(), "decided_by": by, **said, **_taken(ticket, by)}
        settle(ticket, by=by, extra=extra)
    return ticket


def ask_back(*, ticket: Ticket, version: int, question: str, by: User) -> Ticket:
    """Ask the team something; the ticket's clock pauses until it answers."""
    only_triagers(by)
    question = _text("question", question)
    with transaction.atomic():
        ticket = locked(ticket, version)
        move_ticket(ticket, TicketAction.ASK_BACK, question=question, **_taken(ticket, by))
        payload = {"team": ticket.team.slug, "question": question}
        record(events.TICKET_ASKED_BACK, subject=ticket.ref, payload=payload, by=by)
    return ticket


def deliver_ticket(
    *, ticket: Ticket, version: int, note: str, positions: Collection[int] | None = None, by: User
) -> Ticket:
    """Hand over what people made: the note says how to use it. `positions` names some of the lines that wait for hands."""
    only_triagers(by)
    note = _text("note", note)
    with transaction.atomic():
        ticket = locked(ticket, version)
        lines = [line for line in ticket.lines.all() if line.by_hand_qty]
        if not lines:
            MACHINE.after(ticket.status, TicketAction.DELIVER)
            raise Invalid({"note": ["Nothing of this ticket waits to be handed over by people."]})
        chosen = [line for line in lines if positions is None or line.position in positions]
        if not chosen or (positions is not None and len(chosen) != len(set(positions))):
            raise Invalid({"positions": ["Name lines that wait for hands."]})
        for line in chosen:
            deliver(line, line.by_hand_qty, by=by)
        settle(ticket, by=by, extra={"note": note, **_taken(ticket, by)}, said={"note": note})
    return ticket


def _taken(ticket: Ticket, by: User | None) -> dict[str, Any]:
    """Who decides a ticket that nobody has taken has it from then on."""
    return {"assignee": by} if by is not None and ticket.assignee_id is None else {}


def _lines(ticket: Ticket) -> list[dict[str, Any]]:
    return [
        {"position": row.position, "label": row.label, "asked": row.asked_qty, "granted": row.granted_qty}
        for row in ticket.lines.all()
    ]


def _text(name: str, text: str, *, required: bool = True) -> str:
    return text_of(name, text, needed=required, missing="Say it in a sentence; the team reads this.")
