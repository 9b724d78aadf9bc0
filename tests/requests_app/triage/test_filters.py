"""A part of the desk is what its address says, and an address that says nonsense is refused, never guessed."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from hypothesis import given
from hypothesis import strategies as st

from portal.accounts.models import Team, User
from portal.kernel.clock import now
from portal.kernel.errors import Invalid, NotAllowed, NotFound, UnknownParameter
from requests_app.search.services import index_missing
from requests_app.tickets.models import Ticket
from requests_app.triage import placeholders, replies, saved_views
from requests_app.triage.filters import NAMES, VIEWS, Filters, read_filters
from requests_app.triage.inbox import desk as on_desk
from requests_app.triage.inbox import tabs
from requests_app.triage.models import SavedView
from tests.personas import a_user
from tests.requests_app.triage.desk_builders import an_ask, many_asks


@given(st.dictionaries(st.text(max_size=12), st.text(max_size=12), max_size=4))
def test_whatever_an_address_says_it_is_understood_or_refused_with_400(said: dict[str, str]) -> None:
    try:
        read = read_filters(said)
    except UnknownParameter:
        return
    assert set(read.as_query()) <= NAMES


def test_refusal_of_an_address_is_a_400() -> None:
    assert UnknownParameter.status == 400


@given(st.sampled_from(sorted(VIEWS)), st.sampled_from(["", "yes", "no"]), st.text("abc", max_size=5))
def test_filters_survive_the_way_through_an_address(view: str, blocked: str, team: str) -> None:
    filters = Filters(view=view, blocked=blocked, team=team)
    assert read_filters(filters.as_query()) == filters


@pytest.mark.django_db
def test_each_filter_narrows_to_what_it_says(
    desk: Team, member: User, triager: User, other_team: Team, stranger: User
) -> None:
    (old,) = many_asks(1, desk, member, title="Old", submitted_at=now() - timedelta(days=8))
    (theirs,) = many_asks(1, other_team, stranger, title="Zeppelin", rank_key=5, assignee=triager)
    (blocked,) = many_asks(1, desk, member, title="Blocked", rank_key=9, blocked_since=now())
    index_missing()
    wanted: dict[str, list[Ticket]] = {
        "team=vision": [old, blocked],
        "team=speech": [theirs],
        "age=7d": [old],
        "blocked=yes": [blocked],
        "blocked=no": [old, theirs],
        "assignee=me": [theirs],
        "assignee=nobody": [old, blocked],
        "assignee=triager": [theirs],
        "q=zeppelin": [theirs],
        "state=submitted": [old, theirs, blocked],
        "state=closed": [],
        "offering=unblock": [old, theirs, blocked],
        "offering=gpu-cluster": [],
        "pillar=data": [],
    }
    for said, rows in wanted.items():
        name, _, value = said.partition("=")
        found = on_desk(triager, Filters(view="queue", **{name: value}))
        assert {row.pk for row in found} == {row.pk for row in rows}, said


@pytest.mark.django_db
@pytest.mark.parametrize(
    "query", ["teem=1", "view=attic", "team=nobodys", "offering=yacht", "assignee=ghost", "age=2d", "blocked=maybe", "pillar=x", "state=lost"]
)  # fmt: skip
def test_address_that_says_nonsense_is_a_400(desk: Team, client: Client, triager: User, query: str) -> None:
    client.force_login(triager)
    assert client.get(f"/desk/?{query}").status_code == 400


@pytest.mark.django_db
def test_inbox_holds_nobodys_and_mine_and_counts_agree_with_lists(
    desk: Team, member: User, triager: User
) -> None:
    second = a_user("second", staff_role="triager")
    for columns in (
        {},
        {"assignee": triager},
        {"assignee": second},
        {"snoozed_until": now() + timedelta(days=1)},
    ):
        many_asks(2, desk, member, **columns)
    assert on_desk(triager, Filters()).count() == 4
    counted = {tab.slug: tab.count for tab in tabs(triager) if tab.count is not None}
    assert counted == {slug: on_desk(triager, Filters(view=slug)).count() for slug in counted}
    assert counted["mine"] == counted["snoozed"] == 2


@pytest.mark.django_db
def test_counting_stops_where_nobody_reads_on(desk: Team, member: User, triager: User) -> None:
    many_asks(130, desk, member)
    inbox = next(tab for tab in tabs(triager) if tab.slug == "inbox")
    assert (inbox.count, inbox.more) == (100, True)


@pytest.mark.django_db
def test_saved_view_is_mine_or_the_desks(triager: User, operator: User, member: User, desk: Team) -> None:
    mine = saved_views.save_view(name="Storage", filters={"pillar": "data"}, by=triager)
    shared = saved_views.save_view(name="Blocked", filters={"blocked": "yes"}, shared=True, by=triager)
    assert saved_views.views_for(triager) == [shared, mine]
    assert saved_views.views_for(operator) == [shared]
    assert not SavedView.objects.visible_to(member).exists()
    with pytest.raises(NotFound):
        saved_views.drop_view(number=mine.pk, by=operator)
    with pytest.raises(NotAllowed):
        saved_views.drop_view(number=shared.pk, by=operator)
    with pytest.raises(NotAllowed):
        saved_views.save_view(name="Mine", filters={}, by=member)


@pytest.mark.django_db
def test_saved_view_is_held_to_the_same_rules_as_an_address(triager: User, desk: Team) -> None:
    with pytest.raises(UnknownParameter):
        saved_views.save_view(name="Typo", filters={"teem": "vision"}, by=triager)
    again = saved_views.save_view(name="Twice", filters={"team": "vision"}, by=triager)
    assert saved_views.save_view(name="Twice", filters={"blocked": "yes"}, by=triager).pk == again.pk
    assert SavedView.objects.get().filters == {"blocked": "yes"}


@given(st.text(max_size=60), st.text(max_size=20))
def test_canned_text_fills_known_holes_once_and_leaves_the_rest(body: str, value: str) -> None:
    filled = placeholders.fill("{team} " + body.replace("{", "(").replace("}", ")"), {"team": value})
    assert filled.startswith(value + " ")
    assert placeholders.fill("{team}", {"team": "{me}", "me": "x"}) == "{me}"


@pytest.mark.django_db
def test_canned_texts_fill_what_they_know_and_refuse_what_they_do_not(
    desk: Team, member: User, triager: User, operator: User
) -> None:
    replies.save_reply(name="Hello", use="comment", body="Hello {requester} of {team}: {ref}.", by=triager)
    ask = an_ask(desk, member)
    (text,) = [each.text for each in replies.replies_for(ask, triager)]
    assert text == f"Hello member of Vision: {ask.ref}."
    with pytest.raises(Invalid):
        replies.save_reply(name="Leak", use="comment", body="{ticket.requester.password}", by=triager)
    with pytest.raises(NotAllowed):
        replies.save_reply(name="Mine", use="comment", body="Hello.", by=operator)


@pytest.mark.django_db
def test_desk_costs_the_same_for_ten_and_for_sixty(
    desk: Team, member: User, triager: User, client: Client
) -> None:
    client.force_login(triager)
    rows = many_asks(10, desk, member)

    def cost(address: str) -> int:
        with CaptureQueriesContext(connection) as seen:
            assert client.get(address).status_code == 200
        return len(seen)

    pages = [f"/desk/?view={view}&open={rows[0].ref}" for view in ("inbox", "all")] + [
        "/desk/bulk/",
        "/desk/rota/",
    ]
    for page in pages:
        cost(page)
    few = [cost(page) for page in pages]
    many_asks(50, desk, member)
    assert [cost(page) for page in pages] == few
