"""How is an event of a workaround or of its project said? Title, tone and longer words, from the event's payload."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from requests_app import events

Payload = Mapping[str, Any]
Told = tuple[str, str, str]


def _text(payload: Payload, name: str) -> str:
    value = payload.get(name)
    return value if isinstance(value, str) else ""


def _named(payload: Payload, title: str) -> str:
    ref = _text(payload, "workaround")
    return f"{title} {ref}".strip()


def _day(payload: Payload, name: str) -> str:
    return _text(payload, name)[:10]


def _lines(*said: str) -> str:
    return "\n".join(line for line in said if line)


def _granted(payload: Payload) -> Told:
    until = _day(payload, "until")
    return (
        _named(payload, "Workaround given:"),
        "info",
        _lines(_text(payload, "summary"), f"Until {until}." if until else ""),
    )


def _expiring(payload: Payload) -> Told:
    says = _text(payload, "says")
    return _named(payload, "A warning: workaround"), "warn", says.capitalize() + "." if says else ""


def _renewed(payload: Payload) -> Told:
    until = _day(payload, "until")
    return (
        _named(payload, "Renewed: workaround"),
        "info",
        _lines(f"Until {until}." if until else "", _text(payload, "reason")),
    )


WHY = {
    "expired": "Its time was over.",
    "replaced": "The proper solution has replaced it.",
    "ended": "It was ended before its time.",
    "never": "It was never applied.",
}


def _ended(payload: Payload) -> Told:
    return (
        _named(payload, "Gone: workaround"),
        "quiet",
        _lines(WHY.get(_text(payload, "why"), ""), _text(payload, "note")),
    )


def _reverting(payload: Payload) -> Told:
    task, owner = _text(payload, "task"), _text(payload, "owner_name")
    return (
        _named(payload, "Being taken back: workaround"),
        "active",
        _lines(
            WHY.get(_text(payload, "why"), ""),
            f"To be done by {owner or 'its owner'}: {task}" if task else "",
        ),
    )


def _wanted(payload: Payload) -> Told:
    ref, target = _text(payload, "replacement"), _day(payload, "target_on")
    body = _lines(_text(payload, "title"), f"Meant for {target}." if target else "")
    return f"Project {ref} will replace the workaround".replace("  ", " "), "info", body


def _moved(payload: Payload) -> Told:
    ref, state = _text(payload, "replacement"), _text(payload, "state").replace("_", " ")
    tone = {"done": "ok", "dropped": "danger", "in progress": "active"}.get(state, "info")
    return f"Project {ref}: {state or 'moved on'}".replace(" :", ":"), tone, _text(payload, "reason")


def _retargeted(payload: Payload) -> Told:
    was, target = _day(payload, "was"), _day(payload, "target_on")
    moved = f"From {was} to {target}." if was and target else ""
    return (
        f"Project {_text(payload, 'replacement')} has another target".replace("  ", " "),
        "warn",
        _lines(moved, _text(payload, "reason")),
    )


TELLERS: Mapping[str, Callable[[Payload], Told]] = {
    events.WORKAROUND_GRANTED: _granted,
    events.WORKAROUND_STARTED: lambda told: (
        _named(told, "In effect: workaround"),
        "ok",
        _text(told, "summary"),
    ),
    events.WORKAROUND_FAILED: lambda told: (
        _named(told, "Could not be applied: workaround"),
        "danger",
        _text(told, "reason"),
    ),
    events.WORKAROUND_EXPIRING: _expiring,
    events.WORKAROUND_RENEWAL_ASKED: lambda told: (
        _named(told, "More time asked for workaround"),
        "warn",
        _text(told, "reason"),
    ),
    events.WORKAROUND_RENEWAL_REFUSED: lambda told: (
        _named(told, "No more time for workaround"),
        "warn",
        _text(told, "reason"),
    ),
    events.WORKAROUND_RENEWED: _renewed,
    events.WORKAROUND_REVERTING: _reverting,
    events.WORKAROUND_ENDED: _ended,
    events.WORKAROUND_STUCK: lambda told: (
        _named(told, "Can't be taken back: workaround"),
        "danger",
        _text(told, "reason"),
    ),
    events.WORKAROUND_PROPER: lambda told: (
        _named(told, "The proper solution after all: workaround"),
        "ok",
        _text(told, "because"),
    ),
    events.WORKAROUND_INTEREST: lambda told: (_named(told, "What it cost: workaround"), "", ""),
    events.WORKAROUND_CAP_SET: lambda _told: ("The cap on open workarounds was changed", "info", ""),
    events.REPLACEMENT_CREATED: lambda told: ("The project began", "info", _text(told, "title")),
    events.REPLACEMENT_WANTED: _wanted,
    events.REPLACEMENT_MOVED: _moved,
    events.REPLACEMENT_RETARGETED: _retargeted,
    events.REPLACEMENT_MILESTONE: lambda told: ("A milestone is done", "ok", _text(told, "milestone")),
}
