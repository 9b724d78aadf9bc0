"""Whatever is proposed, accepted, countered, lapsed or withdrawn: what is held is what open offers, orders and promises need."""

from __future__ import annotations

import contextlib
from datetime import timedelta

import pytest
from django.core.exceptions import ObjectDoesNotExist
from django.db import transaction
from django.db.models import Sum
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from portal.accounts.models import Team, User
from portal.kernel.clock import now
from portal.kernel.errors import PortalError
from portal.ledger.models import Event
from provisioning import interface
from requests_app import reactions
from requests_app.negotiation.models import Offer, OfferLine, Promise
from requests_app.negotiation.promises import cancel_promise
from requests_app.negotiation.proposals import Proposal
from requests_app.negotiation.replies import Counter
from requests_app.negotiation.services import (
    accept_offer,
    counter_offer,
    lapse_due_offers,
    propose_offer,
    withdraw_offer,
)
from requests_app.negotiation.states import LIVING
from requests_app.quotas.models import Hold
from requests_app.quotas.queries import drifts
from requests_app.quotas.services import room_for
from requests_app.tickets.deriving import derive
from requests_app.tickets.models import Line, Ticket
from requests_app.tickets.services import withdraw_ticket
from requests_app.triage.services import approve_ticket
from tests.builders import H100, a_cluster_ask
from tests.requests_app.negotiation.conftest import day

pytestmark = pytest.mark.django_db

WORDS = [
    "now",
    "part",
    "later",
    "accept",
    "counter",
    "lapse",
    "take back",
    "withdraw",
    "approve",
    "fail",
    "cancel",
]
STEPS = st.lists(st.tuples(st.sampled_from(WORDS), st.integers(0, 1)), max_size=8)
PROPOSALS = {
    "now": Proposal(position=1, kind="now"),
    "part": Proposal(position=1, kind="part", now_qty=1, later_qty=2, later_on=day(9)),
    "later": Proposal(position=1, kind="later", later_on=day(9)),
}


def do(word: str, ticket: Ticket, member: User, triager: User) -> None:
    """One step; what can't be done now is refused, and that is fine."""
    seen = ticket.version
    if word in PROPOSALS:
        propose_offer(ticket=ticket, version=seen, lines=[PROPOSALS[word]], by=triager)
    elif word == "approve":
        approve_ticket(ticket=ticket, version=seen, by=triager)
    elif word == "withdraw":
        withdraw_ticket(ticket=ticket, version=seen, by=member)
    elif word == "take back":
        withdraw_offer(ticket=ticket, version=seen, reason="A rack is down.", by=triager)
    elif word == "fail":
        fail(ticket.lines.get())
    elif word == "cancel":
        promise = Promise.objects.get(line__ticket=ticket, status="open")
        cancel_promise(promise=promise, version=promise.version, reason="Agreed.", by=triager)
    else:
        answer(word, Offer.objects.filter(ticket=ticket).latest("revision"), member)


def fail(line: Line) -> None:
    """The order that runs comes to nothing."""
    if line.ordered_qty:
        order = interface.cancel_order(line.order_ref, reason="Stopped.", by=None)
        payload = {"order": order.ref}
        reactions.return_ticket(Event(name="order.cancelled", subject=order.ref, payload=payload))


def answer(word: str, offer: Offer, member: User) -> None:
    """The team's word on the newest revision, or none in time."""
    if word == "accept":
        accept_offer(offer=offer, revision=offer.revision, by=member)
    elif word == "counter":
        counter_offer(offer=offer, revision=offer.revision, counter={1: Counter(words="More.")}, by=member)
    else:
        long_ago = now() - timedelta(days=9)
        Offer.objects.filter(pk=offer.pk).update(made_at=long_ago, expires_at=long_ago + timedelta(days=7))
        lapse_due_offers()


def needed() -> int:
    """GPUs that open offers, running orders and living promises need, each counted once."""
    offered = OfferLine.objects.filter(offer__status="open").aggregate(
        now=Sum("now_qty", default=0), later=Sum("later_qty", default=0)
    )
    running = Line.objects.aggregate(nodes=Sum("ordered_qty", default=0))["nodes"]
    promised = Promise.objects.filter(status__in=LIVING, order_ref="").aggregate(
        nodes=Sum("quantity", default=0)
    )["nodes"]
    return 8 * (offered["now"] + offered["later"] + running + promised)


@given(steps=STEPS)
@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
def test_what_is_held_is_what_somebody_waits_for(
    desk: Team, member: User, triager: User, steps: list[tuple[str, int]]
) -> None:
    with transaction.atomic():
        tickets = [a_cluster_ask(desk, member, nodes=3, cluster_name=f"c-{number}") for number in range(2)]
        for word, which in steps:
            ticket = tickets[which]
            ticket.refresh_from_db()
            with contextlib.suppress(PortalError, ObjectDoesNotExist), transaction.atomic():
                do(word, ticket, member, triager)
            room = room_for(desk, H100)
            assert room.held == needed() <= 64
            held = Hold.objects.filter(status="held").aggregate(gpus=Sum("gpus", default=0))["gpus"]
            assert room.held == held
            ticket.refresh_from_db()
            assert ticket.status == derive([line.facts for line in ticket.lines.all()])
        assert drifts() == []
        transaction.set_rollback(True)
