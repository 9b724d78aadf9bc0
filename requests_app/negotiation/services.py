"""How does an offer come about? The desk proposes, answers and withdraws; nobody's word in time lets it lapse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import F, Max

from portal.accounts.models import User
from portal.kernel.clock import now
from portal.kernel.errors import Conflict, IllegalMove, Invalid, NotFound
from portal.ledger.services import record
from provisioning import interface
from requests_app import events
from requests_app.negotiation import fulfilment
from requests_app.negotiation.closing import close_offer, open_offer
from requests_app.negotiation.costs import cost_per_month
from requests_app.negotiation.models import Offer, OfferKind, OfferLine
from requests_app.negotiation.promises import cancel_promise, keep_promise, move_promise
from requests_app.negotiation.proposals import Proposal, amounts, complaints, relief
from requests_app.negotiation.replies import accept_offer, ask_about_offer, counter_offer, reply_to_offer
from requests_app.negotiation.states import OFFER, OfferAction, OfferState
from requests_app.tickets.access import Doing, fits
from requests_app.tickets.deciders import only_triagers
from requests_app.tickets.models import Line, LineVerdict, LineWhat, Ticket
from requests_app.tickets.settling import locked, settle
from requests_app.tickets.wording import text_of

DESK = "make offers"

__all__ = [
    "accept_offer",
    "answer_about_offer",
    "ask_about_offer",
    "cancel_promise",
    "counter_offer",
    "keep_promise",
    "lapse_due_offers",
    "move_promise",
    "propose_offer",
    "reply_to_offer",
    "withdraw_offer",
]

USUAL_DAYS = 7
MOST_DAYS = 90


@transaction.atomic
def propose_offer(
    *,
    ticket: Ticket,
    version: int,
    lines: Sequence[Proposal],
    expires_at: datetime | None = None,
    note: str = "",
    by: User,
) -> Offer:
    """Offer something for every undecided line. An open offer is superseded, and its quota free, before this one holds its own.

    Open for seven days when `expires_at` is None. Refused with numbers and the nearest yes when the quota has no room for
    what is offered; then nothing has changed.
    """
    only_triagers(by, DESK)
    note = text_of("note", note, needed=False)
    ticket = locked(ticket, version)
    if not fits(Doing.OFFER, ticket.status):
        raise IllegalMove(f"{ticket.ref} is {ticket.status}; there is nothing to offer for it.")
    pending = {line.position: line for line in ticket.lines.filter(verdict=LineVerdict.PENDING)}
    expires_at = _until(expires_at)
    _check(lines, pending)
    close_offer(ticket, OfferAction.SUPERSEDE, by=by)
    last = Offer.objects.filter(ticket=ticket).aggregate(last=Max("revision"))["last"]
    offer = Offer.objects.create(
        ticket=ticket,
        revision=(last or 0) + 1,
        note=note,
        expires_at=expires_at,
        made_by=by,
        status=OFFER.initial,
    )
    made = [_offer_line(offer, pending[each.position], each, by) for each in lines]
    payload = {
        "team": ticket.team.slug,
        "revision": offer.revision,
        "expires_at": expires_at.isoformat(),
        "note": note,
        "lines": [_said(each) for each in made],
    }
    record(events.OFFER_PROPOSED, subject=ticket.ref, payload=payload, by=by)
    settle(ticket, by=by, extra={"note": note, **({} if ticket.assignee_id else {"assignee": by})})
    return offer


def _until(expires_at: datetime | None) -> datetime:
    at = now()
    if expires_at is None:
        return at + timedelta(days=USUAL_DAYS)
    if not at < expires_at <= at + timedelta(days=MOST_DAYS):
        raise Invalid({"expires_at": [f"Let it be open until a moment in the next {MOST_DAYS} days."]})
    return expires_at


def _check(lines: Sequence[Proposal], pending: Mapping[int, Line]) -> None:
    """Every undecided line once, and each proposal sound; otherwise one Invalid with all that is wrong, by `POSITION.field`."""
    found: dict[str, list[str]] = {}
    positions = [each.position for each in lines]
    missing = sorted(set(pending) - set(positions))
    if missing:
        said = ", ".join(str(position) for position in missing)
        found["lines"] = [f"Say something about every undecided line; missing: {said}."]
    if len(positions) != len(set(positions)):
        found["lines"] = ["Say one thing about each line."]
    today = now().date()
    for each in lines:
        line = pending.get(each.position)
        if line is None:
            found[f"{each.position}.position"] = ["There is no such undecided line."]
            continue
        for name, said in {**complaints(each, asked=line.asked_qty, today=today), **_sku(line, each)}.items():
            found[f"{each.position}.{name}"] = [said]
    if found:
        raise Invalid(found)


def _sku(line: Line, each: Proposal) -> dict[str, str]:
    if not each.instead_sku:
        return {}
    if each.kind != "instead" or line.what == LineWhat.ITEM or line.fulfilment == "cluster_resize":
        return {"instead_sku": "Another kind of node can be offered instead for a new cluster or a quota."}
    try:
        interface.sku(each.instead_sku)
    except NotFound as problem:
        return {"instead_sku": problem.message}
    return {}


def _offer_line(offer: Offer, line: Line, each: Proposal, by: User) -> OfferLine:
    """What is offered for one line, with its quota set aside and what it costs."""
    amount, ticket = amounts(each, line.asked_qty), offer.ticket
    each = replace(each, instead_sku=each.instead_sku if each.kind == "instead" else "")
    holds = {}
    for name, quantity in (("hold_now", amount.now), ("hold_later", amount.later)):
        if quantity and fulfilment.holds_quota(line):
            source = f"{line.source}/o{offer.revision}{'' if name == 'hold_now' else '/later'}"
            holds[name] = fulfilment.hold_for(
                ticket, line, quantity, source=source, sku=each.instead_sku, by=by
            )
    at_once = line.fulfilment in fulfilment.AT_ONCE
    cost, currency = _cost(line, amount.now + amount.later, each.instead_sku)
    made = OfferLine.objects.create(
        offer=offer,
        line=line,
        kind=OfferKind(each.kind),
        now_qty=amount.now,
        later_qty=amount.later,
        later_on=each.later_on if amount.later else None,
        instead_sku=each.instead_sku,
        instead_label=each.instead_label.strip() if each.kind == "instead" else "",
        reason_code=each.reason_code,
        reason=text_of("reason", each.reason, needed=False),
        nearest_yes=text_of("nearest_yes", each.nearest_yes, needed=False),
        cost_per_month=cost,
        currency=currency,
        relief_days=relief(each, asked=line.asked_qty, at_once=at_once, today=now().date()),
        reliability=each.reliability,
        **holds,
    )
    Line.objects.filter(pk=line.pk).update(offered_qty=made.quantity, in_offer=True, awaits_team=True)
    return made


def _cost(line: Line, quantity: int, sku: str) -> tuple[Any, str]:
    """Cost per month and currency of what is offered; unknown for what has no GPUs."""
    if line.what == LineWhat.ITEM or not quantity:
        return None, ""
    priced = interface.sku(sku or line.sku)
    return cost_per_month(fulfilment.gpus_in(line, quantity, sku), priced.price_per_gpu_hour), priced.currency


def _said(each: OfferLine) -> dict[str, Any]:
    return {
        "position": each.line.position,
        "label": each.instead_label or each.line.label,
        "unit": each.line.unit,
        "asked": each.line.asked_qty,
        "kind": str(each.kind),
        "now": each.now_qty,
        "later": each.later_qty,
        "later_on": None if each.later_on is None else each.later_on.isoformat(),
        "cost_per_month": None if each.cost_per_month is None else str(each.cost_per_month),
        "currency": each.currency,
        "relief_days": each.relief_days,
        "reliability": str(each.reliability),
        "reason_code": each.reason_code,
        "reason": each.reason,
    }


@transaction.atomic
def withdraw_offer(*, ticket: Ticket, version: int, reason: str, by: User) -> Ticket:
    """Take an open offer back, with a reason; its lines are at the desk again."""
    only_triagers(by, DESK)
    reason = text_of("reason", reason)
    ticket = locked(ticket, version)
    if close_offer(ticket, OfferAction.WITHDRAW, by=by, words=reason) is None:
        raise Conflict(f"{ticket.ref} has no open offer.", code="no-open-offer")
    return settle(ticket, by=by)


@transaction.atomic
def answer_about_offer(*, ticket: Ticket, version: int, answer: str, by: User) -> Ticket:
    """Answer what the team asked about the open offer; it is open for as much longer as the answer took."""
    only_triagers(by, DESK)
    answer = text_of("answer", answer)
    ticket = locked(ticket, version)
    offer = open_offer(ticket)
    if offer is None or offer.asked_at is None:
        raise Conflict(f"Nobody waits for an answer about an offer of {ticket.ref}.", code="no-question")
    longer = now() - offer.asked_at
    Offer.objects.filter(pk=offer.pk).update(asked_at=None, expires_at=F("expires_at") + longer)
    Line.objects.filter(offered__offer=offer, verdict=LineVerdict.PENDING).update(awaits_team=True)
    payload = {"team": ticket.team.slug, "revision": offer.revision, "answer": answer}
    record(events.OFFER_ANSWERED, subject=ticket.ref, payload=payload, by=by)
    return settle(ticket, by=by)


def lapse_due_offers() -> int:
    """End offers nobody answered in time; returns how many. One that the team asked about waits for the desk's answer."""
    due = Offer.objects.filter(status=OfferState.OPEN, asked_at=None, expires_at__lte=now())
    return sum(_lapse(pk) for pk in due.values_list("ticket", flat=True))


@transaction.atomic
def _lapse(pk: int) -> bool:
    ticket = locked(Ticket(pk=pk))
    offer = open_offer(ticket)
    if offer is None or offer.asked_at is not None or offer.expires_at > now():
        return False
    close_offer(ticket, OfferAction.LAPSE, by=None)
    settle(ticket, by=None)
    return True
