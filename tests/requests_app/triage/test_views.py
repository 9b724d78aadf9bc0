"""The desk's pages: in rank order, for infra staff alone, and never deciding on a stale look."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from portal.accounts.models import Team, User
from portal.ledger.dispatch import deliver_all
from requests_app.blocks.services import BlockClaim, open_block
from requests_app.tickets.models import Ticket
from requests_app.tickets.states import TicketState
from tests.builders import a_cluster_ask

pytestmark = pytest.mark.django_db


@pytest.fixture
def page(client: Client, triager: User) -> Client:
    client.force_login(triager)
    return client


@pytest.fixture
def ask(desk: Team, member: User) -> Ticket:
    ticket = a_cluster_ask(desk, member)
    deliver_all()
    ticket.refresh_from_db()
    return ticket


def decide(page: Client, ticket: Ticket, verb: str, **typed: object) -> int:
    answer = page.post(f"/desk/{ticket.ref}/{verb}", {"version": ticket.version, **typed})
    return answer.status_code


def test_queue_lists_the_most_urgent_first(page: Client, ask: Ticket) -> None:
    urgent = a_cluster_ask(ask.team, ask.requester, cluster_name="urgent")
    claim = BlockClaim(since=urgent.submitted_at, people=20, idle_gpus=512, what="Nothing trains.")
    open_block(ticket=urgent, claim=claim, by=urgent.requester)
    deliver_all()
    text = page.get("/desk/").content.decode()
    assert text.index("urgent") < text.index("as train")


def test_customer_has_no_desk(client: Client, ask: Ticket, lead: User) -> None:
    client.force_login(lead)
    assert client.get("/desk/").status_code == 404
    assert decide(client, ask, "approve") == 404


def test_operator_sees_the_desk_but_decides_nothing(client: Client, ask: Ticket, operator: User) -> None:
    client.force_login(operator)
    assert client.get("/desk/").status_code == 200
    assert decide(client, ask, "approve") == 403
    ask.refresh_from_db()
    assert ask.status == TicketState.SUBMITTED


def test_approving_by_page_sets_the_order_off(page: Client, ask: Ticket) -> None:
    assert decide(page, ask, "approve", **{"granted-1": "3", "note": "Three now."}) == 302
    ask.refresh_from_db()
    assert (ask.status, ask.lines.get().granted_qty) == (TicketState.PROVISIONING, 3)


def test_stale_page_is_told_what_happened_meanwhile(page: Client, ask: Ticket) -> None:
    assert decide(page, ask, "approve") == 302
    answer = page.post(
        f"/desk/{ask.ref}/decline", {"version": ask.version, "reason_code": "focus", "reason": "No."}
    )
    assert answer.status_code == 409
    assert "it is provisioning now by triager" in answer.content.decode()


@pytest.mark.parametrize(
    ("verb", "typed"),
    [
        ("decline", {"reason_code": "because", "reason": "No."}),
        ("decline", {"reason_code": "focus", "reason": ""}),
        ("ask-back", {"question": " "}),
        ("approve", {"granted-1": "99"}),
    ],
)
def test_decision_that_says_too_little_is_refused_and_changes_nothing(
    page: Client, ask: Ticket, verb: str, typed: dict[str, str]
) -> None:
    assert decide(page, ask, verb, **typed) == 422
    before = ask.version
    ask.refresh_from_db()
    assert (ask.status, ask.version) == (TicketState.SUBMITTED, before)


def test_looking_never_decides(page: Client, ask: Ticket) -> None:
    for verb in ("take", "approve", "decline", "ask-back", "deliver"):
        assert page.get(f"/desk/{ask.ref}/{verb}").status_code == 405


def test_panel_shows_bars_that_add_up(page: Client, ask: Ticket) -> None:
    text = page.get(f"/tickets/{ask.ref}/").content.decode()
    assert "Head start" in text
    assert "GPUs of the quota left" in text


def test_team_never_sees_the_panel(client: Client, ask: Ticket, member: User) -> None:
    client.force_login(member)
    text = client.get(f"/tickets/{ask.ref}/").content.decode()
    assert "Your place" in text
    assert 'id="desk"' not in text


@pytest.mark.parametrize(
    "view", ["inbox", "queue", "mine", "blocked", "snoozed", "waiting", "by-hand", "running", "all"]
)
def test_every_part_of_the_desk_opens(page: Client, ask: Ticket, view: str) -> None:
    assert page.get("/desk/", {"view": view}).status_code == 200


def test_part_of_the_desk_that_does_not_exist_is_said(page: Client) -> None:
    assert page.get("/desk/", {"view": "attic"}).status_code == 400


def test_queue_costs_the_same_for_few_and_for_many(page: Client, ask: Ticket) -> None:
    def cost() -> int:
        with CaptureQueriesContext(connection) as seen:
            assert page.get("/desk/", {"open": ask.ref}).status_code == 200
        return len(seen)

    cost()
    few = cost()
    copies = [
        Ticket(
            team=ask.team, requester=ask.requester, offering_version=ask.offering_version, title=f"ask {number}",
            status=TicketState.SUBMITTED, rank_key=number, rank_explanation=ask.rank_explanation,
        )
        for number in range(500)
    ]  # fmt: skip
    Ticket.objects.bulk_create(copies)
    assert cost() == few
    assert few <= 28  # of these, what the list takes is six; the rest is the ticket under the cursor
