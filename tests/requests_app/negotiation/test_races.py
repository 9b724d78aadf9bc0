"""Two words about one offer at once: one is heard, the other is told, and quota is held once or not at all."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connection

from portal.accounts.models import User
from portal.kernel.clock import now
from portal.kernel.errors import Conflict, Refused
from provisioning import interface
from requests_app.negotiation.models import Offer, Promise
from requests_app.negotiation.proposals import Proposal
from requests_app.negotiation.services import accept_offer, lapse_due_offers, propose_offer
from requests_app.quotas.queries import drifts
from requests_app.quotas.services import room_for
from requests_app.tickets.models import Ticket
from tests.builders import H100, a_catalogue, a_cluster_ask, a_quota, some_nodes
from tests.personas import a_team, a_user
from tests.requests_app.negotiation.conftest import day, four_now_one_later

pytestmark = pytest.mark.django_db(transaction=True)


def at_once(*doings: Callable[[], object]) -> list[str]:
    """All of them in threads of their own; what each came to."""

    def run(doing: Callable[[], object]) -> str:
        try:
            doing()
        except (Conflict, Refused) as problem:
            return problem.code
        finally:
            connection.close()
        return "done"

    with ThreadPoolExecutor(len(doings)) as pool:
        return sorted(future.result() for future in [pool.submit(run, doing) for doing in doings])


def an_offer() -> tuple[Offer, User, User]:
    team = a_team()
    some_nodes(8)
    a_catalogue()
    a_quota(team)
    member, triager = a_user(team=team), a_user(staff_role="triager")
    ticket = a_cluster_ask(team, member, nodes=5)
    made = propose_offer(ticket=ticket, version=ticket.version, lines=[four_now_one_later()], by=triager)
    return made, member, triager


def test_two_acceptances_make_one_order_one_promise_and_one_hold() -> None:
    offer, member, _ = an_offer()
    lead = a_user(team=offer.ticket.team, role="lead")
    told = at_once(
        lambda: accept_offer(offer=offer, revision=1, by=member),
        lambda: accept_offer(offer=offer, revision=1, by=lead),
    )
    assert told == ["done", "stale-offer"]
    assert (len(interface.orders_for(offer.ticket.ref)), Promise.objects.count()) == (1, 1)
    assert room_for(offer.ticket.team, H100).held == 40
    assert drifts() == []


def test_acceptance_and_lapse_leave_one_outcome() -> None:
    offer, member, _ = an_offer()
    Offer.objects.update(made_at=now() - timedelta(days=8), expires_at=now() + timedelta(milliseconds=20))
    told = at_once(lambda: accept_offer(offer=offer, revision=1, by=member), lapse_due_offers)
    lapse_due_offers()
    offer.refresh_from_db()
    held = room_for(offer.ticket.team, H100).held
    accepted = told == ["done", "done"] and offer.status == "accepted"
    assert (offer.status, held) in {("accepted", 40), ("lapsed", 0)} or (accepted and held == 40)
    assert len(interface.orders_for(offer.ticket.ref)) == (1 if offer.status == "accepted" else 0)
    assert drifts() == []


def test_acceptance_and_a_new_revision_leave_one_outcome() -> None:
    offer, member, triager = an_offer()
    ticket = Ticket.objects.get(pk=offer.ticket_id)
    told = at_once(
        lambda: accept_offer(offer=offer, revision=1, by=member),
        lambda: propose_offer(
            ticket=ticket, version=ticket.version, lines=[four_now_one_later(day(9))], by=triager
        ),
    )
    offer.refresh_from_db()
    assert told in (["done", "lost-race"], ["done", "stale-offer"])
    assert offer.status == ("accepted" if "lost-race" in told else "superseded")
    assert room_for(offer.ticket.team, H100).held == 40
    assert Offer.objects.filter(status="open").count() == (0 if offer.status == "accepted" else 1)
    assert drifts() == []


def test_of_sixteen_offers_of_eight_gpus_under_a_quota_of_64_eight_find_room() -> None:
    team = a_team()
    some_nodes(16)
    a_catalogue()
    a_quota(team, 64)
    member, triager = a_user(team=team), a_user(staff_role="triager")
    asks = [a_cluster_ask(team, member, nodes=1, cluster_name=f"c-{number}") for number in range(16)]

    def offer(ticket: Ticket) -> Callable[[], object]:
        lines = [Proposal(position=1, kind="now")]
        return lambda: propose_offer(ticket=ticket, version=ticket.version, lines=lines, by=triager)

    told = at_once(*[offer(ticket) for ticket in asks])
    assert (told.count("done"), told.count("quota")) == (8, 8)
    assert room_for(team, H100).held == 64
    Offer.objects.update(made_at=now() - timedelta(days=9), expires_at=now() - timedelta(days=1))
    assert lapse_due_offers() == 8
    assert room_for(team, H100).held == 0
    assert drifts() == []
