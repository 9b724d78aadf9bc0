"""What is promised, by when, and how is it kept? A promised day never moves silently: a moved promise is another promise."""

from __future__ import annotations

from datetime import date
from typing import Any

from django.db import transaction
from django.db.models import F

from portal.accounts.models import User
from portal.kernel.clock import now
from portal.kernel.errors import Conflict, Invalid, LostRace
from portal.kernel.moves import move
from portal.ledger.services import record
from requests_app import events
from requests_app.negotiation import fulfilment
from requests_app.negotiation.models import Promise
from requests_app.negotiation.states import PROMISE, PromiseAction, PromiseState
from requests_app.quotas import services as quotas
from requests_app.quotas.models import Hold
from requests_app.tickets import lines as steps
from requests_app.tickets.deciders import only_triagers
from requests_app.tickets.models import Line, Ticket
from requests_app.tickets.settling import locked, settle
from requests_app.tickets.wording import text_of

DESK = "make, move and keep promises"


def make_promise(line: Line, *, quantity: int, due_on: date, hold: Hold | None, by: User | None) -> Promise:
    """Promise `quantity` of a granted line, whose `promised_qty` holds it already, for a day. The caller settles the ticket."""
    made = Promise.objects.create(
        line=line,
        quantity=quantity,
        due_on=due_on,
        first_due_on=due_on,
        hold=hold,
        made_by=by,
        status=PROMISE.initial,
    )
    record(events.PROMISE_MADE, subject=_ref(line), payload=_said(made), by=by)
    return made


@transaction.atomic
def move_promise(*, promise: Promise, version: int, due_on: date, reason: str, by: User) -> Promise:
    """Promise another day, with a reason that the team reads. The first day stays the one that is measured."""
    only_triagers(by, DESK)
    reason = text_of("reason", reason)
    ticket, promise = _locked(promise, version)
    if due_on < now().date():
        raise Invalid({"due_on": ["Promise a day to come."]})
    if due_on == promise.due_on:
        raise Invalid({"due_on": ["That is the day it is promised for already."]})
    at = now()
    move(promise, PromiseAction.MOVE, machine=PROMISE, extra={"ended_at": at})
    made = Promise.objects.create(
        line=promise.line,
        quantity=promise.quantity,
        due_on=due_on,
        first_due_on=promise.first_due_on,
        replaces=promise,
        reason=reason,
        hold=promise.hold,
        made_by=by,
        status=PROMISE.initial,
    )
    Line.objects.filter(pk=promise.line_id).update(promised_on=due_on)
    payload = {**_said(made), "was": promise.due_on.isoformat(), "reason": reason}
    record(events.PROMISE_MOVED, subject=ticket.ref, payload=payload, by=by)
    settle(ticket, by=by)
    return made


@transaction.atomic
def keep_promise(*, promise: Promise, version: int, note: str = "", by: User | None) -> Promise:
    """Set off what was promised: an order, a grant, or a hand-over with a note. `by` is None when its day has come.

    Raises Conflict while another order of the line runs, and whatever quota and fleet refuse; then nothing has changed.
    """
    if by is not None:
        only_triagers(by, DESK)
    ticket, promise = _locked(promise, version)
    line = promise.line
    if line.ordered_qty:
        raise Conflict(
            f"{line.label}: order {line.order_ref} still runs; the promise can be kept when it is done."
        )
    if fulfilment.by_hand(line):
        note = text_of("note", note)
    Line.objects.filter(pk=line.pk).update(promised_qty=F("promised_qty") - promise.quantity)
    line.refresh_from_db()
    step = fulfilment.Step(
        ticket=ticket,
        line=line,
        quantity=promise.quantity,
        source=f"{line.source}/p{promise.pk}",
        hold=promise.hold,
    )
    order = fulfilment.begin(step, by=by)
    if order:
        extra = {"order_ref": order, "tried_at": now()}
        move(promise, PromiseAction.START, machine=PROMISE, extra=extra)
        payload = {**_said(promise), "order": order}
        record(events.PROMISE_STARTED, subject=ticket.ref, payload=payload, by=by)
    else:
        if fulfilment.by_hand(line):
            steps.deliver(line, promise.quantity, by=by)
        _keep(promise, by)
    settle(ticket, by=by, extra={"note": note} if note else None, said={"note": note})
    return promise


