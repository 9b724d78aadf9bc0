"""The ticket's pages, as requester, colleague, lead, triager and stranger."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import DjangoAssertNumQueries

from portal.accounts.models import Team, User
from portal.kernel.clock import now
from portal.ledger.dispatch import deliver_all
from requests_app.tickets.models import Comment, Line, Ticket
from requests_app.tickets.services import comment, confirm_relief
from requests_app.triage.services import approve_ticket, decline_ticket, take_ticket
from tests.builders import a_cluster_ask
from tests.requests_app.hostile import HOSTILE
from tests.requests_app.tickets.conftest import FRAGMENT, an_unblock, version_of

pytestmark = pytest.mark.django_db


def page(client: Client, address: str, **headers: str) -> str:
    answer = client.get(address, headers=headers)
    assert answer.status_code == 200
    return answer.content.decode()


def url(ticket: Ticket, action: str = "") -> str:
    return f"/tickets/{ticket.ref}/{action}"


def test_requester_sees_where_it_is_what_is_next_and_who_has_it(
    client: Client, ticket: Ticket, member: User, triager: User
) -> None:
    client.force_login(member)
    shown = page(client, url(ticket))
    assert "Waiting for a decision" in shown
    assert "nobody has taken it yet" in shown
    assert "3 nodes" in shown
    take_ticket(ticket=ticket, version=ticket.version, by=triager)
    assert "triager" in page(client, url(ticket))


def test_requester_sees_a_no_with_its_reason_and_the_nearest_yes(
    client: Client, ticket: Ticket, member: User, triager: User
) -> None:
    decline_ticket(
        ticket=ticket,
        version=ticket.version,
        reason_code="capacity",
        reason="All are taken.",
        nearest_yes="Two nodes on Monday.",
        by=triager,
    )
    client.force_login(member)
    shown = page(client, url(ticket))
    assert "All are taken." in shown
    assert "Two nodes on Monday." in shown


def test_requester_follows_the_order_until_it_ends(
    client: Client, ticket: Ticket, member: User, triager: User
) -> None:
    approve_ticket(ticket=ticket, version=ticket.version, by=triager)
    client.force_login(member)
    shown = page(client, url(ticket))
    assert "/orders/O-" in shown or "O-" in shown
    assert 'hx-trigger="every 2s"' in shown
    assert "<progress" in shown


def test_the_polled_part_brings_the_forms_only_when_the_ticket_changed(
    client: Client, ticket: Ticket, member: User
) -> None:
    client.force_login(member)
    same = page(client, f"{url(ticket)}?version={ticket.version}", **FRAGMENT)
    assert "<html" not in same
    assert 'id="live"' in same
    assert 'id="side"' not in same
    changed = page(client, f"{url(ticket)}?version={ticket.version + 1}", **FRAGMENT)
    assert 'id="side" hx-swap-oob="true"' in changed


def test_a_ticket_that_is_over_is_not_polled(client: Client, ready: Ticket, member: User) -> None:
    client.force_login(member)
    confirm_relief(ticket=ready, by=member)
    assert "hx-trigger=" not in page(client, url(ready)).split('id="live"')[1].split(">")[0]


def test_member_comments_without_leaving_the_page(client: Client, ticket: Ticket, member: User) -> None:
    client.force_login(member)
    answer = client.post(url(ticket, "comment"), {"text": "We could start with two."}, headers=FRAGMENT)
    part = answer.content.decode()
    assert "We could start with two." in part
    assert 'id="comment-box"' not in part  # what is written there meanwhile stays
    assert "<html" not in part
    assert client.post(url(ticket, "comment"), {"text": "And more."}).status_code == 302


def test_note_of_the_desk_is_not_on_the_teams_page(
    client: Client, ticket: Ticket, member: User, operator: User
) -> None:
    client.force_login(operator)
    client.post(url(ticket, "comment"), {"text": "They never answer.", "internal": "1"})
    assert "They never answer." in page(client, url(ticket))
    client.force_login(member)
    assert "They never answer." not in page(client, url(ticket))
    assert client.post(url(ticket, "comment"), {"text": "x", "internal": "1"}).status_code == 403


def test_member_answers_on_the_page(client: Client, waiting: Ticket, member: User) -> None:
    client.force_login(member)
    assert "Which share?" in page(client, url(waiting))
    sent = {"text": "nas-1", "version": str(waiting.version)}
    assert client.post(url(waiting, "answer"), sent).status_code == 302
    again = client.post(url(waiting, "answer"), sent)
    assert again.status_code == 409
    assert Ticket.objects.get(pk=waiting.pk).status == "submitted"


def test_requester_closes_and_confirms_relief(client: Client, ready: Ticket, member: User) -> None:
    client.force_login(member)
    assert "We can work again" in page(client, url(ready))
    client.post(url(ready, "relief"))
    ready.refresh_from_db()
    assert not ready.is_blocking
    assert "We can work again" not in page(client, url(ready))
    client.post(url(ready, "close"), {"version": str(ready.version)})
    assert Ticket.objects.get(pk=ready.pk).status == "closed"


@pytest.mark.parametrize("version", ["", "x", "-1", "1" * 40, "²"])
def test_a_page_without_a_version_is_told_to_reload(
    client: Client, ready: Ticket, member: User, version: str
) -> None:
    client.force_login(member)
    assert client.post(url(ready, "close"), {"version": version}).status_code == 422


@pytest.mark.parametrize("action", ["", "comment", "answer", "withdraw", "close", "relief"])
def test_stranger_finds_nothing_at_any_address(
    client: Client, waiting: Ticket, stranger: User, action: str
) -> None:
    client.force_login(stranger)
    send = client.post if action else client.get
    answer = send(url(waiting, action), {"text": "x", "version": "1"} if action else {})
    assert answer.status_code == 404
    assert waiting.title not in answer.content.decode()
    assert Ticket.objects.get(pk=waiting.pk).status == "waiting"
    assert not Comment.objects.exists()


@pytest.mark.parametrize("action", ["comment", "answer", "withdraw", "close", "relief"])
def test_nothing_is_done_by_a_link(client: Client, waiting: Ticket, member: User, action: str) -> None:
    client.force_login(member)
    assert client.get(url(waiting, action)).status_code == 405


@pytest.mark.parametrize("ref", ["T-999999", "O-1", "T-0", "t-1", "T-1x", "T-99999999999999999999", "1"])
def test_a_ref_that_is_none_is_not_found(client: Client, ticket: Ticket, member: User, ref: str) -> None:
    client.force_login(member)
    assert client.get(f"/tickets/{ref}/").status_code == 404


def test_list_shows_each_their_own(
    client: Client, ticket: Ticket, member: User, stranger: User, triager: User, lead: User
) -> None:
    for person, sees in ((member, True), (lead, True), (triager, True), (stranger, False)):
        client.force_login(person)
        assert (ticket.ref in page(client, "/tickets/")) is sees


def test_list_is_narrowed_and_unknown_states_are_refused(
    client: Client, ticket: Ticket, ready: Ticket, member: User, lead: User
) -> None:
    client.force_login(member)
    shown = page(client, "/tickets/?state=ready")
    assert ready.ref in shown
    assert f'/tickets/{ticket.ref}/"' not in shown
    assert client.get("/tickets/?state=nowhere").status_code == 422
    assert ticket.ref not in page(client, "/tickets/?team=speech", **FRAGMENT)
    client.force_login(lead)
    assert ticket.ref not in page(client, "/tickets/?mine=1")


def many(team: Team, by: User, count: int) -> None:
    """Tickets straight into the table."""
    version = version_of("unblock")
    rows = [
        Ticket(status="submitted", team=team, requester=by, offering_version=version, title=f"Ask {number}")
        for number in range(count)
    ]
    for ticket in Ticket.objects.bulk_create(rows):
        Line.objects.create(ticket=ticket, position=1, what="item", label="x", asked_qty=1)


def queries(client: Client, address: str) -> int:
    with CaptureQueriesContext(
        connection,
    ) as seen:
        assert client.get(address).status_code == 200
    return len(seen)


@pytest.mark.parametrize("persona", ["member", "triager"])
def test_list_costs_the_same_for_10_and_for_60(
    client: Client, desk: Team, member: User, triager: User, persona: str
) -> None:
    client.force_login({"member": member, "triager": triager}[persona])
    many(desk, member, 10)
    few = queries(client, "/tickets/?state=")
    many(desk, member, 50)
    assert queries(client, "/tickets/?state=") == few
    assert few <= 12


def test_page_costs_the_same_for_60_and_for_400_comments(
    client: Client, ticket: Ticket, member: User
) -> None:
    client.force_login(member)

    def say(count: int) -> None:
        Comment.objects.bulk_create(
            Comment(ticket=ticket, author=member, body="word", at=now()) for _ in range(count)
        )

    say(60)
    few = queries(client, url(ticket))
    say(340)
    assert queries(client, url(ticket)) == few
    assert few <= 45  # every card of the page asks for its own, whatever there is of it


def test_pages_of_the_list_neither_repeat_nor_skip(client: Client, desk: Team, member: User) -> None:
    client.force_login(member)
    many(desk, member, 120)
    seen: list[str] = []
    address = "/tickets/?state="
    for _ in itertools.count():
        answer = client.get(address)
        seen += [row.ref for row in answer.context["page"].rows]
        if not answer.context["older"]:
            break
        address = f"/tickets/{answer.context['older']}"
    assert len(seen) == len(set(seen)) == 120


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_refused_or_inert_on_the_page(
    client: Client, waiting: Ticket, member: User, text: str
) -> None:
    client.force_login(member)
    sent: dict[str, Any] = {"text": text, "version": str(waiting.version)}
    for action in ("comment", "answer"):
        assert client.post(url(waiting, action), sent).status_code in (302, 422)
    shown = page(client, url(waiting))
    assert "<script>alert" not in shown
    assert "<img src=x" not in shown
    assert "\u202e" not in shown
    for name in ("state", "team", "cursor", "mine"):
        expected = (400,) if "\0" in text else (200, 422)
        assert client.get("/tickets/", {name: text[:3000]}).status_code in expected, name


def test_hostile_headline_is_inert_in_lists_and_pages(client: Client, desk: Team, member: User) -> None:
    client.force_login(member)
    ticket = an_unblock(desk, member)
    Ticket.objects.filter(pk=ticket.pk).update(title="<script>alert(1)</script>{{ 7*7 }}")
    for address in ("/tickets/", url(ticket)):
        shown = page(client, address)
        assert "<script>alert" not in shown
        assert "{{ 7*7 }}" in shown


def test_team_finds_in_one_list_what_waits_for_it(
    client: Client, ticket: Ticket, waiting: Ticket, member: User
) -> None:
    client.force_login(member)
    shown = page(client, "/tickets/?state=ours")
    assert waiting.ref in shown
    assert ticket.ref not in shown


@pytest.mark.parametrize(("reader", "most"), [("triager", 42), ("member", 35)])
def test_page_asks_the_database_few_things_however_long_the_story(
    client: Client,
    desk: Team,
    member: User,
    request: pytest.FixtureRequest,
    reader: str,
    most: int,
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    ticket = a_cluster_ask(desk, member)
    deliver_all()
    client.force_login(request.getfixturevalue(reader))
    client.get(f"/tickets/{ticket.ref}/")
    with django_assert_max_num_queries(most) as short:
        client.get(f"/tickets/{ticket.ref}/")
    for number in range(12):
        comment(ticket=ticket, body=f"Word {number}.", by=member)
    with django_assert_max_num_queries(
        len(short) + 1
    ):  # files of comments are asked for where there are some
        client.get(f"/tickets/{ticket.ref}/")
