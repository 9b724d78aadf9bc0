"""Is what the desk proposes for a line sound? Complaints by field, and the days until first relief."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from requests_app.tickets.reasons import REASONS

KINDS = {
    "now": "All of it now",
    "part": "Less now, the rest on a day",
    "later": "All of it on a day",
    "instead": "Something else instead",
    "no": "No",
}
CLASSES = {
    "best-effort": "best effort: may be taken back when others need it",
    "standard": "standard: yours until it ends",
    "protected": "protected: spares are kept for it",
}
LONGEST_LABEL = 200
LONGEST_TEXT = 5000


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """What is proposed for the line at `position`: `now_qty` at once, `later_qty` on `later_on`, in the line's unit.

    `relief_days` are days until the first of it helps, None for the usual. A kind that leaves quantities out means all of it.
    """

    position: int
    kind: str
    now_qty: int | None = None
    later_qty: int | None = None
    later_on: date | None = None
    instead_sku: str = ""
    instead_label: str = ""
    reason_code: str = ""
    reason: str = ""
    nearest_yes: str = ""
    relief_days: int | None = None
    reliability: str = "standard"


@dataclass(frozen=True, kw_only=True)
class Amounts:
    """How much of a line is offered when."""

    now: int
    later: int


def amounts(proposal: Proposal, asked: int) -> Amounts:
    """The quantities that a proposal means."""
    now, later = proposal.now_qty, proposal.later_qty
    if proposal.kind == "no":
        return Amounts(now=0, later=0)
    if proposal.kind == "later":
        return Amounts(now=0, later=asked if later is None else later)
    if proposal.kind == "part":
        first = 0 if now is None else now
        rest = max(0, asked - first) if proposal.later_on is not None else 0
        return Amounts(now=first, later=rest if later is None else later)
    return Amounts(now=asked if now is None else now, later=0)


def complaints(proposal: Proposal, *, asked: int, today: date) -> dict[str, str]:
    """What is wrong with a proposal for a line of which `asked` was asked, by field; empty when it is sound."""
    if proposal.kind not in KINDS:
        return {"kind": f"Choose one of: {', '.join(KINDS)}."}
    found = dict(_about_words(proposal))
    found.update(_about_amounts(proposal, amounts(proposal, asked), asked))
    found.update(_about_days(proposal, amounts(proposal, asked), today))
    return found


def relief(proposal: Proposal, *, asked: int, at_once: bool, today: date) -> int | None:
    """Days until the first of it helps: as stated, or 0 for what happens at once, 1 for what is made, or until its day."""
    if proposal.kind == "no":
        return None
    if proposal.relief_days is not None:
        return proposal.relief_days
    if amounts(proposal, asked).now:
        return 0 if at_once else 1
    return 1 if proposal.later_on is None else max(0, (proposal.later_on - today).days)


def _about_words(proposal: Proposal) -> Iterator[tuple[str, str]]:
    if proposal.reliability not in CLASSES:
        yield "reliability", f"Choose one of: {', '.join(CLASSES)}."
    if proposal.reason_code and proposal.reason_code not in REASONS:
        yield "reason_code", f"Choose one of: {', '.join(REASONS)}."
    if proposal.kind == "no":
        yield from _about_no(proposal)
    if proposal.kind == "instead" and not (proposal.instead_label.strip() or proposal.instead_sku):
        yield "instead_label", "Say what they would get instead."
    if len(proposal.instead_label) > LONGEST_LABEL:
        yield "instead_label", f"At most {LONGEST_LABEL} characters."
    for name in ("reason", "nearest_yes"):
        if len(getattr(proposal, name)) > LONGEST_TEXT:
            yield name, f"At most {LONGEST_TEXT} characters."


def _about_no(proposal: Proposal) -> Iterator[tuple[str, str]]:
    if not proposal.reason_code:
        yield "reason_code", "A no has a reason."
    if not proposal.reason.strip():
        yield "reason", "Say it in a sentence; the team reads this."


def _about_amounts(proposal: Proposal, amount: Amounts, asked: int) -> Iterator[tuple[str, str]]:
    if proposal.kind in {"no", "instead"}:
        if proposal.kind == "instead" and not 1 <= amount.now <= 1_000_000:
            yield "now_qty", "Offer at least one."
        return
    if proposal.kind == "now" and amount.now != asked:
        yield "now_qty", f"All of it is {asked}; choose less now for less."
    if proposal.kind == "part" and not 1 <= amount.now < asked:
        yield "now_qty", f"Less now is from 1 to {asked - 1}." if asked > 1 else "There is no less than one."
    if amount.later < 0 or amount.now + amount.later > asked:
        yield "later_qty", f"Together they can't be more than the {asked} asked."
    if proposal.kind == "later" and amount.later < 1:
        yield "later_qty", "Offer at least one."
    if amount.now + amount.later < asked and not proposal.reason_code:
        yield "reason_code", "Less than was asked has a reason."


def _about_days(proposal: Proposal, amount: Amounts, today: date) -> Iterator[tuple[str, str]]:
    if amount.later > 0 and proposal.later_on is None:
        yield "later_on", "Say the day on which the rest comes."
    if proposal.later_on is not None and proposal.later_on <= today:
        yield "later_on", "Promise a day to come."
    if proposal.relief_days is not None and not 0 <= proposal.relief_days <= 3660:
        yield "relief_days", "Use days from 0 to 3660."
