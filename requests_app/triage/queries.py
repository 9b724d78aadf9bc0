"""What does a decider see beside a ticket? What may be done, and the room each line has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from portal.accounts.models import User
from portal.ledger.models import Event
from requests_app import events
from requests_app.quotas.services import room_for
from requests_app.tickets.access import Standing, possible
from requests_app.tickets.models import Line, LineVerdict, Ticket
from requests_app.tickets.queries import idle_doings
from requests_app.triage.reasons import REASONS


@dataclass(frozen=True, kw_only=True)
class Panel:
    """What a decider sees beside a ticket, and beside its rank, which has a card of its own."""

    may: frozenset[str]
    policy: dict[str, Any]
    lines: list[dict[str, Any]]
    by_hand: list[Line]
    reasons: dict[str, str]


def panel_of(ticket: Ticket, by: User) -> Panel:
    """Gather the panel: what may be done, what the policy said, and the room each line has."""
    decided = Event.objects.filter(subject=ticket.ref, name=events.POLICY_DECIDED).order_by("-id")
    standing, lines = Standing(triager=by.is_triager, infra=by.is_infra), list(ticket.lines.all())
    doings = set(possible(standing=standing, state=ticket.status)) - idle_doings(lines)
    return Panel(
        may=frozenset(str(doing) for doing in doings),
        policy=dict(decided.values_list("payload", flat=True).first() or {}),
        lines=[_line(ticket, line) for line in lines if line.verdict == LineVerdict.PENDING],
        by_hand=[line for line in lines if line.by_hand_qty],
        reasons=REASONS,
    )


def _line(ticket: Ticket, line: Line) -> dict[str, Any]:
    room = room_for(ticket.team, line.sku) if line.sku else None
    if room is None:
        says = ""
    elif room.limit is None:
        says = "the quota is unlimited"
    else:
        says = f"{room.left} of {room.limit} GPUs of the quota left"
    return {
        "position": line.position,
        "label": line.label,
        "unit": line.unit,
        "asked_qty": line.asked_qty,
        "room": says,
    }
