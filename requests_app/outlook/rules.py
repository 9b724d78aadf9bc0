"""When will it be there, what can the team do meanwhile, and what does it cost? Said in plain words, from facts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal

from portal.kernel.units import say_span
from requests_app.tickets.states import TicketState

ENOUGH = 8
"""Deliveries before the history of an offering says more than the offering's own lead time."""
HOURS_A_MONTH = 730
_RUNNING = frozenset(
    {TicketState.SUBMITTED, TicketState.RETURNED, TicketState.APPROVED, TicketState.PROVISIONING}
)
_ASKED = frozenset({TicketState.SUBMITTED, TicketState.RETURNED, TicketState.WAITING, TicketState.OFFERED})


@dataclass(frozen=True, kw_only=True)
class History:
    """How long the last `n` requests like it took from filing to delivery, in seconds."""

    n: int = 0
    p50: float | None = None
    p90: float | None = None


@dataclass(frozen=True, kw_only=True)
class OtherSku:
    """A kind of node beside the one that was asked for; `left` is the team's quota in GPUs, None without a limit."""

    name: str
    left: int | None
    free_nodes: int
    gpus_per_node: int


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What is known. `asked_nodes` is 0 when no nodes are asked for; `paused` is how long the team had it, all told."""

    state: str
    at: datetime
    submitted_at: datetime
    paused: timedelta = timedelta(0)
    lead_time: str = ""
    history: History = History()
    promised_on: date | None = None
    asked_nodes: int = 0
    gpus_per_node: int = 0
    free_nodes: int | None = None
    left: int | None = None
    others: tuple[OtherSku, ...] = ()
    blocked: bool = False
    claimed_people: int = 0
    confirmed_people: int = 0
    has_workaround: bool = False


@dataclass(frozen=True, kw_only=True)
class When:
    """An honest range: half of those like it by `early`, nine of ten by `late`; None where only words can be had."""

    says: str
    early: datetime | None = None
    late: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class Tip:
    """Something the team can do now; `where` is a part of the ticket's page, or `ask` for the form it came from."""

    says: str
    where: str = ""


@dataclass(frozen=True, kw_only=True)
class Cost:
    """`a_month` and `so_far` in `currency`, None without a price; GPU-hours are known always."""

    gpus: int
    a_month: Decimal | None
    so_far: Decimal | None
    gpu_hours_a_month: int
    gpu_hours_so_far: int
    per_gpu_hour: Decimal | None
    currency: str
    begun: bool


def when(facts: Facts) -> When | None:
    """None when nothing more is to come."""
    if facts.state in (TicketState.WAITING, TicketState.OFFERED):
        return When(says="As soon as your team has answered it goes on; until then its clock stands still.")
    if facts.state == TicketState.PROMISED and facts.promised_on is not None:
        return When(
            says=f"Promised for {facts.promised_on:%A %-d %B}. A promise moves only with a reason, and you hear it."
        )
    if facts.state not in _RUNNING:
        return None
    history = facts.history
    if history.n < ENOUGH or history.p50 is None or history.p90 is None:
        few = f" Only {history.n} like it were delivered so far, too few to say more." if history.n else ""
        return When(says=f"Usually: {facts.lead_time}{few}")
    start = facts.submitted_at + facts.paused
    early, late = start + timedelta(seconds=history.p50), start + timedelta(seconds=history.p90)
    if late <= facts.at:
        return When(
            says=f"Longer than nine of the last ten like it, which took {_about(history.p90)} at most. Ask in a comment."
        )
    said = (
        f"Of the last {history.n} like it half took {_about(history.p50)}, nine of ten {_about(history.p90)}."
    )
    return When(says=said, early=max(early, facts.at), late=late)


def _about(seconds: float) -> str:
    """A span as people say it: hours below two days, days above."""
    hours = seconds / 3600
    if hours < 1:
        return f"{max(1, round(seconds / 60))} min"
    return say_span(timedelta(hours=round(hours))) if hours < 48 else f"{round(hours / 24)} days"


def meanwhile(facts: Facts) -> tuple[Tip, ...]:
    """What the team can do now, the nearest first; empty when nothing would help."""
    return (*_theirs(facts), *_smaller(facts), *_elsewhere(facts), *_around(facts))[:4]


def _theirs(facts: Facts) -> Iterator[Tip]:
    if facts.state == TicketState.WAITING:
        yield Tip(says="Answer the desk's question; it is all that is missing.", where="answer-title")
    if facts.state == TicketState.OFFERED:
        yield Tip(says="Look at the offer: take it, take a part of it, or say what you need instead.")
    missing = facts.claimed_people - facts.confirmed_people
    if facts.blocked and missing > 0:
        who = "The one who is blocked" if missing == 1 else f"The {missing} people who are blocked"
        yield Tip(
            says=f"{who} can confirm it with a click each: a confirmed word counts more than a claim.",
            where="blocks",
        )


def _smaller(facts: Facts) -> Iterator[Tip]:
    if facts.state not in _ASKED or facts.asked_nodes == 0 or facts.free_nodes is None:
        return
    by_quota = facts.asked_nodes if facts.left is None else facts.left // max(1, facts.gpus_per_node)
    fits = min(facts.free_nodes, by_quota)
    if 0 < fits < facts.asked_nodes:
        nodes = "1 node" if fits == 1 else f"{fits} nodes"
        yield Tip(
            says=f"A smaller ask would fit right now: {nodes} of this kind are free and within your quota.",
            where="ask",
        )
    elif by_quota == 0 and facts.free_nodes > 0:
        yield Tip(
            says="Your quota for this kind of node is used up; a cluster that you give back frees it at once."
        )


def _elsewhere(facts: Facts) -> Iterator[Tip]:
    if facts.state not in _ASKED or facts.asked_nodes == 0:
        return
    for other in facts.others:
        room = (
            other.free_nodes
            if other.left is None
            else min(other.free_nodes, other.left // other.gpus_per_node)
        )
        if room > 0:
            nodes = "1 node" if room == 1 else f"{room} nodes"
            yield Tip(
                says=f"Your team could have {nodes} of {other.name} today: they are free and within your quota.",
                where="ask",
            )


def _around(facts: Facts) -> Iterator[Tip]:
    if facts.blocked and not facts.has_workaround and facts.state in _RUNNING:
        yield Tip(
            says="Would a quick way around do for now? Say in a comment what would get you moving; we replace it later.",
            where="comment-box",
        )


def cost(
    *, gpus: int, delivered: int, price: Decimal | None, currency: str, since: datetime | None, at: datetime
) -> Cost | None:
    """What `gpus` cost a month of 730 hours, and `delivered` of them since `since` (None: not begun); None without any GPU."""
    if gpus <= 0:
        return None
    hours = 0.0 if since is None else max(0.0, (at - since).total_seconds() / 3600)
    so_far = round(delivered * hours)
    return Cost(
        gpus=gpus,
        a_month=None if price is None else _whole(gpus * HOURS_A_MONTH * price),
        so_far=None if price is None else _whole(Decimal(delivered) * Decimal(str(hours)) * price),
        gpu_hours_a_month=gpus * HOURS_A_MONTH,
        gpu_hours_so_far=so_far,
        per_gpu_hour=price,
        currency=currency,
        begun=since is not None,
    )


def _whole(amount: Decimal) -> Decimal:
    return amount.quantize(Decimal(1), rounding=ROUND_HALF_UP)
