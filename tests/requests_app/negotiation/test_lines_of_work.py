"""Each line is ordered, delivered and returned by itself; a decision on all of them happens whole or not at all."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection
from django.forms.models import model_to_dict
from django.test import Client

from portal.accounts.models import Team, User
from portal.kernel.errors import Invalid, Refused
from portal.ledger.models import Event
from provisioning import interface
from requests_app import reactions
from requests_app.quotas.queries import drifts
from requests_app.quotas.services import room_for
from requests_app.tickets.models import Line, Ticket
from requests_app.triage.services import approve_ticket, decline_ticket, deliver_ticket
from tests.builders import H100, a_catalogue, a_cluster_ask, a_quota, some_nodes
from tests.personas import a_team, a_user
from tests.requests_app.negotiation.conftest import FakeJudge, a_project_ask, names_of, run_order

pytestmark = pytest.mark.django_db


def second_cluster(ticket: Ticket, nodes: int = 2) -> Line:
    """One more cluster on the same ticket."""
    first = ticket.lines.get(position=1)
    return Line.objects.create(
        ticket=ticket,
        position=ticket.lines.count() + 1,
        what="nodes",
        fulfilment="cluster_build",
        asks={**first.asks, "cluster_name": "second"},
        sku=H100,
        label="Nodes for the cluster second",
        unit="nodes",
        asked_qty=nodes,
    )


@pytest.fixture
def two(desk: Team, member: User) -> Ticket:
    """Two clusters in one ticket: four nodes and two."""
    ticket = a_cluster_ask(desk, member, nodes=4)
    second_cluster(ticket)
    return ticket


def state(ticket: Ticket) -> str:
    ticket.refresh_from_db()
    return ticket.status


def test_each_line_has_its_own_hold_and_its_own_order(two: Ticket, desk: Team, triager: User) -> None:
    approve_ticket(ticket=two, version=two.version, by=triager)
    refs = set(two.lines.values_list("order_ref", flat=True))
    assert {order.ref: order.nodes for order in interface.orders_for(two.ref)}.keys() == refs
    assert sorted(order.nodes for order in interface.orders_for(two.ref)) == [2, 4]
    assert room_for(desk, H100).held == 48


def test_ticket_is_ready_when_the_last_order_is(
    two: Ticket, desk: Team, triager: User, fake_judge: FakeJudge
) -> None:
    approve_ticket(ticket=two, version=two.version, by=triager)
    first, second = two.lines.values_list("order_ref", flat=True)
    run_order(first)
    assert state(two) == "provisioning"
    run_order(second)
    assert state(two) == "ready"
    assert names_of(two).count("ticket.delivered") == 1
    assert (room_for(desk, H100).used, room_for(desk, H100).held) == (48, 0)


def test_failed_line_alone_comes_back_and_is_decided_anew(
    two: Ticket, desk: Team, triager: User, fake_judge: FakeJudge
) -> None:
    approve_ticket(ticket=two, version=two.version, by=triager)
    first, second = two.lines.values_list("order_ref", flat=True)
    run_order(second, fails=True)
    assert state(two) == "returned"
    assert list(two.lines.values_list("verdict", "round")) == [("granted", 1), ("pending", 2)]
    assert room_for(desk, H100).held == 32
    run_order(first)
    assert state(two) == "returned"
    with pytest.raises(Invalid):
        approve_ticket(ticket=two, version=two.version, granted={1: 1}, by=triager)
    decline_ticket(ticket=two, version=two.version, reason_code="capacity", reason="No nodes.", by=triager)
    assert state(two) == "ready"
    assert drifts() == []


def test_yes_to_all_lines_fails_whole_and_can_be_said_again(
    project: Ticket, desk: Team, triager: User
) -> None:
    second_cluster(project, nodes=4)
    a_quota(desk, None)
    before = Event.objects.count()
    with pytest.raises(Refused):
        approve_ticket(ticket=project, version=project.version, by=triager)
    assert (state(project), room_for(desk, H100).held, Event.objects.count()) == ("submitted", 0, before)
    assert interface.orders_for(project.ref) == ()
    some_nodes(4, rack="rack-2")
    approve_ticket(ticket=project, version=project.version, by=triager)
    assert len(interface.orders_for(project.ref)) == 2
    assert names_of(project).count("ticket.approved") == 1
    assert drifts() == []


def test_people_hand_over_line_by_line_while_an_order_runs(
    project: Ticket, desk: Team, triager: User, fake_judge: FakeJudge
) -> None:
    ticket = approve_ticket(ticket=project, version=project.version, by=triager)
    assert ticket.status == "approved"
    ticket = deliver_ticket(ticket=ticket, version=ticket.version, note="Mounted.", positions=[3], by=triager)
    assert ticket.status == "approved"
    with pytest.raises(Invalid):
        deliver_ticket(ticket=ticket, version=ticket.version, note="Again.", positions=[3], by=triager)
    ticket = deliver_ticket(ticket=ticket, version=ticket.version, note="The rest.", by=triager)
    assert ticket.status == "provisioning"
    with pytest.raises(Invalid):
        deliver_ticket(ticket=ticket, version=ticket.version, note="Again.", by=triager)
    run_order(ticket.lines.get(position=1).order_ref)
    assert state(ticket) == "ready"


def test_desk_ticks_what_it_hands_over(client: Client, project: Ticket, triager: User) -> None:
    ticket = approve_ticket(ticket=project, version=project.version, by=triager)
    client.force_login(triager)
    shown = client.get(f"/tickets/{ticket.ref}/").content.decode()
    assert shown.count('name="deliver-') == 4
    fields = {
        "version": ticket.version,
        "deliver-lines": "1",
        "deliver-4": "1",
        "note": "Read it at /d/images.",
    }
    assert client.post(f"/desk/{ticket.ref}/deliver", fields).status_code == 302
    assert list(ticket.lines.filter(delivered_qty__gt=0).values_list("position", flat=True)) == [2, 4]


def test_approval_by_following_a_link_is_refused_and_touches_only_its_fields(
    client: Client, project: Ticket, triager: User
) -> None:
    client.force_login(triager)
    assert client.get(f"/desk/{project.ref}/approve").status_code == 405
    before = model_to_dict(project)
    approve_ticket(ticket=project, version=project.version, by=triager)
    after = model_to_dict(Ticket.objects.get(pk=project.pk))
    changed = {name for name, value in after.items() if value != before[name]}
    assert changed == {"status", "version", "state_since", "assignee", "decided_at", "decided_by"}


@pytest.mark.django_db(transaction=True)
def test_two_orders_that_end_at_once_see_each_other() -> None:
    team = a_team()
    some_nodes(8)
    a_catalogue()
    a_quota(team)
    ticket = a_cluster_ask(team, a_user(team=team), nodes=4)
    second_cluster(ticket)
    approve_ticket(ticket=ticket, version=ticket.version, by=a_user(staff_role="triager"))
    told = [
        Event.objects.create(
            name="order.ready",
            subject=order.ref,
            payload={"order": order.ref, "for": ticket.ref, "cluster": order.cluster_ref},
        )
        for order in interface.orders_for(ticket.ref)
    ]

    def react(event: Event) -> None:
        try:
            reactions.deliver_ticket(event)
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(react, told))
    assert state(ticket) == "ready"
    assert room_for(team, H100).used == 48
    assert drifts() == []


def test_bundle_without_extras_is_one_line(desk: Team, member: User) -> None:
    few = {"more_quota": False, "storage": False, "data": False, "dashboard": False}
    assert a_project_ask(desk, member, **few).lines.count() == 1
