"""How is an event of a ticket's story said? One sentence, and what people wrote, from the event's name and payload."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from portal.kernel.units import say_span
from provisioning import events as order_events
from requests_app import events
from requests_app.negotiation.sentences import QUIET
from requests_app.negotiation.sentences import TELLERS as OF_OFFERS
from requests_app.tickets import rank_sentences
from requests_app.tickets.saying import Payload, Said
from requests_app.tickets.saying import span as _span
from requests_app.tickets.saying import text as _text
from requests_app.workarounds.sentences import TELLERS as OF_WORKAROUNDS

HIDDEN_FROM_TEAMS = frozenset(
    {
        *(
            events.TICKET_RANKED,
            events.POLICY_DECIDED,
            events.OUTCOME_GIVEN,
            events.CLOCK_AT_RISK,
            events.WORKAROUND_INTEREST,
        ),
        *(events.TICKET_SNOOZED, events.TICKET_WOKEN, events.TICKET_TAGGED),
        *(events.TICKET_RELATED, events.TICKET_UNRELATED),
    }
)
"""What the desk alone reads: it is there on the desk's panel, in full."""

SHOWN_OTHERWISE = frozenset({events.TICKET_COMMENTED, events.TICKET_COMMENT_EDITED, *QUIET})
"""The comment itself stands in the story, and a line's verdict in the table of lines."""


def say(name: str, payload: Payload) -> Said:
    """The sentence of an event; one without a sentence of its own is said by its name."""
    if name in OF_WORKAROUNDS:
        return Said(*OF_WORKAROUNDS[name](payload))
    teller = _TELLERS.get(name)
    if teller is not None:
        return teller(payload)
    now = _text(payload, "now")
    title = now or name.replace(".", " ").replace("_", " ").capitalize()
    return Said(title, "active" if now else "", "" if now else _text(payload, "reason"))


def _rows(payload: Payload) -> list[Payload]:
    lines = payload.get("lines")
    return [line for line in lines if isinstance(line, dict)] if isinstance(lines, list) else []


def _submitted(payload: Payload) -> Said:
    rows = [
        f"{line.get('asked')} {line.get('unit') or ''} {line.get('sku') or line.get('label') or ''}"
        for line in _rows(payload)
    ]
    return Said("Request filed", "info", "\n".join(" ".join(row.split()) for row in rows))


def _approved(payload: Payload) -> Said:
    title = "Approved by a policy" if payload.get("by_policy") else "Approved"
    short = [
        f"{line.get('label')}: {line.get('granted')} of {line.get('asked')}"
        for line in _rows(payload)
        if line.get("granted") != line.get("asked")
    ]
    return Said(title, "ok", "\n".join([*short, _text(payload, "note")]).strip())


def _declined(payload: Payload) -> Said:
    nearest = _text(payload, "nearest_yes")
    body = _text(payload, "reason") + (f"\nWhat would work: {nearest}" if nearest else "")
    return Said("Declined", "danger", body)


def _ranked(payload: Payload) -> Said:
    start = _span(payload, "head_start")
    return Said("Ranked", "", "" if start is None else f"head start {say_span(start)}")


def _policy(payload: Payload) -> Said:
    reasons = payload.get("reasons")
    body = "\n".join(str(each) for each in reasons) if isinstance(reasons, list) else ""
    return Said("Policy: approve" if payload.get("approved") else "Policy: a person decides", "", body)


def _swapped(payload: Payload) -> Said:
    return Said(
        f"{payload.get('old', 'A node')} replaced by {payload.get('new', 'a spare')}",
        "warn",
        _text(payload, "reason"),
    )


_CLOCKS = {
    "answer": "The time for a first answer",
    "decision": "The time for a decision",
    "promise": "A promised date",
    "unblock": "The time to unblock the team",
}


def _clock(payload: Payload, what: str) -> Said:
    return Said(f"{_CLOCKS.get(_text(payload, 'clock'), 'A goal')} {what}", "warn", _text(payload, "about"))


def _snoozed(payload: Payload) -> Said:
    until = _text(payload, "until")[:16].replace("T", " ")
    activity = payload.get("wake") == "activity"
    return Said(
        "Snoozed until somebody says something" if activity else f"Snoozed until {until} UTC",
        "quiet",
        _text(payload, "reason"),
    )


