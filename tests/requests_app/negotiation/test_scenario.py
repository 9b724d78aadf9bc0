"""Five lines asked, four offered now and one on a day; three accepted, one countered, one dropped: everything agrees."""

from __future__ import annotations

import pytest
from django.test import Client

from portal.accounts.models import Team, User
from portal.ledger.models import Event
from requests_app.negotiation.models import Offer, Promise
from requests_app.negotiation.promises import keep_promise
from requests_app.negotiation.proposals import Proposal
from requests_app.negotiation.replies import Counter
from requests_app.negotiation.services import accept_offer, propose_offer, reply_to_offer
from requests_app.quotas.queries import drifts
from requests_app.quotas.services import room_for
from requests_app.tickets.models import Ticket
from requests_app.triage.services import deliver_ticket
from tests.builders import H100
from tests.requests_app.negotiation.conftest import FakeJudge, day, four_now_one_later, names_of, run_order

pytestmark = pytest.mark.django_db


def proposals() -> list[Proposal]:
    """Cluster, quota, storage and dataset now; the dashboard on a day."""
    now = [Proposal(position=position, kind="now") for position in (1, 2, 3, 4)]
    return [*now, Proposal(position=5, kind="later", later_on=day(12))]


def verdicts(ticket: Ticket) -> dict[int, tuple[str, int | None]]:
    return {line.position: (line.verdict, line.granted_qty) for line in ticket.lines.all()}


def test_scenario_of_five_lines(
    project: Ticket, desk: Team, member: User, triager: User, client: Client, fake_judge: FakeJudge
) -> None:
    offer = propose_offer(ticket=project, version=project.version, lines=proposals(), by=triager)
    project.refresh_from_db()
    assert (project.status, project.waiting_since is not None) == ("offered", True)
    assert room_for(desk, H100).held == 40

    reply_to_offer(
        offer=offer,
        revision=1,
        accept=[1, 2, 5],
        counter={3: Counter(quantity=40, words="Twice as much.")},
        drop=[4],
        words="Thank you.",
        by=member,
    )
    project.refresh_from_db()
    assert verdicts(project) == {
        1: ("granted", 5),
        2: ("granted", 16),
        3: ("pending", None),
        4: ("dropped", 0),
        5: ("granted", 1),
    }
    assert (project.status, project.waiting_since) == ("submitted", None)
    promise = Promise.objects.get()
    assert (promise.line.position, promise.due_on, promise.quantity) == (5, day(12), 1)
    room = room_for(desk, H100)
    assert (room.limit, room.held, room.used) == (80, 40, 0)
    told = names_of(project)
    assert told.count("line.decided") == 4
    assert {"offer.proposed", "offer.accepted", "promise.made", "ticket.started"} <= set(told)
    accepted = Event.objects.get(name="offer.accepted").payload
    assert (accepted["accepted"], accepted["dropped"]) == ([1, 2, 5], [4])
    assert accepted["countered"][0]["quantity"] == 40

    client.force_login(member)
    answer = client.get(f"/api/v1/tickets/{project.ref}").json()
    assert answer["state"] == "submitted"
    shown = {line["position"]: line for line in answer["lines"]}
    assert (shown[1]["granted_qty"], shown[1]["delivered_qty"]) == (5, 0)
    assert shown[5]["promised_on"] == day(12).isoformat()

    run_order(project.lines.get(position=1).order_ref)
    project.refresh_from_db()
    assert project.status == "submitted"
    assert (room_for(desk, H100).held, room_for(desk, H100).used) == (0, 40)

    second = propose_offer(
        ticket=project, version=project.version, lines=[Proposal(position=3, kind="now")], by=triager
    )
    assert second.revision == 2
    accept_offer(offer=second, revision=2, by=member)
    project.refresh_from_db()
    assert project.status == "approved"
    project = deliver_ticket(ticket=project, version=project.version, note="Mounted.", by=triager)
    assert project.status == "promised"
    promise.refresh_from_db()
    keep_promise(promise=promise, version=promise.version, note="It is at /d/7.", by=triager)
    project.refresh_from_db()
    assert project.status == "ready"
    assert names_of(project).count("ticket.delivered") == 1
    assert drifts() == []


def test_four_of_five_nodes_now_and_the_fifth_on_its_day(
    ask: Ticket, offer: Offer, desk: Team, member: User, triager: User, fake_judge: FakeJudge
) -> None:
    accept_offer(offer=offer, revision=1, by=member)
    ask.refresh_from_db()
    line = ask.lines.get()
    assert (ask.status, line.granted_qty, line.ordered_qty, line.promised_qty) == ("provisioning", 5, 4, 1)
    run_order(line.order_ref)
    ask.refresh_from_db()
    line.refresh_from_db()
    assert (ask.status, line.delivered_qty, line.promised_on) == ("promised", 4, day(12))
    room = room_for(desk, H100)
    assert (room.used, room.held) == (32, 8)

    promise = Promise.objects.get()
    keep_promise(promise=promise, version=promise.version, by=triager)
    ask.refresh_from_db()
    line.refresh_from_db()
    assert (ask.status, line.ordered_qty) == ("provisioning", 1)
    assert (room_for(desk, H100).used, room_for(desk, H100).held) == (32, 8)
    run_order(line.order_ref)
    ask.refresh_from_db()
    line.refresh_from_db()
    promise.refresh_from_db()
    assert (ask.status, line.delivered_qty, promise.status) == ("ready", 5, "kept")
    assert (room_for(desk, H100).used, room_for(desk, H100).held) == (40, 0)
    assert drifts() == []
    assert four_now_one_later().kind == "part"
