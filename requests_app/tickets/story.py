"""Where is a ticket, what is next, and who has it? Said to the requester in plain words."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from requests_app.tickets.states import TicketState

MANY = 1_000
"""Nobody counts further for a sentence; the page of the rank estimates."""


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What is known of a ticket. `ahead` counts tickets before it in the queue, None when it isn't ranked yet."""

    state: str
    since: datetime
    desk: str = ""
    lead_time: str = ""
    question: str = ""
    reason: str = ""
    nearest_yes: str = ""
    note: str = ""
    order: str = ""
    order_now: str = ""
    ahead: int | None = None


@dataclass(frozen=True, kw_only=True)
class Story:
    """`who` has it since `since`; `detail` is what people wrote about it, in their own words."""

    where: str
    next: str
    who: str
    since: datetime
    detail: str = ""
    tone: str = "info"


def tell(facts: Facts) -> Story:
    """The story of a ticket in any state; an unknown state is said, not guessed."""
    where, following, who, detail, tone = _TELLERS.get(facts.state, _unknown)(facts)
    return Story(where=where, next=following, who=who, since=facts.since, detail=detail, tone=tone)


Words = tuple[str, str, str, str, str]


def _place(ahead: int | None) -> str:
    if ahead is None:
        return "Its place in the queue is being worked out."
    if ahead == 0:
        return "It is next in the queue."
    if ahead > MANY:
        return f"More than {MANY:,} requests are ahead of it."
    return "One request is ahead of it." if ahead == 1 else f"{ahead} requests are ahead of it."


def _submitted(facts: Facts) -> Words:
    who = facts.desk or "the desk; nobody has taken it yet"
    following = f"A decision, or a question to you. Usual time: {facts.lead_time}"
    return f"Waiting for a decision. {_place(facts.ahead)}", following, who, "", "info"


def _waiting(facts: Facts) -> Words:
    return (
        "The desk has a question for you.",
        "Your answer. The clock stands still until then.",
        "your team",
        facts.question,
        "warn",
    )


def _offered(facts: Facts) -> Words:
    return (
        "The desk has made your team an offer.",
        "Take it, take part of it, say what you need instead, or let it lapse.",
        "your team",
        facts.note,
        "warn",
    )


def _promised(facts: Facts) -> Words:
    return (
        "Part of it is yours; the rest is promised for a day.",
        "The rest follows by itself on that day; a promise never moves without a reason.",
        facts.desk or "the infra team",
        facts.note,
        "info",
    )


def _merged(facts: Facts) -> Words:
    return (
        "It is the same as another request, which took it over.",
        "Follow the other one; what was said here is there too.",
        "nobody",
        facts.reason,
        "quiet",
    )


def _approved(facts: Facts) -> Words:
    who = facts.desk or "the infra team"
    return (
        "Approved; people are at work on it.",
        "They hand it over here, with a note.",
        who,
        facts.note,
        "ok",
    )


def _provisioning(facts: Facts) -> Words:
    where = facts.order_now or "Being provisioned."
    following = "Every node is measured before you get it; a bad one is replaced by a spare."
    who = f"Quartermaster, by order {facts.order}" if facts.order else "Quartermaster"
    return where, following, who, facts.note, "active"


def _returned(facts: Facts) -> Words:
    return (
        f"The order came to nothing, so it is back at the desk. {_place(facts.ahead)}",
        "A new decision. It kept its place in the queue.",
        facts.desk or "the desk",
        facts.reason,
        "warn",
    )


def _ready(facts: Facts) -> Words:
    return (
        "Delivered.",
        "Look it over, then close the request. Something is wrong? Say so in a comment.",
        "your team",
        facts.note,
        "ok",
    )


def _declined(facts: Facts) -> Words:
    following = (
        f"What would work instead: {facts.nearest_yes}"
        if facts.nearest_yes
        else "A comment reaches the desk."
    )
    return "Declined.", following, facts.desk or "the desk", facts.reason, "danger"


def _withdrawn(_facts: Facts) -> Words:
    return "Withdrawn by your team.", "Nothing; file it again when you need it.", "nobody", "", "quiet"


def _closed(facts: Facts) -> Words:
    return "Closed: you have what you asked for.", "Nothing more.", "nobody", facts.note, "quiet"


def _unknown(facts: Facts) -> Words:
    return f"In the state {facts.state}.", "–", "–", "", "unknown"


_TELLERS = {
    TicketState.SUBMITTED.value: _submitted,
    TicketState.WAITING.value: _waiting,
    TicketState.OFFERED.value: _offered,
    TicketState.PROMISED.value: _promised,
    TicketState.MERGED.value: _merged,
    TicketState.APPROVED.value: _approved,
    TicketState.PROVISIONING.value: _provisioning,
    TicketState.RETURNED.value: _returned,
    TicketState.READY.value: _ready,
    TicketState.DECLINED.value: _declined,
    TicketState.WITHDRAWN.value: _withdrawn,
    TicketState.CLOSED.value: _closed,
}
