"""Which verbs does the desk have, and which can be taken back? One entry for pages and API: act, and keep what undo needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction

from portal.accounts.models import User
from portal.kernel.errors import Invalid
from portal.ledger.models import Event
from requests_app.negotiation.services import propose_offer
from requests_app.relations.services import merge_ticket
from requests_app.tickets.models import LineVerdict, Ticket
from requests_app.tickets.states import TicketState
from requests_app.triage import services
from requests_app.triage.claiming import assign_ticket
from requests_app.triage.models import Undo
from requests_app.triage.reasons import REASONS
from requests_app.triage.snoozing import snooze_ticket
from requests_app.triage.undo import remember, snapshot

Given = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Done:
    """What was done: the ticket after it, what to say, and how to take it back. `orders` were placed and can only be
    cancelled; `leaves` says that the ticket is no longer in front of who did it."""

    ticket: Ticket
    says: str
    undo: Undo | None
    orders: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Verb:
    """One verb of the desk: its key, its word on the button, and what it does."""

    name: str
    key: str
    title: str
    says: str
    act: Callable[[Ticket, int, Given, User], Ticket]


def act(*, verb: str, ticket: Ticket, version: int, given: Given, by: User) -> Done:
    """Do `verb` to a ticket that the caller may see. Raises what the verb's service raises; then nothing has changed."""
    if verb not in VERBS:
        raise Invalid({"verb": [f"Choose one of: {', '.join(VERBS)}."]})
    chosen = VERBS[verb]
    with transaction.atomic():
        seen = Ticket.objects.get(pk=ticket.pk)
        before = snapshot(seen)
        since = (
            Event.objects.filter(subject=ticket.ref).order_by("-id").values_list("id", flat=True).first() or 0
        )
        done = chosen.act(seen, version, given, by)
        orders = tuple(done.lines.exclude(order_ref="").values_list("order_ref", flat=True))
        says = f"{ticket.ref} {chosen.says.format(**_words(done, given))}"
        undo = None
        if _comes_back(verb, done, orders):
            undo = remember(
                ticket=done, verb=verb, says=chosen.title.lower(), before=before, since=since, by=by
            )
    return Done(ticket=done, says=says, undo=undo, orders=orders)


def _comes_back(verb: str, done: Ticket, orders: tuple[str, ...]) -> bool:
    """An order, a granted quota or an offer isn't taken back in passing: that is done on its page, with a reason."""
    if verb == "offer":
        return False
    return verb != "accept" or (done.status == TicketState.APPROVED and not orders)


def _words(done: Ticket, given: Given) -> dict[str, str]:
    to = given.get("to")
    into = done.merged_into.ref if done.merged_into else ""
    return {"to": to.username if isinstance(to, User) else "nobody", "into": into}


def _accept(ticket: Ticket, version: int, given: Given, by: User) -> Ticket:
    return services.approve_ticket(ticket=ticket, version=version, note=given.get("note", ""), by=by)


def _offer(ticket: Ticket, version: int, given: Given, by: User) -> Ticket:
    """`proposals` reads what was typed for the undecided lines, by their positions."""
    pending = ticket.lines.filter(verdict=LineVerdict.PENDING).values_list("position", flat=True)
    lines, until = given["proposals"](list(pending)), given.get("expires_at")
    made = propose_offer(
        ticket=ticket, version=version, lines=lines, expires_at=until, note=given.get("note", ""), by=by
    )
    return made.ticket


def _decline(ticket: Ticket, version: int, given: Given, by: User) -> Ticket:
    code = given.get("reason_code", "")
    return services.decline_ticket(
        ticket=ticket,
        version=version,
        reason_code=code,
        reason=given.get("reason", "").strip() or REASONS.get(code, ""),
        nearest_yes=given.get("nearest_yes", ""),
        by=by,
    )


def _duplicate(ticket: Ticket, version: int, given: Given, by: User) -> Ticket:
    into = given.get("into")
    if not isinstance(into, Ticket):
        raise Invalid({"into": ["Choose the request that takes this one over."]})
    return merge_ticket(ticket=ticket, version=version, into=into, by=by)


def _snooze(ticket: Ticket, version: int, given: Given, by: User) -> Ticket:
    until: datetime | None = given.get("until")
    return snooze_ticket(ticket=ticket, version=version, until=until, reason=given.get("reason", ""), by=by)


def _assign(ticket: Ticket, version: int, given: Given, by: User) -> Ticket:
    return assign_ticket(ticket=ticket, version=version, to=given.get("to"), by=by)


def _ask(ticket: Ticket, version: int, given: Given, by: User) -> Ticket:
    return services.ask_back(ticket=ticket, version=version, question=given.get("question", ""), by=by)


_ALL = (
    Verb(name="accept", key="1", title="Accept", says="is accepted.", act=_accept),
    Verb(name="offer", key="o", title="Offer", says="has an offer; its clock is paused.", act=_offer),
    Verb(name="duplicate", key="2", title="Duplicate", says="is part of {into} now.", act=_duplicate),
    Verb(
        name="decline", key="3", title="Decline", says="is declined; the team has your reason.", act=_decline
    ),
    Verb(name="snooze", key="h", title="Snooze", says="sleeps; it comes back by itself.", act=_snooze),
    Verb(name="assign", key="s", title="Assign", says="is on the desk of {to}.", act=_assign),
    Verb(name="ask", key="q", title="Ask", says="is with the team; its clock is paused.", act=_ask),
)
VERBS: dict[str, Verb] = {verb.name: verb for verb in _ALL}
