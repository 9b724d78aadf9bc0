"""What do a team and the people who help it do with a ticket? Each one move, one event, one transaction."""

from __future__ import annotations

from django.db import transaction

from portal.accounts.models import User
from portal.kernel.clock import now
from portal.kernel.errors import IllegalMove, NotAllowed
from portal.ledger.services import record
from requests_app import events
from requests_app.blocks.models import EndSource
from requests_app.blocks.services import end_block
from requests_app.conversation.services import comment
from requests_app.negotiation.closing import close_offer
from requests_app.negotiation.states import OfferAction
from requests_app.tickets.access import Doing, allows, fits
from requests_app.tickets.closing import check_may_close
from requests_app.tickets.filing import submit_ticket
from requests_app.tickets.lines import drop_pending
from requests_app.tickets.models import Ticket
from requests_app.tickets.queries import standing_of
from requests_app.tickets.settling import locked, move_ticket, settle
from requests_app.tickets.states import TicketAction, TicketState
from requests_app.tickets.wording import text_of

__all__ = [
    "answer_ticket",
    "close_ticket",
    "comment",
    "confirm_relief",
    "submit_ticket",
    "text_of",
    "withdraw_ticket",
]


@transaction.atomic
def answer_ticket(*, ticket: Ticket, version: int, answer: str, by: User) -> Ticket:
    """Answer what the desk asked; the clock goes on from where it stood."""
    _check(Doing.ANSWER, ticket, by)
    answer = text_of("answer", answer)
    question = ticket.question
    ticket = locked(ticket, version)
    waited = int((now() - ticket.waiting_since).total_seconds()) if ticket.waiting_since else 0
    move_ticket(ticket, TicketAction.ANSWER)
    payload = {
        "team": ticket.team.slug,
        "question": question,
        "answer": answer,
        "waited_seconds": waited,
    }
    record(events.TICKET_ANSWERED, subject=ticket.ref, payload=payload, by=by)
    return settle(ticket, by=by, touch=False)


@transaction.atomic
def withdraw_ticket(*, ticket: Ticket, version: int, reason: str = "", by: User) -> Ticket:
    """Take back whatever is not decided; when that is all of it, the request is withdrawn.

    A block it carried ends with it: nobody works on it any more. What is granted already stays granted.
    """
    _check(Doing.WITHDRAW, ticket, by)
    reason = text_of("reason", reason, needed=False)
    ticket = locked(ticket, version)
    _check(Doing.WITHDRAW, ticket, by)
    close_offer(ticket, OfferAction.WITHDRAW, by=by)
    drop_pending(ticket, by=by)
    settle(ticket, by=by)
    record(
        events.TICKET_WITHDRAWN,
        subject=ticket.ref,
        payload={"team": ticket.team.slug, "reason": reason},
        by=by,
    )
    if ticket.status == TicketState.WITHDRAWN:
        end_block(ticket=ticket, by=by, source=EndSource.WITHDRAWN)
    return ticket


@transaction.atomic
def close_ticket(*, ticket: Ticket, version: int, by: User) -> Ticket:
    """Say that what was delivered is good. A block goes on until somebody says or measures that it is over."""
    _check(Doing.CLOSE, ticket, by)
    ticket = locked(ticket, version)
    check_may_close(ticket)
    move_ticket(ticket, TicketAction.CLOSE)
    record(events.TICKET_CLOSED, subject=ticket.ref, payload={"team": ticket.team.slug}, by=by)
    return ticket


@transaction.atomic
def confirm_relief(*, ticket: Ticket, by: User) -> Ticket:
    """Say that the team can work again. Saying it twice changes nothing."""
    _check(Doing.CONFIRM_RELIEF, ticket, by)
    end_block(ticket=ticket, by=by)
    return ticket


def _check(doing: Doing, ticket: Ticket, by: User) -> None:
    if not allows(doing, standing_of(ticket, by)):
        raise NotAllowed(f"You may see {ticket.ref}, but you may not {str(doing).replace('_', ' ')} it.")
    if not fits(doing, ticket.status):
        raise IllegalMove(
            f"{ticket.ref} is {ticket.status}; there is nothing to {str(doing).replace('_', ' ')}.",
            data={"state": ticket.status, "action": str(doing)},
        )
