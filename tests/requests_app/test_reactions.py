"""A ticket follows its order; every reaction may run twice and then changes nothing."""

from __future__ import annotations

import pytest

from portal.accounts.models import Team, User
from portal.ledger.dispatch import deliver_all
from portal.ledger.models import Event
from provisioning import interface
from requests_app import reactions
from requests_app.negotiation import fulfilment
from requests_app.outcome.services import reopen_ticket
from requests_app.quotas import queries
from requests_app.quotas.services import room_for
from requests_app.tickets.models import Line, Ticket
from requests_app.tickets.states import TicketState
from requests_app.triage.services import approve_ticket, decline_ticket
from tests.builders import H100, a_catalogue, a_cluster_ask, a_quota, some_nodes

pytestmark = pytest.mark.django_db


@pytest.fixture
def under_way(team: Team, member: User, triager: User) -> Ticket:
    some_nodes(8)
    a_catalogue()
    a_quota(team)
    ask = a_cluster_ask(team, member)
    return approve_ticket(ticket=ask, version=ask.version, by=triager)


def told(ticket: Ticket, name: str, **more: object) -> Event:
    (order,) = interface.orders_for(ticket.ref)
    payload = {"order": order.ref, "for": ticket.ref, "cluster": order.cluster_ref, **more}
    return Event.objects.create(name=name, subject=order.ref, payload=payload)


def test_ready_order_turns_the_hold_into_use_and_delivers_once(under_way: Ticket) -> None:
    ready = told(under_way, "order.ready")
    for _ in range(2):
        reactions.deliver_ticket(ready)
    under_way.refresh_from_db()
    assert under_way.status == TicketState.READY
    room = room_for(under_way.team, H100)
    assert (room.used, room.held) == (32, 0)
    assert Event.objects.filter(name="ticket.delivered", subject=under_way.ref).count() == 1


def test_failed_order_brings_the_ticket_back_with_its_reason_and_frees_the_quota(under_way: Ticket) -> None:
    failed = told(under_way, "order.failed", reason="No healthy node is left.")
    for _ in range(2):
        reactions.return_ticket(failed)
    under_way.refresh_from_db()
    assert (under_way.status, under_way.reason) == (TicketState.RETURNED, "No healthy node is left.")
    assert room_for(under_way.team, H100).left == 64
    assert queries.drifts() == []


def test_returned_ticket_can_be_approved_again_and_holds_anew(under_way: Ticket, triager: User) -> None:
    (order,) = interface.orders_for(under_way.ref)
    interface.cancel_order(order.ref, reason="A person stopped it.", by=triager)
    deliver_all()
    under_way.refresh_from_db()
    assert under_way.status == TicketState.RETURNED
    again = approve_ticket(ticket=under_way, version=under_way.version, granted={1: 2}, by=triager)
    assert again.status == TicketState.PROVISIONING
    assert room_for(again.team, H100).held == 16


def test_released_cluster_gives_its_quota_back_once(under_way: Ticket) -> None:
    reactions.deliver_ticket(told(under_way, "order.ready"))
    released = told(under_way, "order.released")
    for _ in range(2):
        reactions.free_quota(released)
    room = room_for(under_way.team, H100)
    assert (room.used, room.left) == (0, 64)
    assert queries.drifts() == []


def test_event_about_nothing_of_ours_changes_nothing(db: None) -> None:
    stranger = Event.objects.create(
        name="order.ready", subject="O-9", payload={"order": "O-9", "for": "backup-7"}
    )
    with pytest.raises(Exception, match="cluster"):
        reactions.deliver_ticket(stranger)
    assert not Event.objects.filter(name="ticket.delivered").exists()


def in_part(line: Line, delivered: int) -> None:
    """A part is the team's, and an order that was to bring the rest is under way."""
    Line.objects.filter(pk=line.pk).update(
        delivered_qty=delivered, ordered_qty=line.asked_qty - delivered, cluster_ref="C-1"
    )


def came_to_nothing(ticket: Ticket) -> Line:
    line = ticket.lines.get()
    in_part(line, 3)
    reactions.return_ticket(told(ticket, "order.failed", reason="No healthy node is left."))
    ticket.refresh_from_db()
    return ticket.lines.get()


def test_order_for_the_rest_that_fails_brings_back_the_rest_alone(under_way: Ticket) -> None:
    line = came_to_nothing(under_way)
    assert under_way.status == TicketState.RETURNED
    assert (line.verdict, line.granted_qty, line.delivered_qty, line.by_hand_qty) == ("granted", 4, 3, 1)


def test_approval_then_orders_what_is_missing_and_no_more(
    under_way: Ticket, triager: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    came_to_nothing(under_way)
    ordered: list[tuple[int, str]] = []
    monkeypatch.setitem(
        fulfilment._FULFILMENTS,
        "cluster_build",
        lambda step, by: ordered.append((step.quantity, step.source)) or "",
    )
    approve_ticket(ticket=under_way, version=under_way.version, by=triager)
    assert ordered == [(1, f"{under_way.ref}/1/v{under_way.version}")]


def test_decline_then_keeps_what_is_delivered(under_way: Ticket, triager: User) -> None:
    came_to_nothing(under_way)
    decline_ticket(
        ticket=under_way, version=under_way.version, reason_code="capacity", reason="No more.", by=triager
    )
    under_way.refresh_from_db()
    line = under_way.lines.get()
    assert (line.delivered_qty, line.given_up_qty, line.by_hand_qty) == (3, 1, 0)
    assert under_way.status == TicketState.READY


def test_delivered_cluster_that_is_opened_again_and_approved_orders_nothing_twice(
    under_way: Ticket, member: User, triager: User
) -> None:
    reactions.deliver_ticket(told(under_way, "order.ready"))
    under_way.refresh_from_db()
    before = len(interface.orders_for(under_way.ref))
    back = reopen_ticket(ticket=under_way, version=under_way.version, reason="One is slow.", by=member)
    assert back.status == TicketState.RETURNED
    approve_ticket(ticket=back, version=back.version, by=triager)
    under_way.refresh_from_db()
    assert under_way.status == TicketState.READY
    assert len(interface.orders_for(under_way.ref)) == before
    assert room_for(under_way.team, H100).used == 32
