"""Where can an offer and a promise stand, and what leads from where to where?"""

from __future__ import annotations

from enum import StrEnum

from portal.kernel.transitions import Machine


class OfferState(StrEnum):
    """Where one revision of an offer stands."""

    OPEN = "open"
    ACCEPTED = "accepted"
    COUNTERED = "countered"
    LAPSED = "lapsed"
    SUPERSEDED = "superseded"
    WITHDRAWN = "withdrawn"


class OfferAction(StrEnum):
    """What becomes of an open offer."""

    ACCEPT = "accept"
    COUNTER = "counter"
    LAPSE = "lapse"
    SUPERSEDE = "supersede"
    WITHDRAW = "withdraw"


OFFER = Machine(
    name="offer",
    initial=OfferState.OPEN,
    table={
        (OfferState.OPEN, OfferAction.ACCEPT): OfferState.ACCEPTED,
        (OfferState.OPEN, OfferAction.COUNTER): OfferState.COUNTERED,
        (OfferState.OPEN, OfferAction.LAPSE): OfferState.LAPSED,
        (OfferState.OPEN, OfferAction.SUPERSEDE): OfferState.SUPERSEDED,
        (OfferState.OPEN, OfferAction.WITHDRAW): OfferState.WITHDRAWN,
    },
)


class PromiseState(StrEnum):
    """Where a promise stands. `moved` has been replaced by another one with another date."""

    OPEN = "open"
    KEEPING = "keeping"
    KEPT = "kept"
    MOVED = "moved"
    CANCELLED = "cancelled"


class PromiseAction(StrEnum):
    """What becomes of a promise."""

    START = "start"
    KEEP = "keep"
    FAIL = "fail"
    MOVE = "move"
    CANCEL = "cancel"


PROMISE = Machine(
    name="promise",
    initial=PromiseState.OPEN,
    table={
        (PromiseState.OPEN, PromiseAction.START): PromiseState.KEEPING,
        (PromiseState.OPEN, PromiseAction.KEEP): PromiseState.KEPT,
        (PromiseState.OPEN, PromiseAction.MOVE): PromiseState.MOVED,
        (PromiseState.OPEN, PromiseAction.CANCEL): PromiseState.CANCELLED,
        (PromiseState.KEEPING, PromiseAction.KEEP): PromiseState.KEPT,
        (PromiseState.KEEPING, PromiseAction.FAIL): PromiseState.OPEN,
    },
)
LIVING = (PromiseState.OPEN, PromiseState.KEEPING)
"""Somebody still waits for these."""
