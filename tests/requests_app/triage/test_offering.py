"""The verb `offer` at the desk: typed for each undecided line, sent in one go, and the next request comes under the cursor."""

from __future__ import annotations

import pytest
from django.test import Client

from portal.accounts.models import Team, User
from requests_app.negotiation.models import Offer
from requests_app.tickets.models import Ticket
from requests_app.triage.models import Undo
from tests.builders import a_cluster_ask
from tests.requests_app.triage.desk_builders import many_asks

pytestmark = pytest.mark.django_db
FRAGMENT = {"hx-request": "true"}


@pytest.fixture
def ask(desk: Team, member: User) -> Ticket:
    return a_cluster_ask(desk, member, nodes=4)


def test_offer_goes_out_and_the_next_comes_under_the_cursor(
    client: Client, desk: Team, member: User, triager: User, ask: Ticket
) -> None:
    following = many_asks(1, desk, member)[0]
    client.force_login(triager)
    typed = {"version": ask.version, "then": following.ref, "kind-1": "part", "now-1": "3"}
    typed |= {"later-1": "1", "on-1": "2099-01-04", "days": "5", "note": "Three at once."}
    answer = client.post(f"/desk/{ask.ref}/do/offer", typed, headers=FRAGMENT)
    assert answer.status_code == 200, answer.content.decode()
    assert f'data-ref="{following.ref}"' in answer.content.decode()
    offer = Offer.objects.get(ticket=ask)
    line = offer.lines.get()
    assert (line.now_qty, line.later_qty, offer.note) == (3, 1, "Three at once.")
    ask.refresh_from_db()
    assert ask.status == "offered"
    assert not Undo.objects.exists()  # it is withdrawn on its page, with a reason


def test_offer_of_too_much_says_so_and_sends_nothing(client: Client, triager: User, ask: Ticket) -> None:
    client.force_login(triager)
    typed = {"version": ask.version, "kind-1": "part", "now-1": "9"}
    answer = client.post(f"/desk/{ask.ref}/do/offer", typed, headers=FRAGMENT)
    assert answer.status_code == 422
    assert not Offer.objects.exists()


def test_form_comes_when_it_is_opened_and_is_a_page_without_a_script(
    client: Client, triager: User, ask: Ticket
) -> None:
    client.force_login(triager)
    pane = client.get(f"/desk/?open={ask.ref}&view=all").content.decode()
    assert 'data-verb="o"' in pane
    assert 'name="kind-1"' not in pane
    assert f'href="/tickets/{ask.ref}/offers/new"' in pane
    page = client.get(f"/tickets/{ask.ref}/offers/new").content.decode()
    assert "<html" in page
    assert 'name="kind-1"' in page
    fields = client.get(f"/tickets/{ask.ref}/offers/new", headers=FRAGMENT).content.decode()
    assert 'name="kind-1"' in fields
    assert "<html" not in fields


def test_nobody_else_gets_the_form(client: Client, member: User, stranger: User, ask: Ticket) -> None:
    client.force_login(member)
    assert client.get(f"/tickets/{ask.ref}/offers/new").status_code == 302
    client.force_login(stranger)
    assert client.get(f"/tickets/{ask.ref}/offers/new").status_code == 404


def test_decided_request_has_nothing_to_offer(
    client: Client, desk: Team, member: User, triager: User
) -> None:
    [done] = many_asks(1, desk, member, status="approved", rank_key=None)
    client.force_login(triager)
    assert 'data-verb="o"' not in client.get(f"/desk/?open={done.ref}&view=all").content.decode()
