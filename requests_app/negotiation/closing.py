"""How does an offer end? Its quota is free again, its lines are no longer with the team, and everybody is told."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from portal.accounts.models import User
from portal.kernel.clock import now
from portal.kernel.moves import move
from portal.ledger.services import record
from requests_app import events
from requests_app.negotiation.models import Offer, OfferLine
from requests_app.negotiation.states import OFFER, OfferAction, OfferState
from requests_app.quotas import services as quotas
from requests_app.tickets.models import Line, Ticket

_EVENTS = {
    OfferAction.LAPSE: events.OFFER_LAPSED,
    OfferAction.SUPERSEDE: events.OFFER_SUPERSEDED,
    OfferAction.WITHDRAW: events.OFFER_WITHDRAWN,
    OfferAction.ACCEPT: events.OFFER_ACCEPTED,
    OfferAction.COUNTER: events.OFFER_COUNTERED,
}


def open_offer(ticket: Ticket) -> Offer | None:
    """The offer that waits for the team's word, with its lines."""
    offers = Offer.objects.filter(ticket=ticket, status=OfferState.OPEN)
    return offers.select_related("ticket", "made_by").prefetch_related("lines__line").first()


def close_offer(ticket: Ticket, action: OfferAction, *, by: User | None, **said: Any) -> Offer | None:
    """End the open offer of a ticket that the caller has locked, if there is one. All it held is free again."""
    offer = open_offer(ticket)
    if offer is not None:
        end_offer(offer, action, by=by, **said)
    return offer


def end_offer(
    offer: Offer, action: OfferAction, *, keeping: Collection[int] = (), by: User | None, **said: Any
) -> None:
    """End an offer: free what it held, but for the holds in `keeping`; `said` goes into the event and `words` into the row."""
    columns = {"closed_at": now(), "closed_by": by, "asked_at": None, "words": said.get("words", "")}
    move(offer, action, machine=OFFER, extra=columns)
    for each in offer.lines.all():
        release(each, keeping=keeping, by=by)
    Line.objects.filter(offered__offer=offer).update(in_offer=False, awaits_team=False)
    payload = {"team": offer.ticket.team.slug, "revision": offer.revision, **said}
    record(_EVENTS[action], subject=offer.ticket.ref, payload=payload, by=by)


def release(each: OfferLine, *, keeping: Collection[int] = (), by: User | None) -> None:
    """Give back the quota that one line of an offer holds."""
    for hold in (each.hold_now_id, each.hold_later_id):
        if hold is not None and hold not in keeping:
            quotas.free_hold(hold_id=hold, by=by)