def _undone(payload: Payload) -> Said:
    return Said(f"Taken back: {_text(payload, 'says') or 'the last step'}", "quiet")


def _related(payload: Payload) -> Said:
    return Said(f"{_text(payload, 'says').capitalize()} {_text(payload, 'other')}", "info")


_TELLERS: Mapping[str, Callable[[Payload], Said]] = {
    **rank_sentences.TELLERS,
    **OF_OFFERS,
    events.TICKET_SUBMITTED: _submitted,
    events.TICKET_ANSWERED: lambda payload: Said("The team answered", "info", _text(payload, "answer")),
    events.TICKET_COMMENT_HIDDEN: lambda _payload: Said("A comment was kept among infra people", "quiet"),
    events.TICKET_FILE_ADDED: lambda payload: Said("File added", "", _text(payload, "file")),
    events.TICKET_FILE_REMOVED: lambda payload: Said("File removed", "quiet", _text(payload, "file")),
    events.TICKET_WITHDRAWN: lambda payload: Said("Withdrawn", "quiet", _text(payload, "reason")),
    events.TICKET_CLOSED: lambda _payload: Said("Closed: good as it is", "ok"),
    events.TICKET_REOPENED: lambda payload: Said("Opened again", "warn", _text(payload, "reason")),
    events.OUTCOME_GIVEN: lambda _payload: Said("Somebody said how it went", "quiet"),
    events.CLOCK_AT_RISK: lambda payload: _clock(payload, "may be missed"),
    events.CLOCK_MISSED: lambda payload: _clock(payload, "was missed"),
    events.TICKET_RANKED: _ranked,
    events.POLICY_DECIDED: _policy,
    events.TICKET_TAKEN: lambda payload: Said(f"Taken by {_text(payload, 'assignee') or 'the desk'}", "info"),
    events.TICKET_APPROVED: _approved,
    events.TICKET_DECLINED: _declined,
    events.TICKET_ASKED_BACK: lambda payload: Said("The desk asks", "warn", _text(payload, "question")),
    events.TICKET_STARTED: lambda payload: Said(f"Order {_text(payload, 'order')} placed", "active"),
    events.TICKET_DELIVERED: lambda payload: Said("Delivered", "ok", _text(payload, "note")),
    events.TICKET_RETURNED: lambda payload: Said("Back at the desk", "warn", _text(payload, "reason")),
    events.TICKET_ASSIGNED: lambda payload: Said(
        f"Given to {_text(payload, 'assignee')}" if payload.get("assignee") else "Given to nobody", "info"
    ),
    events.TICKET_SNOOZED: _snoozed,
    events.TICKET_WOKEN: lambda payload: Said("Back in the inbox", "info", _text(payload, "why")),
    events.TICKET_TAGGED: lambda payload: Said(f"Tagged {_text(payload, 'reason_code') or 'with nothing'}"),
    events.TICKET_MERGED: lambda payload: Said("Another request took this one over", "quiet"),
    events.TICKET_ABSORBED: lambda payload: Said("A duplicate was merged into this request", "info"),
    events.TICKET_RELATED: _related,
    events.TICKET_UNRELATED: lambda payload: Said(
        f"No longer {_text(payload, 'says')} {_text(payload, 'other')}", "quiet"
    ),
    events.TICKET_UNDONE: _undone,
    order_events.ORDER_PLACED: lambda _payload: Said("Provisioning began", "active"),
    order_events.ORDER_READY: lambda payload: Said(
        f"Cluster {_text(payload, 'cluster')} is ready", "ok", _text(payload, "now")
    ),
    order_events.ORDER_DONE: lambda payload: Said("The order is done", "ok", _text(payload, "now")),
    order_events.ORDER_FAILED: lambda payload: Said(
        "The order came to nothing", "danger", _text(payload, "reason")
    ),
    order_events.ORDER_CANCELLED: lambda payload: Said(
        "The order was cancelled", "quiet", _text(payload, "reason")
    ),
    order_events.ORDER_MOVED: lambda payload: Said(
        _text(payload, "status").capitalize() or "Under way", "active", _text(payload, "now")
    ),
    order_events.NODES_RESERVED: lambda payload: Said("Nodes reserved", "active", _text(payload, "why")),
    order_events.NODE_SWAPPED: _swapped,
}
