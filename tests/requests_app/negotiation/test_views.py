"""Offers and promises on pages: what is shown to whom, and what a form without any script does."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from portal.accounts.models import Team, User
from portal.kernel.clock import now
from requests_app.negotiation.models import Offer, Promise
from requests_app.negotiation.proposals import Proposal
from requests_app.negotiation.services import accept_offer, ask_about_offer, propose_offer
from requests_app.tickets.models import Line, Ticket
from tests.builders import a_cluster_ask
from tests.requests_app.negotiation.conftest import day, four_now_one_later

pytestmark = pytest.mark.django_db


def page(client: Client, ticket: Ticket) -> str:
    return client.get(f"/tickets/{ticket.ref}/").content.decode()


def reply(client: Client, ticket: Ticket, revision: int = 1, **fields: object) -> int:
    return client.post(f"/tickets/{ticket.ref}/offers/{revision}/reply", fields).status_code


@pytest.fixture
def offered(project: Ticket, triager: User) -> Ticket:
    lines = [Proposal(position=position, kind="now") for position in (1, 2, 3, 4)]
    later = Proposal(position=5, kind="later", later_on=day(12))
    propose_offer(
        ticket=project, version=project.version, lines=[*lines, later], note="Most of it.", by=triager
    )
    project.refresh_from_db()
    return project


def test_offer_shows_its_lines_its_numbers_and_its_buttons(
    client: Client, offered: Ticket, member: User
) -> None:
    client.force_login(member)
    shown = page(client, offered)
    for words in ("Offer 1", "Most of it.", "Accept all", "Accept what is ticked", "Cost a month", "unknown"):
        assert words in shown
    assert shown.count('name="take-') == 5


def test_member_who_does_not_speak_for_the_team_reads_and_asks(
    client: Client, offered: Ticket, desk: Team
) -> None:
    from tests.personas import a_user

    client.force_login(a_user(team=desk))
    shown = page(client, offered)
    assert "Offer 1" in shown
    assert "Accept all" not in shown
    assert "Ask a question first" in shown


def test_accept_some_counter_one_and_drop_one_in_one_form(
    client: Client, offered: Ticket, member: User
) -> None:
    client.force_login(member)
    fields = {f"take-{position}": "1" for position in range(1, 6)}
    typed = {**fields, "quantity-3": "40", "words-3": "Twice as much.", "drop-4": "1", "do": "chosen"}
    assert reply(client, offered, **typed) == 302
    told = {line.position: line.verdict for line in offered.lines.all()}
    assert told == {1: "granted", 2: "granted", 3: "pending", 4: "dropped", 5: "granted"}
    shown = page(client, offered)
    assert "Earlier offers (1)" in shown
    assert "wanted 40 TB" in shown
    assert "Promised" in shown


def test_accept_all_takes_every_line_whatever_is_ticked(
    client: Client, offered: Ticket, member: User
) -> None:
    client.force_login(member)
    assert reply(client, offered, do="all") == 302
    assert not offered.lines.exclude(verdict="granted").exists()


def test_counter_takes_nothing(client: Client, offered: Ticket, member: User) -> None:
    client.force_login(member)
    assert reply(client, offered, **{"do": "counter", "take-1": "1", "words": "All by Friday."}) == 302
    assert not offered.lines.exclude(verdict="pending").exists()
    assert Offer.objects.get().words == "All by Friday."


@pytest.mark.parametrize(
    "fields", [{"do": "chosen"}, {"do": "chosen", "quantity-1": "many"}, {"on-2": "soon"}]
)
def test_nothing_said_or_nonsense_is_refused(
    client: Client, offered: Ticket, member: User, fields: dict[str, str]
) -> None:
    client.force_login(member)
    assert reply(client, offered, **fields) == 422
    assert Offer.objects.get().is_open


def test_stale_revision_gets_a_page_that_says_what_happened(
    client: Client, offered: Ticket, member: User, triager: User
) -> None:
    lines = [Proposal(position=position, kind="now") for position in range(1, 6)]
    propose_offer(ticket=offered, version=offered.version, lines=lines, by=triager)
    client.force_login(member)
    answer = client.post(f"/tickets/{offered.ref}/offers/1/reply", {"do": "all", "words": "Thanks a lot."})
    assert answer.status_code == 409
    shown = answer.content.decode()
    assert "superseded" in shown
    assert "Revision 2 of it is open now" in shown or "Revision 2 is open now" in shown
    assert "Thanks a lot." in shown


@pytest.mark.parametrize("what", ["reply", "ask"])
def test_nobody_answers_an_offer_by_following_a_link(
    client: Client, offered: Ticket, member: User, what: str
) -> None:
    client.force_login(member)
    assert client.get(f"/tickets/{offered.ref}/offers/1/{what}").status_code == 405


def test_desk_makes_an_offer_from_its_panel_and_answers_a_question(
    client: Client, ask: Ticket, triager: User, member: User
) -> None:
    client.force_login(triager)
    assert f'hx-get="/tickets/{ask.ref}/offers/new"' in page(client, ask)
    assert "Make the offer" in client.get(f"/tickets/{ask.ref}/offers/new").content.decode()
    fields = {
        "version": ask.version,
        "kind-1": "part",
        "now-1": "4",
        "on-1": day(12).isoformat(),
        "days": "3",
    }
    assert client.post(f"/tickets/{ask.ref}/offers/propose", fields).status_code == 302
    offer = Offer.objects.get()
    each = offer.lines.get()
    assert (each.now_qty, each.later_qty, (offer.expires_at - now()).days) == (4, 1, 2)
    ask_about_offer(offer=offer, revision=1, question="In one rack?", by=member)
    shown = page(client, ask)
    assert "The team asks about offer 1" in shown
    ask.refresh_from_db()
    said = {"version": ask.version, "answer": "Yes."}
    assert client.post(f"/tickets/{ask.ref}/offers/answer", said).status_code == 302
    ask.refresh_from_db()
    assert ask.status == "offered"


def test_late_ask_says_so_where_the_offer_is_made(
    client: Client, desk: Team, member: User, triager: User
) -> None:
    late = a_cluster_ask(desk, member, nodes=2)
    Line.objects.filter(ticket=late).update(wanted_by=day(-40), days=29)
    client.force_login(triager)
    form = client.get(f"/tickets/{late.ref}/offers/new").content.decode()
    assert "offer it with other dates" in form
    answer = client.post(f"/desk/{late.ref}/approve", {"version": late.version, "granted-1": "2"})
    assert answer.status_code == 422
    assert "has passed" in answer.content.decode()
    late.refresh_from_db()
    assert late.status == "submitted"


def test_promises_are_listed_for_team_and_desk_and_moved_with_a_reason(
    client: Client, ask: Ticket, offer: Offer, member: User, triager: User, stranger: User
) -> None:
    accept_offer(offer=offer, revision=1, by=member)
    promise = Promise.objects.get()
    client.force_login(stranger)
    assert ask.ref not in client.get("/promises/").content.decode()
    assert client.post(f"/promises/{promise.pk}/move", {}).status_code == 404
    client.force_login(triager)
    assert ask.ref in client.get("/promises/").content.decode()
    fields = {"version": promise.version, "due_on": day(20).isoformat(), "reason": "A late delivery."}
    assert client.post(f"/promises/{promise.pk}/move", fields).status_code == 302
    client.force_login(member)
    assert "A late delivery." in page(client, ask)
    assert client.get("/promises/?view=overdue").status_code == 200
    assert client.get("/promises/?teem=1").status_code == 422


def promises(ask: Ticket, count: int) -> None:
    line = ask.lines.get()
    Promise.objects.bulk_create(
        Promise(line=line, quantity=1, due_on=day(9), first_due_on=day(9), status="open")
        for _ in range(count)
    )


def test_list_of_promises_costs_the_same_for_10_and_for_60(
    client: Client, ask: Ticket, triager: User
) -> None:
    client.force_login(triager)
    costs = []
    for more in (10, 50):
        promises(ask, more)
        with CaptureQueriesContext(
            connection,
        ) as caught:
            client.get("/promises/")
        costs.append(len(caught))
    assert costs[0] == costs[1]


def test_open_offer_of_twenty_lines_costs_what_one_of_five_does(
    client: Client, offered: Ticket, member: User
) -> None:
    client.force_login(member)
    page(client, offered)
    with CaptureQueriesContext(connection) as few:
        page(client, offered)
    offer = Offer.objects.get()
    for position in range(6, 21):
        line = Line.objects.create(
            ticket=offered, position=position, what="item", label=f"Thing {position}", asked_qty=1
        )
        offer.lines.create(line=line, kind="now", now_qty=1)
    with CaptureQueriesContext(connection) as many:
        page(client, offered)
    assert len(many) == len(few)
    assert four_now_one_later().position == 1
