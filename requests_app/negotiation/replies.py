"""What does a team say to an offer? Yes to all or some of it, something else, no thanks, or a question first."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from django.db import transaction

from portal.accounts.models import User
from portal.kernel.clock import now
from portal.kernel.errors import Conflict, IllegalMove, Invalid, NotAllowed
from portal.ledger.services import record
from requests_app import events
from requests_app.negotiation import fulfilment
from requests_app.negotiation.closing import end_offer, open_offer
from requests_app.negotiation.models import Offer, OfferKind, OfferLine, Reply
from requests_app.negotiation.promises import make_promise
from requests_app.negotiation.states import OfferAction
from requests_app.tickets.access import Doing, allows
from requests_app.tickets.lines import decide
from requests_app.tickets.models import Line, LineVerdict, Ticket
from requests_app.tickets.queries import standing_of
from requests_app.tickets.settling import locked, settle
from requests_app.tickets.states import FINAL
from requests_app.tickets.wording import text_of


@dataclass(frozen=True, kw_only=True)
class Counter:
    """What a team would rather have of one line: another quantity, another day, or words."""

    quantity: int | None = None
    wanted_on: date | None = None
    words: str = ""


def accept_offer(*, offer: Offer, revision: int, positions: Collection[int] | None = None, by: User) -> Offer:
    """Accept an offer, or its lines at `positions`; what isn't accepted is back at the desk.

    `revision` is the one that was looked at: Conflict with what happened and the current revision when it isn't open any
    more. All of it happens or nothing: what quota or fleet refuse leaves the offer open.
    """
    chosen = _positions(offer) if positions is None else set(positions)
    if not chosen:
        raise Invalid({"positions": ["Choose at least one line."]})
    return reply_to_offer(offer=offer, revision=revision, accept=chosen, by=by)


def counter_offer(
    *, offer: Offer, revision: int, counter: Mapping[int, Counter], words: str = "", by: User
) -> Offer:
    """Say what the team would rather have, per line; nothing is accepted, and what was held is free."""
    if not counter and not words.strip():
        raise Invalid({"counter": ["Say what you need instead."]})
    return reply_to_offer(offer=offer, revision=revision, counter=counter, words=words, by=by)


@transaction.atomic
def reply_to_offer(
    *,
    offer: Offer,
    revision: int,
    accept: Collection[int] = (),
    counter: Mapping[int, Counter] | None = None,
    drop: Collection[int] = (),
    words: str = "",
    by: User,
) -> Offer:
    """Accept some lines, counter others and drop the rest, in one answer that closes the offer. Lines are named by position."""
    counter, words = dict(counter or {}), text_of("words", words, needed=False)
    doing = Doing.ACCEPT if accept else Doing.COUNTER
    ticket, offer = _open(offer, revision, doing, by)
    lines = {
        each.line.position: each for each in offer.lines.select_related("line", "hold_now", "hold_later")
    }
    _check(lines, accept, counter, drop)
    taken = [each for position, each in lines.items() if position in accept]
    holds = [hold for each in taken for hold in (each.hold_now_id, each.hold_later_id) if hold is not None]
    said: dict[str, Any] = {
        "accepted": sorted(accept),
        "countered": [_said(position, asks) for position, asks in sorted(counter.items())],
        "dropped": sorted(drop),
        "labels": {str(position): each.instead_label or each.line.label for position, each in lines.items()},
        "words": words,
    }
    end_offer(offer, OfferAction.ACCEPT if accept else OfferAction.COUNTER, keeping=holds, by=by, **said)
    for position, each in lines.items():
        each.line.refresh_from_db()
        if position in drop:
            decide(each.line, LineVerdict.DROPPED, 0, by=by)
        _note_reply(each, position, accept, counter, drop)
    _take(ticket, offer, taken)
    settle(ticket, by=by, extra={"decided_at": now(), "decided_by": offer.made_by} if taken else None)
    return offer


def _note_reply(
    each: OfferLine,
    position: int,
    accept: Collection[int],
    counter: Mapping[int, Counter],
    drop: Collection[int],
) -> None:
    """Keep what the team said of one line."""
    asks = counter.get(position)
    if asks is not None:
        each.reply = Reply.COUNTERED
        each.counter_qty, each.counter_on = asks.quantity, asks.wanted_on
        each.counter_words = text_of("words", asks.words, needed=False)
    elif position in accept:
        each.reply = Reply.ACCEPTED
    elif position in drop:
        each.reply = Reply.DROPPED
    each.save(update_fields=["reply", "counter_qty", "counter_on", "counter_words"])


def _take(ticket: Ticket, offer: Offer, taken: list[OfferLine]) -> None:
    """Verdicts of all accepted lines first, then what follows them: orders and grants from what is held, and promises."""
    for each in taken:
        _decide(each, offer.made_by)
    for each in taken:
        line = each.line
        line.ticket = ticket
        if each.now_qty:
            step = fulfilment.Step(
                ticket=ticket,
                line=line,
                quantity=each.now_qty,
                source=f"{line.source}/o{offer.revision}",
                hold=each.hold_now,
            )
            fulfilment.begin(step, by=offer.made_by)
        if each.later_qty and each.later_on is not None:
            make_promise(
                line, quantity=each.later_qty, due_on=each.later_on, hold=each.hold_later, by=offer.made_by
            )


def _decide(each: OfferLine, by: User) -> None:
    """The verdict is the desk's; the team has agreed to it. An accepted no is a no."""
    line = each.line
    why: dict[str, Any] = {"reason_code": each.reason_code, "reason": each.reason}
    if each.kind == OfferKind.NO:
        decide(line, LineVerdict.DECLINED, 0, by=by, **why)
        return
    more: dict[str, Any] = {"promised_qty": each.later_qty, "promised_on": each.later_on}
    if each.kind == OfferKind.INSTEAD:
        more |= {
            "granted_sku": each.instead_sku,
            "granted_label": each.instead_label or f"{line.label}: {each.instead_sku} instead",
        }
    decide(line, LineVerdict.GRANTED, each.quantity, by=by, **why, **more)


