"""What becomes of one line? A verdict that is kept, and quantities that move from granted to delivered."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db.models import F

from portal.accounts.models import User
from portal.kernel.clock import now
from portal.kernel.errors import LostRace
from portal.ledger.services import record
from requests_app import events
from requests_app.tickets.models import Line, LineDecision, LineVerdict, Ticket


def decide(
    line: Line,
    verdict: LineVerdict,
    granted: int,
    *,
    by: User | None,
    at: datetime | None = None,
    reason_code: str = "",
    reason: str = "",
    **more: Any,
) -> Line:
    """Give a pending line its verdict, once; `more` sets other columns with it. LostRace when it has one already."""
    at = at or now()
    said = {"reason_code": reason_code, "reason": reason, "decided_at": at, "decided_by": by}
    changes = {
        "verdict": verdict,
        "granted_qty": granted,
        "in_offer": False,
        "awaits_team": False,
        "returned_at": None,
        **said,
        **more,
    }
    pending = Line.objects.filter(pk=line.pk, verdict=LineVerdict.PENDING, round=line.round)
    if not pending.update(**changes):
        raise LostRace(
            f"{line.source} was decided while you looked at it; look again.", data={"line": line.position}
        )
    for name, value in changes.items():
        setattr(line, name, value)
    LineDecision.objects.create(line=line, round=line.round, verdict=verdict, granted_qty=granted, **said)
    payload = {
        "position": line.position,
        "label": line.granted_label or line.label,
        "unit": line.unit,
        "verdict": str(verdict),
        "asked": line.asked_qty,
        "granted": granted,
        "reason_code": reason_code,
        "reason": reason,
    }
    record(events.LINE_DECIDED, subject=_ref(line), payload=payload, by=by)
    return line


def reopen(line: Line, *, returned: bool, reason: str = "", by: User | None) -> Line:
    """Put a decided line before the desk again, in another round; what was decided stays in its decisions.

    `returned` says that what was granted came to nothing; otherwise a person takes the decision back. Does nothing to a line
    that is pending.
    """
    if line.verdict == LineVerdict.PENDING:
        return line
    changes: dict[str, Any] = {
        "verdict": LineVerdict.PENDING,
        "granted_qty": None,
        "granted_sku": "",
        "granted_label": "",
        "round": line.round + 1,
        "returned_at": now() if returned else None,
        "reason_code": "",
        "reason": reason,
        "decided_at": None,
        "decided_by": None,
        "in_offer": False,
        "awaits_team": False,
        "ordered_qty": 0,
        "promised_qty": 0,
        "promised_on": None,
        "delivered_qty": 0,
        "delivered_at": None,
        "given_up_qty": 0,
    }
    same = Line.objects.filter(pk=line.pk, verdict=line.verdict, round=line.round)
    if not same.update(**changes):
        raise LostRace(
            f"{line.source} has changed while you looked at it; look again.", data={"line": line.position}
        )
    for name, value in changes.items():
        setattr(line, name, value)
    payload = {"position": line.position, "label": line.label, "returned": returned, "reason": reason}
    record(events.LINE_REOPENED, subject=_ref(line), payload=payload, by=by)
    return line


def drop_pending(ticket: Ticket, *, by: User | None) -> int:
    """The team takes back whatever is not decided; returns how many lines that were."""
    pending = list(ticket.lines.filter(verdict=LineVerdict.PENDING))
    for line in pending:
        decide(line, LineVerdict.DROPPED, 0, by=by)
    return len(pending)


def order(line: Line, quantity: int, order_ref: str) -> None:
    """An order runs for `quantity` of what was granted."""
    rows = Line.objects.filter(pk=line.pk)
    rows.update(ordered_qty=F("ordered_qty") + quantity, order_ref=order_ref, returned_at=None)
    line.refresh_from_db()


def unorder(line: Line, *, returned: bool = False) -> None:
    """The order that ran came to nothing; `returned` puts what it was to bring, and no more, before the desk."""
    back = {"returned_at": now()} if returned else {}
    Line.objects.filter(pk=line.pk).update(ordered_qty=0, **back)
    line.refresh_from_db()


def give_up(line: Line, *, reason: str, by: User | None) -> None:
    """What is missing of a granted line won't come; what is delivered stays."""
    Line.objects.filter(pk=line.pk).update(
        given_up_qty=F("given_up_qty") + line.by_hand_qty, returned_at=None, reason=reason
    )
    line.refresh_from_db()


def deliver(line: Line, quantity: int, *, ordered: bool = False, by: User | None, **more: Any) -> None:
    """`quantity` of it is the team's; `ordered` when the order that ran made it. `more` sets other columns with it."""
    took = {"ordered_qty": F("ordered_qty") - quantity} if ordered else {}
    Line.objects.filter(pk=line.pk).update(
        delivered_qty=F("delivered_qty") + quantity, delivered_at=now(), **took, **more
    )
    line.refresh_from_db()
    payload = {
        "position": line.position,
        "label": line.granted_label or line.label,
        "unit": line.unit,
        "quantity": quantity,
        "delivered": line.delivered_qty,
        "granted": line.granted_qty,
    }
    record(events.LINE_DELIVERED, subject=_ref(line), payload=payload, by=by)


def _ref(line: Line) -> str:
    return line.source.partition("/")[0]
