"""How are offers, verdicts and promises said in a ticket's story?"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from requests_app import events
from requests_app.tickets.saying import Payload, Said, number, text

QUIET = frozenset({events.LINE_DECIDED, events.LINE_DELIVERED})
"""The table of lines says these, and the decision or the delivery that they belong to stands in the story."""


def _rows(payload: Payload, name: str) -> list[Payload]:
    rows = payload.get(name)
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _label(payload: Payload, position: object) -> str:
    labels = payload.get("labels")
    said = labels.get(str(position)) if isinstance(labels, dict) else None
    return said if isinstance(said, str) else f"line {position}"


def _revision(payload: Payload) -> int:
    return int(number(payload, "revision"))


def _proposed(payload: Payload) -> Said:
    rows = [_offered(row) for row in _rows(payload, "lines")]
    return Said(
        f"The desk made offer {_revision(payload)}", "warn", "\n".join([*rows, text(payload, "note")]).strip()
    )


def _offered(row: Payload) -> str:
    label, kind = text(row, "label"), text(row, "kind")
    if kind == "no":
        return f"{label}: no, {text(row, 'reason')}"
    parts = []
    if number(row, "now"):
        parts.append(f"{int(number(row, 'now'))} now")
    if number(row, "later"):
        parts.append(f"{int(number(row, 'later'))} on {text(row, 'later_on')}")
    return f"{label}: {', '.join(parts)} of {int(number(row, 'asked'))}" + (
        " (instead)" if kind == "instead" else ""
    )


def _answered(payload: Payload) -> Said:
    accepted, dropped = payload.get("accepted"), payload.get("dropped")
    rows = [f"takes {_label(payload, each)}" for each in accepted] if isinstance(accepted, list) else []
    rows += [_countered(payload, row) for row in _rows(payload, "countered")]
    rows += (
        [f"no longer needs {_label(payload, each)}" for each in dropped] if isinstance(dropped, list) else []
    )
    what = "accepted" if accepted else "answered"
    tone = "ok" if accepted else "warn"
    return Said(
        f"The team {what} offer {_revision(payload)}",
        tone,
        "\n".join([*rows, text(payload, "words")]).strip(),
    )


def _countered(payload: Payload, row: Payload) -> str:
    said = [
        str(int(number(row, "quantity"))) if number(row, "quantity") else "",
        f"by {text(row, 'wanted_on')}" if text(row, "wanted_on") else "",
        text(row, "words"),
    ]
    wants = ", ".join(part for part in said if part)
    return f"asks of {_label(payload, row.get('position'))}: {wants}"


def _thing(payload: Payload) -> str:
    return " ".join(
        f"{int(number(payload, 'quantity'))} {text(payload, 'unit')} {text(payload, 'label')}".split()
    )


def _moved(payload: Payload) -> Said:
    title = f"Promise moved from {text(payload, 'was')} to {text(payload, 'due_on')}"
    return Said(title, "warn", f"{_thing(payload)}\n{text(payload, 'reason')}".strip())


def _kept(payload: Payload) -> Said:
    late = payload.get("on_time") is False
    return Said("Promise kept, late" if late else "Promise kept", "ok", _thing(payload))


def _reopened(payload: Payload) -> Said:
    title = f"{text(payload, 'label') or 'A line'} is decided anew"
    return Said(title, "warn", text(payload, "reason"))


TELLERS: Mapping[str, Callable[[Payload], Said]] = {
    events.LINE_DECIDED: lambda payload: Said(f"{text(payload, 'label')}: {text(payload, 'verdict')}"),
    events.LINE_REOPENED: _reopened,
    events.LINE_DELIVERED: lambda payload: Said(f"Delivered: {_thing(payload)}", "ok"),
    events.OFFER_PROPOSED: _proposed,
    events.OFFER_ACCEPTED: _answered,
    events.OFFER_COUNTERED: _answered,
    events.OFFER_ASKED: lambda payload: Said(
        f"The team asks about offer {_revision(payload)}", "warn", text(payload, "question")
    ),
    events.OFFER_ANSWERED: lambda payload: Said("The desk answered", "info", text(payload, "answer")),
    events.OFFER_LAPSED: lambda payload: Said(f"Offer {_revision(payload)} lapsed", "quiet"),
    events.OFFER_SUPERSEDED: lambda payload: Said(
        f"Offer {_revision(payload)} gave way to what came after it", "quiet"
    ),
    events.OFFER_WITHDRAWN: lambda payload: Said(
        f"Offer {_revision(payload)} is taken back", "quiet", text(payload, "words")
    ),
    events.PROMISE_MADE: lambda payload: Said(
        f"Promised for {text(payload, 'due_on')}", "info", _thing(payload)
    ),
    events.PROMISE_MOVED: _moved,
    events.PROMISE_STARTED: lambda payload: Said(
        f"Order {text(payload, 'order')} keeps a promise", "active", _thing(payload)
    ),
    events.PROMISE_FAILED: lambda payload: Said(
        "A promise could not be kept yet", "danger", f"{_thing(payload)}\n{text(payload, 'reason')}".strip()
    ),
    events.PROMISE_KEPT: _kept,
    events.PROMISE_CANCELLED: lambda payload: Said(
        "A promise is taken back", "danger", f"{_thing(payload)}\n{text(payload, 'reason')}".strip()
    ),
}
