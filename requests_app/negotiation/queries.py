"""What does a reader see of the offers and promises of a ticket?"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from portal.accounts.models import User
from portal.kernel.clock import now
from provisioning import interface
from requests_app.negotiation import fulfilment
from requests_app.negotiation.dates import window_of
from requests_app.negotiation.models import Offer, OfferLine, Promise
from requests_app.negotiation.proposals import CLASSES, KINDS
from requests_app.negotiation.states import OfferState, PromiseState
from requests_app.tickets.access import Doing, allows
from requests_app.tickets.models import Line, LineVerdict, Ticket
from requests_app.tickets.queries import standing_of
from requests_app.tickets.reasons import REASONS


@dataclass(frozen=True, kw_only=True)
class ShownPromise:
    """A promise as a page shows it."""

    promise: Promise
    overdue: bool
    by_hand: bool
    moved: bool
    may_steer: bool


@dataclass(frozen=True, kw_only=True)
class OfferCard:
    """The open offer and the earlier ones. `months` is what the open offer costs a month, None when a price is unknown."""

    current: Offer | None
    lines: tuple[OfferLine, ...]
    earlier: tuple[Offer, ...]
    months: Decimal | None
    currency: str
    may_answer: bool
    may_ask: bool
    may_steer: bool
    promises: tuple[ShownPromise, ...]


def offer_card(ticket: Ticket, user: User) -> OfferCard | None:
    """All of it, in a constant number of queries; None when nothing was ever offered or promised."""
    rows = Offer.objects.filter(ticket=ticket).select_related("made_by", "closed_by")
    offers = list(rows.prefetch_related("lines__line").order_by("-revision"))
    if not offers:
        return None
    standing = standing_of(ticket, user)
    current = next((offer for offer in offers if offer.is_open), None)
    lines = tuple(current.lines.all()) if current is not None else ()
    known = [line.cost_per_month for line in lines if line.cost_per_month is not None]
    return OfferCard(
        current=current,
        lines=lines,
        earlier=tuple(offer for offer in offers if offer is not current),
        months=sum(known, Decimal(0)) if known else None,
        currency=next((line.currency for line in lines if line.currency), ""),
        may_answer=current is not None and allows(Doing.ACCEPT, standing),
        may_ask=current is not None and current.asked_at is None and allows(Doing.ASK_ABOUT_OFFER, standing),
        may_steer=allows(Doing.OFFER, standing),
        promises=_promises(ticket, may_steer=allows(Doing.MOVE_PROMISE, standing)),
    )


def _promises(ticket: Ticket, *, may_steer: bool) -> tuple[ShownPromise, ...]:
    today = now().date()
    rows = Promise.objects.filter(line__ticket=ticket).exclude(status=PromiseState.MOVED)
    return tuple(
        ShownPromise(
            promise=row,
            overdue=row.is_overdue(today),
            by_hand=fulfilment.by_hand(row.line),
            moved=row.replaces_id is not None,
            may_steer=may_steer and row.status == PromiseState.OPEN,
        )
        for row in rows.select_related("line").order_by("due_on", "id")
    )


@dataclass(frozen=True, kw_only=True)
class LineToOffer:
    """An undecided line as the desk's form of an offer shows it. `wants` is what the team asked for instead last time."""

    line: Line
    wants: OfferLine | None
    dates: str


@dataclass(frozen=True, kw_only=True)
class OfferForm:
    """What the desk's form of an offer needs."""

    lines: tuple[LineToOffer, ...]
    kinds: dict[str, str]
    classes: dict[str, str]
    reasons: dict[str, str]
    skus: tuple[str, ...]


def open_offer(ticket: Ticket) -> Offer | None:
    """What the desk offers now; only a line that is in an offer makes it worth asking."""
    if not any(line.in_offer for line in ticket.lines.all()):
        return None
    return Offer.objects.filter(ticket=ticket, status=OfferState.OPEN).first()


def offer_form(ticket: Ticket) -> OfferForm:
    """The undecided lines, what the team said of each last time, and whether it is late for any of them."""
    pending = list(ticket.lines.filter(verdict=LineVerdict.PENDING))
    said = OfferLine.objects.filter(line__in=pending, reply="countered").order_by("offer__revision")
    wants = {each.line_id: each for each in said}
    return OfferForm(
        lines=tuple(
            LineToOffer(line=line, wants=wants.get(line.pk), dates=_dates(ticket, line)) for line in pending
        ),
        kinds=KINDS,
        classes=CLASSES,
        reasons=REASONS,
        skus=tuple(sku.slug for sku in interface.skus()),
    )


def _dates(ticket: Ticket, line: Line) -> str:
    window, today = window_of(ticket, line), now().date()
    if window is None:
        return ""
    if window.has_passed(today):
        return f"The time it was asked for ended on {window.end}; offer it with other dates."
    return f"The time it was asked for ends on {window.end} already." if window.ends_soon(today) else ""
