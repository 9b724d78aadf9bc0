"""How is an event of a block or of a rank said?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta

from portal.kernel.units import say_span
from requests_app import events
from requests_app.tickets.saying import Payload, Said, number, span, text


def _blocked(payload: Payload) -> Said:
    return Said("Blocked", "danger", f"{_counts(payload)}\n{text(payload, 'what')}".strip())


def _amended(payload: Payload) -> Said:
    was = payload.get("was")
    before = _counts(was) if isinstance(was, dict) else ""
    return Said("The facts of the block were corrected", "warn", f"{before} → {_counts(payload)}")


def _counts(payload: Payload) -> str:
    return f"{payload.get('people', 0)} people, {payload.get('idle_gpus', 0)} GPUs idle"


_SPOKE = {
    "confirmed": "{} says: I can't work",
    "half": "{} says: I work at half speed",
    "refused": "{} says: I can work",
}


def _spoke(payload: Payload) -> Said:
    words = _SPOKE.get(text(payload, "answer"), "{} spoke")
    return Said(words.format(text(payload, "person") or "A person"), "info")


def _pinned(payload: Payload) -> Said:
    moved = timedelta(hours=max(-10_000.0, min(10_000.0, number(payload, "hours"))))
    where = "forward" if moved > timedelta(0) else "back"
    return Said(f"Pinned {say_span(abs(moved))} {where}, for seven days", "warn", text(payload, "reason"))


def _effort(payload: Payload) -> Said:
    hours = payload.get("hours")
    if hours is None:
        return Said("Effort as the offering says", "info")
    return Said(f"First relief is expected to take {number(payload, 'hours'):g} infra-hours", "info")


def _commitment(words: str) -> Callable[[Payload], Said]:
    def said(payload: Payload) -> Said:
        body = f"{text(payload, 'what')}, on {text(payload, 'due_on')}; sponsor {text(payload, 'sponsor')}"
        return Said(words, "info", body)

    return said


_ENDED_BY = {
    "measured": "Measured: the GPUs are busy again",
    "withdrawn": "The block ended with the request",
}


def _relieved(payload: Payload) -> Said:
    lasted = span(payload, "seconds")
    title = _ENDED_BY.get(text(payload, "source"), "The team can work again")
    return Said(title, "ok", "" if lasted is None else f"after {say_span(lasted)}")


TELLERS: Mapping[str, Callable[[Payload], Said]] = {
    events.BLOCK_OPENED: _blocked,
    events.BLOCK_AMENDED: _amended,
    events.BLOCK_FOUND: lambda _payload: Said("The desk has looked: it is blocked", "info"),
    events.BLOCK_PERSON_SPOKE: _spoke,
    events.BLOCK_PEOPLE_NAMED: lambda payload: Said(
        "Asked for one click whether they can work", "info", text(payload, "names")
    ),
    events.BLOCK_MEASURED: lambda payload: Said(f"Measured: {payload.get('idle_gpus', 0)} GPUs idle", "info"),
    events.COMMITMENT_MADE: _commitment("Something is owed on a day; its sponsor is asked"),
    events.COMMITMENT_CONFIRMED: _commitment("The sponsor confirms what is owed"),
    events.COMMITMENT_DROPPED: _commitment("What was owed is owed no more"),
    events.RANK_PINNED: _pinned,
    events.RANK_UNPINNED: lambda payload: Said("The pin is gone", "info", text(payload, "reason")),
    events.EFFORT_SET: _effort,
    events.TICKET_EXPEDITED: lambda payload: Said("In the expedite lane", "warn", text(payload, "reason")),
    events.TICKET_UNEXPEDITED: lambda _payload: Said("Out of the expedite lane", "info"),
    events.TICKET_RELIEVED: _relieved,
}