@transaction.atomic
def ask_about_offer(*, offer: Offer, revision: int, question: str, by: User) -> Offer:
    """Ask the desk something about an open offer. It stays open, and does not lapse before the desk has answered."""
    question = text_of("question", question)
    ticket, offer = _open(offer, revision, Doing.ASK_ABOUT_OFFER, by)
    asked_at = offer.asked_at or now()
    Offer.objects.filter(pk=offer.pk).update(asked_at=asked_at, question=question)
    Line.objects.filter(offered__offer=offer).update(awaits_team=False)
    payload = {"team": ticket.team.slug, "revision": offer.revision, "question": question}
    record(events.OFFER_ASKED, subject=ticket.ref, payload=payload, by=by)
    settle(ticket, by=by)
    offer.asked_at, offer.question = asked_at, question
    return offer


def _open(offer: Offer, revision: int, doing: Doing, by: User) -> tuple[Ticket, Offer]:
    """The ticket, locked, and its open offer. Conflict with what happened when that isn't the revision that was seen."""
    ticket = locked(Ticket(pk=offer.ticket_id))
    if not allows(doing, standing_of(ticket, by)):
        raise NotAllowed(
            f"You may see the offer of {ticket.ref}; its requester and leads of the team answer it."
        )
    if ticket.status in FINAL:
        raise IllegalMove(f"{ticket.ref} is {ticket.status}; its offers are closed.")
    seen = (
        Offer.objects.select_related("made_by", "closed_by").filter(ticket=ticket, revision=revision).first()
    )
    if seen is None or not seen.is_open or seen.expires_at <= now() and seen.asked_at is None:
        raise _gone(ticket, seen, revision)
    seen.ticket = ticket
    return ticket, seen


def _gone(ticket: Ticket, seen: Offer | None, revision: int) -> Conflict:
    current = open_offer(ticket)
    state = "gone" if seen is None else "lapsed" if seen.is_open else seen.status
    who = seen.closed_by if seen is not None else None
    told = f" by {who.username}" if who is not None else ""
    following = (
        f" Revision {current.revision} is open now."
        if current is not None and current.revision != revision
        else " No offer is open now."
    )
    return Conflict(
        f"Revision {revision} of the offer is {state}{told}; nothing of yours was done.{following}",
        code="stale-offer",
        data={
            "ticket": ticket.ref,
            "revision": revision,
            "now": state,
            "by": who.username if who is not None else None,
            "current_revision": current.revision
            if current is not None and current.revision != revision
            else None,
        },
    )


def _positions(offer: Offer) -> set[int]:
    return set(Line.objects.filter(offered__offer=offer).values_list("position", flat=True))


def _check(
    lines: Mapping[int, OfferLine],
    accept: Collection[int],
    counter: Mapping[int, Counter],
    drop: Collection[int],
) -> None:
    """Every named line is in the offer and is told one thing only."""
    named = [*accept, *counter, *drop]
    found: dict[str, list[str]] = {}
    for position in sorted(set(named)):
        if position not in lines:
            found[f"{position}.position"] = ["There is no such line in this offer."]
        elif named.count(position) > 1:
            found[f"{position}.position"] = ["Say one thing about each line."]
    for position, asks in counter.items():
        found.update({f"{position}.{name}": [said] for name, said in _about(asks)})
    if found:
        raise Invalid(found)


def _about(asks: Counter) -> Iterator[tuple[str, str]]:
    if asks.quantity is not None and not 1 <= asks.quantity <= 1_000_000:
        yield "quantity", "Ask for at least one."
    if asks.wanted_on is not None and asks.wanted_on < now().date():
        yield "wanted_on", "Name a day to come."
    if asks.quantity is None and asks.wanted_on is None and not asks.words.strip():
        yield "words", "Say what you need instead."


def _said(position: int, asks: Counter) -> dict[str, Any]:
    return {
        "position": position,
        "quantity": asks.quantity,
        "wanted_on": None if asks.wanted_on is None else asks.wanted_on.isoformat(),
        "words": asks.words,
    }