@transaction.atomic
def cancel_promise(*, promise: Promise, version: int, reason: str, by: User) -> Promise:
    """Take a promise back, with a reason. When nothing else was granted, its line is back at the desk."""
    only_triagers(by, DESK)
    reason = text_of("reason", reason)
    ticket, promise = _locked(promise, version)
    line = promise.line
    _cancel(promise, reason, by)
    Line.objects.filter(pk=line.pk).update(
        promised_qty=F("promised_qty") - promise.quantity,
        given_up_qty=F("given_up_qty") + promise.quantity,
        promised_on=None,
    )
    line.refresh_from_db()
    if line.given_up_qty == line.granted_qty:
        steps.reopen(line, returned=True, reason=reason, by=by)
    settle(ticket, by=by, extra={"reason": reason}, said={"reason": reason})
    return promise


def cancel_of_line(line: Line, *, reason: str, by: User | None) -> None:
    """The line came to nothing: so do its open promises, and what was set aside for them is free."""
    for promise in Promise.objects.filter(line=line, status=PromiseState.OPEN).select_related("line"):
        _cancel(promise, reason or "What it belonged to came to nothing.", by)


def keep_by_order(*, order_ref: str) -> None:
    """The order that keeps a promise is ready. Does nothing the second time."""
    for promise in _by_order(order_ref):
        _keep(promise, None)


def fail_by_order(*, order_ref: str, reason: str) -> bool:
    """The order that was to keep a promise came to nothing: it stands again, overdue if its day has passed. True if there is one."""
    found = _by_order(order_ref)
    for promise in found:
        move(promise, PromiseAction.FAIL, machine=PROMISE, extra={"order_ref": ""})
        Line.objects.filter(pk=promise.line_id).update(
            ordered_qty=F("ordered_qty") - promise.quantity, promised_qty=F("promised_qty") + promise.quantity
        )
        if promise.hold is not None:
            quotas.bind_order(hold=promise.hold, order_ref="")
        payload = {**_said(promise), "order": order_ref, "reason": reason}
        record(events.PROMISE_FAILED, subject=_ref(promise.line), payload=payload, by=None)
    return bool(found)


def _by_order(order_ref: str) -> list[Promise]:
    rows = Promise.objects.filter(order_ref=order_ref, status=PromiseState.KEEPING)
    return list(rows.select_related("line", "hold")) if order_ref else []


def _keep(promise: Promise, by: User | None) -> None:
    at = now()
    move(promise, PromiseAction.KEEP, machine=PROMISE, extra={"kept_at": at, "ended_at": at})
    payload = {**_said(promise), "on_time": at.date() <= promise.first_due_on}
    record(events.PROMISE_KEPT, subject=_ref(promise.line), payload=payload, by=by)


def _cancel(promise: Promise, reason: str, by: User | None) -> None:
    move(promise, PromiseAction.CANCEL, machine=PROMISE, extra={"ended_at": now()})
    if promise.hold_id is not None:
        quotas.free_hold(hold_id=promise.hold_id, by=by)
    payload = {**_said(promise), "reason": reason}
    record(events.PROMISE_CANCELLED, subject=_ref(promise.line), payload=payload, by=by)


def _locked(promise: Promise, version: int) -> tuple[Ticket, Promise]:
    """The promise as it is now and its ticket, held against others. LostRace when it isn't what the page showed."""
    ticket = locked(Ticket(pk=promise.line.ticket_id))
    fresh = Promise.objects.select_related("line", "hold").get(pk=promise.pk)
    if fresh.version != version:
        raise LostRace(
            f"This promise has changed since you opened it: it is {fresh.status} now. Nothing of yours was done; look again.",
            data={"ticket": ticket.ref, "promise": fresh.pk, "now": fresh.status, "version": fresh.version},
        )
    fresh.line.ticket = ticket
    return ticket, fresh


def _ref(line: Line) -> str:
    return line.source.partition("/")[0]


def _said(promise: Promise) -> dict[str, Any]:
    line = promise.line
    return {
        "promise": promise.pk,
        "position": line.position,
        "label": line.granted_label or line.label,
        "unit": line.unit,
        "quantity": promise.quantity,
        "due_on": promise.due_on.isoformat(),
        "first_due_on": promise.first_due_on.isoformat(),
    }
