"""Which tone does a state have? One table for every state of the house; chips, timelines and racks read it."""

from __future__ import annotations

from enum import StrEnum


class Tone(StrEnum):
    """How a thing stands. Each tone has a colour and a mark of its own, so that no one needs the colour."""

    OK = "ok"  # done and good
    WARN = "warn"  # works, but look at it
    DANGER = "danger"  # broken or refused
    INFO = "info"  # decided, about to go on
    ACTIVE = "active"  # going on right now
    QUIET = "quiet"  # over, or nobody's turn
    UNKNOWN = "unknown"  # nobody knows: not measured


_STATES: dict[Tone, str] = {
    Tone.OK: "ready fit pass ok sent succeeded done delivered free granted active valid relieved fulfilled kept",
    Tone.WARN: "waiting degraded warn returned draining offered partial changed expiring unstable repairing"
    " renewal_asked countered moved paused",
    Tone.DANGER: "unfit fail failed declined quarantined unreachable lost dead overdue revoked interrupted timed_out"
    " stuck",
    Tone.INFO: "submitted approved placed reserved queued in_use pending registered accepted held claimed promised"
    " frozen planned proposed open",
    Tone.ACTIVE: "provisioning sending running building validating releasing starting joining wiping"
    " applying reverting in_progress confirming revalidating resizing swapping measuring cancelling keeping"
    " spread",
    Tone.QUIET: "withdrawn closed merged released retired cancelled expired draft skipped idle superseded waived used freed"
    " ended dropped lapsed",
    Tone.UNKNOWN: "not_measured not_attempted unknown missing",
}
_TONE_OF: dict[str, Tone] = {state: tone for tone, states in _STATES.items() for state in states.split()}

_WORDS = {
    "in_use": "in use",
    "not_measured": "not measured",
    "not_attempted": "not attempted",
    "renewal_asked": "renewal asked",
    "returned": "back at the desk",
    "stuck": "can't be taken back",
    "waiting": "waiting for an answer",
    "spread": "running in parts",
}


def tone_of(state: str) -> Tone:
    """The tone of `state`; one that the table doesn't know is unknown, not good."""
    return _TONE_OF.get(state, Tone.UNKNOWN)


def word_of(state: str) -> str:
    """`state` as people read it."""
    return _WORDS.get(state, state.replace("_", " "))


def known(state: str) -> bool:
    """True when the table has `state`; a test asks it for every state of every machine."""
    return state in _TONE_OF
