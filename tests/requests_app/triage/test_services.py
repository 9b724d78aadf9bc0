"""What the desk decides happens once, whole, and is told."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from portal.accounts.models import Team, User
from portal.kernel.errors import Conflict, Invalid, NotAllowed, PortalError, Refused
from portal.ledger.dispatch import deliver_all
from portal.ledger.models import Event
from provisioning import interface
from requests_app.quotas.services import room_for
from requests_app.tickets.models import LineVerdict, Ticket
from requests_app.tickets.services import answer_ticket
from requests_app.tickets.states import TicketState
from requests_app.triage import services
from tests.builders import H100, a_catalogue, a_cluster_ask, a_quota, some_nodes
from tests.personas import a_team, a_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def ask(desk: Team, member: User) -> Ticket:
    return a_cluster_ask(desk, member)


def test_yes_holds_quota_and_places_the_order_in_one_step(ask: Ticket, desk: Team, triager: User) -> None:
    ticket = services.approve_ticket(ticket=ask, version=ask.version, by=triager)
    assert ticket.status == TicketState.PROVISIONING
    assert room_for(desk, H100).held == 32
    (order,) = interface.orders_for(ticket.ref)
    assert order.nodes == 4
    assert ticket.lines.get().order_ref == order.ref


def test_yes_to_less_grants_less(ask: Ticket, desk: Team, triager: User) -> None:
    services.approve_ticket(ticket=ask, version=ask.version, granted={1: 3}, by=triager)
    line = ask.lines.get()
    assert (line.asked_qty, line.granted_qty, line.verdict) == (4, 3, LineVerdict.GRANTED)
    assert room_for(desk, H100).held == 24


@pytest.mark.parametrize("granted", [{1: 0}, {1: 5}, {2: 1}])
def test_yes_to_what_was_not_asked_is_refused_by_line(
    ask: Ticket, triager: User, granted: dict[int, int]
) -> None:
    with pytest.raises(Invalid):
        services.approve_ticket(ticket=ask, version=ask.version, granted=granted, by=triager)


def test_yes_beyond_the_quota_changes_nothing_and_says_what_would_fit(
    ask: Ticket, desk: Team, triager: User
) -> None:
    a_quota(desk, 24)
    with pytest.raises(Refused) as refusal:
        services.approve_ticket(ticket=ask, version=ask.version, by=triager)
    assert refusal.value.data["nearest_yes"] == 24
    ask.refresh_from_db()
    assert ask.status == TicketState.SUBMITTED
    assert ask.lines.get().granted_qty is None


def test_yes_beyond_the_fleet_gives_the_quota_back(ask: Ticket, desk: Team, triager: User) -> None:
    a_quota(desk, None)
    big = a_cluster_ask(desk, ask.requester, nodes=9)
    with pytest.raises(PortalError) as refusal:
        services.approve_ticket(ticket=big, version=big.version, by=triager)
    assert refusal.value.data["nearest_yes"] >= 1
    assert room_for(desk, H100).held == 0


def test_no_carries_its_reason_and_the_nearest_yes(ask: Ticket, triager: User) -> None:
    ticket = services.decline_ticket(
        ticket=ask,
        version=ask.version,
        reason_code="capacity",
        reason="Not this week.",
        nearest_yes="Two now.",
        by=triager,
    )
    assert ticket.status == TicketState.DECLINED
    line = ticket.lines.get()
    assert (line.verdict, line.granted_qty, line.reason_code) == (LineVerdict.DECLINED, 0, "capacity")
    told = Event.objects.get(name="ticket.declined")
    assert told.payload["nearest_yes"] == "Two now."


@pytest.mark.parametrize(
    ("code", "reason"), [("because", "No."), ("capacity", "  "), ("capacity", "x" * 5001)]
)
def test_no_without_a_reason_is_refused(ask: Ticket, triager: User, code: str, reason: str) -> None:
    with pytest.raises(Invalid):
        services.decline_ticket(ticket=ask, version=ask.version, reason_code=code, reason=reason, by=triager)


def test_question_pauses_the_ticket_until_the_team_answers(ask: Ticket, member: User, triager: User) -> None:
    ticket = services.ask_back(ticket=ask, version=ask.version, question="Which region?", by=triager)
    assert ticket.status == TicketState.WAITING
    assert ticket.waiting_since is not None
    answered = answer_ticket(ticket=ticket, version=ticket.version, answer="North.", by=member)
    assert answered.status == TicketState.SUBMITTED


@pytest.mark.parametrize(
    "decide", ["take_ticket", "approve_ticket", "decline_ticket", "ask_back", "deliver_ticket"]
)
def test_only_triagers_decide(ask: Ticket, lead: User, operator: User, decide: str) -> None:
    more = {
        "decline_ticket": {"reason_code": "focus", "reason": "No."},
        "ask_back": {"question": "Why?"},
        "deliver_ticket": {"note": "Here."},
    }.get(decide, {})
    for person in (lead, operator):
        with pytest.raises(NotAllowed):
            getattr(services, decide)(ticket=ask, version=ask.version, by=person, **more)


def test_decision_on_a_stale_page_is_told_what_happened(ask: Ticket, triager: User) -> None:
    seen = ask.version
    services.approve_ticket(ticket=ask, version=seen, by=triager)
    with pytest.raises(Conflict, match="it is provisioning now by triager") as conflict:
        services.decline_ticket(ticket=ask, version=seen, reason_code="focus", reason="No.", by=triager)
    assert conflict.value.data["now"] == "provisioning"


def test_small_ask_is_approved_by_policy_which_keeps_what_it_saw(desk: Team, member: User) -> None:
    small = a_cluster_ask(desk, member, nodes=2)
    deliver_all()
    small.refresh_from_db()
    assert small.status == TicketState.PROVISIONING
    seen = Event.objects.get(name="policy.decided").payload["seen"]
    assert (seen["gpus"], seen["quota_left"], seen["free_gpus"]) == (16, 64, 64)


def test_large_ask_waits_for_a_person_ranked_and_explained(ask: Ticket) -> None:
    deliver_all()
    ask.refresh_from_db()
    assert ask.status == TicketState.SUBMITTED
    assert ask.rank_key is not None
    bars = ask.rank_explanation["bars"]
    assert sum(bar["seconds"] for bar in bars) == ask.rank_explanation["head_start"]
    assert not Event.objects.get(name="policy.decided").payload["approved"]


@pytest.mark.django_db(transaction=True)
def test_of_two_deciders_at_once_one_wins_and_the_other_is_told() -> None:
    team = a_team("deciders")
    some_nodes(8)
    a_catalogue()
    a_quota(team)
    ticket = a_cluster_ask(team, a_user(team=team))
    first, second = a_user(staff_role="triager"), a_user(staff_role="triager")

    def approve() -> str:
        try:
            services.approve_ticket(ticket=ticket, version=1, by=first)
        except Conflict:
            return "lost"
        finally:
            connection.close()
        return "approved"

    def decline() -> str:
        try:
            services.decline_ticket(ticket=ticket, version=1, reason_code="focus", reason="No.", by=second)
        except Conflict:
            return "lost"
        finally:
            connection.close()
        return "declined"

    with ThreadPoolExecutor(2) as pool:
        outcomes = sorted(future.result() for future in [pool.submit(approve), pool.submit(decline)])
    assert outcomes in (["approved", "lost"], ["declined", "lost"])
    assert Event.objects.filter(name__in=["ticket.approved", "ticket.declined"]).count() == 1
    assert len(interface.orders_for(ticket.ref)) == (1 if "approved" in outcomes else 0)
