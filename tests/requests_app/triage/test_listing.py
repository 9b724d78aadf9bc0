"""The desk's list: what its rows say, what its tabs count, and that it asks no more than it shows."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import DjangoAssertNumQueries

from portal.accounts.models import Team, User
from portal.kernel.clock import now
from portal.shell.tones import word_of
from requests_app.tickets.models import Ticket
from requests_app.triage import inbox
from requests_app.triage.filters import VIEWS, Filters
from requests_app.triage.rows import Row, rows_of
from tests.personas import a_user
from tests.requests_app.triage.desk_builders import many_asks

pytestmark = pytest.mark.django_db


def the_row(by: User, *, ranked: bool = True, on_duty: User | None = None) -> Row:
    tickets = inbox.listed(inbox.desk(by, Filters(view="all")))
    [row] = rows_of(tickets, ranked=ranked, open_one=None, on_duty=on_duty)
    return row


def test_ranked_row_says_its_head_start(desk: Team, member: User, triager: User) -> None:
    many_asks(1, desk, member, rank_explanation={"head_start": 371_160, "bars": []})
    assert the_row(triager).when == "+103.1 h"


def test_row_of_a_view_without_a_rank_says_since_when_and_where_it_is(
    desk: Team, member: User, triager: User
) -> None:
    many_asks(1, desk, member, rank_explanation={"head_start": 3600, "bars": []})
    row = the_row(triager, ranked=False)
    assert "<time" in row.when
    assert row.state == word_of("submitted")


def test_row_that_is_not_explained_yet_says_since_when(desk: Team, member: User, triager: User) -> None:
    many_asks(1, desk, member)
    assert "<time" in the_row(triager).when


@pytest.mark.parametrize(
    ("people", "gpus", "says"),
    [(1, 1, "blocked: 1 person, 1 GPU"), (3, 0, "blocked: 3 people, 0 GPUs")],
)
def test_blocked_row_says_who_and_how_much(
    desk: Team, member: User, triager: User, people: int, gpus: int, says: str
) -> None:
    many_asks(1, desk, member, blocked_since=now(), blocked_people=people, idle_gpus=gpus)
    assert the_row(triager).blocked == says


def test_blocked_row_that_nobody_has_is_for_who_is_on_duty(desk: Team, member: User, triager: User) -> None:
    many_asks(1, desk, member, blocked_since=now(), blocked_people=1)
    row = the_row(triager, on_duty=triager)
    assert (row.who, row.login, row.duty) == (
        triager.get_full_name() or triager.username,
        triager.username,
        True,
    )


def test_row_that_somebody_has_is_theirs_whoever_is_on_duty(desk: Team, member: User, triager: User) -> None:
    other = a_user("other-triager", staff_role="triager")
    many_asks(1, desk, member, blocked_since=now(), blocked_people=1, assignee=other)
    row = the_row(triager, on_duty=triager)
    assert (row.login, row.duty) == ("other-triager", False)


def test_rows_are_read_with_one_query(
    desk: Team, member: User, triager: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    many_asks(5, desk, member, assignee=triager)
    with django_assert_num_queries(1):
        tickets = inbox.listed(inbox.desk(triager, Filters(view="queue")))
        assert len(list(rows_of(tickets, ranked=True, open_one=None, on_duty=None))) == 5


def test_tabs_count_what_their_views_hold_for_each_person(desk: Team, member: User, triager: User) -> None:
    other = a_user("other-triager", staff_role="triager")
    many_asks(3, desk, member)
    many_asks(2, desk, member, assignee=other)
    many_asks(1, desk, member, assignee=triager, blocked_since=now())
    many_asks(1, desk, member, snoozed_until=now() + timedelta(hours=1))
    many_asks(2, desk, member, status="approved", rank_key=None)
    for person in (triager, other, triager):
        counted = {tab.slug: tab.count for tab in inbox.tabs(person)}
        held = {slug: inbox.desk(person, Filters(view=slug)).count() for slug in VIEWS if slug != "all"}
        assert counted == {**held, "all": None}
    assert {tab.slug: tab.count for tab in inbox.tabs(other)}["mine"] == 2


def test_snooze_that_is_over_moves_the_count_by_itself(desk: Team, member: User, triager: User) -> None:
    [ticket] = many_asks(1, desk, member, snoozed_until=now() + timedelta(hours=1))
    assert {tab.slug: tab.count for tab in inbox.tabs(triager)}["inbox"] == 0
    Ticket.objects.filter(pk=ticket.pk).update(snoozed_until=now() - timedelta(seconds=1))
    assert {tab.slug: tab.count for tab in inbox.tabs(triager)}["inbox"] == 1


def test_tabs_count_nothing_for_who_has_no_desk(desk: Team, member: User) -> None:
    many_asks(2, desk, member)
    assert {tab.count for tab in inbox.tabs(member)} == {0, None}


def test_moving_the_cursor_counts_no_tabs(client: Client, desk: Team, member: User, triager: User) -> None:
    tickets = many_asks(3, desk, member)
    client.force_login(triager)
    with CaptureQueriesContext(connection) as whole:
        client.get("/desk/?view=queue")
    with CaptureQueriesContext(connection) as pane:
        answer = client.get(
            f"/desk/?view=queue&open={tickets[1].ref}", headers={"hx-request": "true", "hx-target": "pane"}
        )
    assert f'data-ref="{tickets[1].ref}"' in answer.content.decode()
    assert any("looked_at" in query["sql"] for query in whole)
    assert not any("looked_at" in query["sql"] for query in pane)
    assert len(pane) < len(whole)


def test_page_asks_no_more_for_fifty_rows_than_for_one(
    client: Client,
    desk: Team,
    member: User,
    triager: User,
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    many_asks(50, desk, member, assignee=triager, blocked_since=now())
    client.force_login(triager)
    client.get("/desk/")
    with django_assert_max_num_queries(27):
        client.get("/desk/?view=queue")


def test_what_has_come_since_is_counted_and_moves_nothing(
    client: Client, desk: Team, member: User, triager: User
) -> None:
    shown = many_asks(2, desk, member)
    client.force_login(triager)
    known = ",".join(str(ticket.pk) for ticket in shown)
    assert f"shown={shown[0].pk},{shown[1].pk}" in client.get("/desk/?view=queue").content.decode()
    assert "new" not in client.get(f"/desk/fresh?view=queue&shown={known}").content.decode()
    many_asks(3, desk, member)
    said = client.get(f"/desk/fresh?view=queue&shown={known}").content.decode()
    assert "3 new: show them" in said
    assert "data-row" not in said


def test_what_has_come_elsewhere_is_not_new_here(
    client: Client, desk: Team, member: User, triager: User
) -> None:
    many_asks(1, desk, member)
    client.force_login(triager)
    assert "new" not in client.get("/desk/fresh?view=blocked&shown=").content.decode()
    assert "1 new: show it" in client.get("/desk/fresh?shown=what,-1").content.decode()


def test_deep_page_asks_for_nothing_new(client: Client, desk: Team, member: User, triager: User) -> None:
    many_asks(60, desk, member)
    client.force_login(triager)
    first = client.get("/desk/?view=queue")
    assert "/desk/fresh" in first.content.decode()
    assert "/desk/fresh" not in client.get(f"/desk/{first.context['older']}").content.decode()
