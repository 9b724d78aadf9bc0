"""What do pages and the API say of a rank? The place, the bars that add up, what would change it, and what overrides it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from portal.accounts.models import User
from requests_app.priority import advice
from requests_app.priority.facts import effort_of
from requests_app.priority.models import Expedite, Pin, PriorityPolicy
from requests_app.priority.policies import active_policy
from requests_app.priority.queries import Place, nearest_ahead, place_of, stored_facts
from requests_app.priority.scoring import Facts
from requests_app.tickets.models import Ticket

TITLES = {
    "impact": "What is lost",
    "confidence": "How sure it is",
    "workaround": "Workaround",
    "fairness": "Fair share",
    "effort": "Effort",
    "usual": "The usual ticket",
    "limit": "Limit",
    "pin": "Pin",
}
SHOWN_AHEAD = 10


@dataclass(frozen=True, kw_only=True)
class BarTold:
    """One signed bar: hours for the drawing, seconds for the sum."""

    name: str
    title: str
    says: str
    seconds: int

    @property
    def hours(self) -> float:
        """Signed hours of head start."""
        return self.seconds / 3600


@dataclass(frozen=True, kw_only=True)
class Ahead:
    """A ticket just ahead, for infra people alone: why, and by how much."""

    ticket: Ticket
    because: str
    seconds: int


@dataclass(frozen=True, kw_only=True)
class RankTold:
    """All about the rank of one ticket, for one reader."""

    ticket: Ticket
    place: Place | None
    bars: tuple[BarTold, ...]
    head_start: int
    changes: tuple[advice.Change, ...]
    facts: Facts | None
    policy: PriorityPolicy
    pin: Pin | None
    expedite: Expedite | None
    effort: float
    may_overrule: bool
    ahead: tuple[Ahead, ...] = ()

    @property
    def largest(self) -> float:
        """The longest bar, in hours; the drawings are to its scale."""
        return max((abs(bar.hours) for bar in self.bars), default=1.0) or 1.0

    @property
    def waited(self) -> timedelta:
        """How long it waited for its team."""
        return timedelta(seconds=0 if self.facts is None else self.facts.paused)

    @property
    def is_current(self) -> bool:
        """False while a new policy has not reached this ticket yet."""
        return bool(self.ticket.rank_explanation.get("policy_version") == self.policy.number)


def rank_of(ticket: Ticket, user: User, *, in_full: bool = False) -> RankTold:
    """Gather it; whoever calls got the ticket from `visible_to(user)`. Titles of other tickets are for infra people."""
    explanation: dict[str, Any] = ticket.rank_explanation
    facts, policy = stored_facts(ticket), active_policy()
    place = place_of(ticket)
    return RankTold(
        ticket=ticket,
        place=place,
        bars=tuple(_bar(bar) for bar in explanation.get("bars", ())),
        head_start=int(explanation.get("head_start", 0)),
        changes=() if facts is None or place is None else advice.what_would_change(facts, policy.constants),
        facts=facts,
        policy=policy,
        pin=ticket.pins.filter(ended_at=None).select_related("made_by").first(),
        expedite=ticket.expedites.filter(ended_at=None).select_related("made_by").first(),
        effort=effort_of(ticket),
        may_overrule=user.is_triager,
        ahead=_ahead(ticket) if in_full and user.is_infra and place is not None else (),
    )


def _bar(bar: dict[str, Any]) -> BarTold:
    name = str(bar["name"])
    return BarTold(
        name=name, title=TITLES.get(name, name), says=str(bar.get("says", "")), seconds=int(bar["seconds"])
    )


def _ahead(ticket: Ticket) -> tuple[Ahead, ...]:
    mine = advice.standing(ticket.rank_facts, ticket.rank_explanation)
    found = []
    for other in nearest_ahead(ticket)[:SHOWN_AHEAD]:
        theirs = advice.standing(other.rank_facts, other.rank_explanation)
        why = advice.BECAUSE[advice.main_reason(mine, theirs)]
        seconds = (ticket.rank_key or 0) - (other.rank_key or 0)
        found.append(Ahead(ticket=other, because=why, seconds=seconds))
    return tuple(found)
