"""Everybody finds what they may see, by its words, and nothing else; also at a size at which reading all of it would hurt."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from portal.accounts.models import Team, User
from portal.kernel.errors import Invalid
from portal.ledger.dispatch import deliver_all
from requests_app.search.models import SearchDocument, SearchWord
from requests_app.search.queries import documents, newest, search
from requests_app.search.services import index_missing, index_tickets
from requests_app.search.similar import similar_to
from requests_app.tickets.models import Ticket
from requests_app.tickets.services import comment
from requests_app.triage.services import decline_ticket
from tests.requests_app.triage.desk_builders import an_ask, many_asks

pytestmark = pytest.mark.django_db


@pytest.fixture
def ask(desk: Team, member: User) -> Ticket:
    return an_ask(
        desk, member, "Loader stalls on the shared file system", details="Since the kernel upgrade."
    )


def refs(user: User, text: str) -> list[str]:
    return [hit.ref for hit in search(user, text).hits if hit.kind == "request"]


@pytest.mark.parametrize(
    "text",
    [
        "loader",
        "stalling",
        '"shared file"',
        "loader -dashboard",
        "nothing or kernel",
        "upgrades",
    ],
)
def test_words_phrases_alternatives_and_word_forms_find(ask: Ticket, member: User, text: str) -> None:
    assert refs(member, text) == [ask.ref]


@pytest.mark.parametrize("text", ['"file shared"', "loader -kernel", "dashboard", "!!!", "'", "& | :*"])
def test_what_is_not_there_is_not_found_and_breaks_nothing(ask: Ticket, member: User, text: str) -> None:
    assert refs(member, text) == []


def test_reference_is_found_however_it_is_written(ask: Ticket, member: User, stranger: User) -> None:
    for text in (ask.ref, ask.ref.lower(), ask.ref.replace("-", "")):
        assert refs(member, text) == [ask.ref]
        assert refs(stranger, text) == []


def test_typing_error_finds_what_is_near_and_says_so(ask: Ticket, member: User) -> None:
    for text in ("Loadr", "laoder stals", "shraed"):
        found = search(member, text)
        assert found.guessed, text
        assert [hit.ref for hit in found.hits] == [ask.ref]


def test_stranger_finds_nothing_of_another_team(ask: Ticket, stranger: User) -> None:
    for text in ("loader", "loadr", "shared file", ask.ref):
        assert refs(stranger, text) == []


def test_comment_is_found_and_a_note_by_infra_alone(ask: Ticket, member: User, triager: User) -> None:
    comment(ticket=ask, body="The culprit is zeppelin.", by=member)
    comment(ticket=ask, body="I suspect quicksilver.", internal=True, by=triager)
    deliver_all()
    assert refs(member, "zeppelin") == refs(triager, "zeppelin") == refs(triager, "quicksilver") == [ask.ref]
    assert refs(member, "quicksilver") == []
    assert not SearchWord.objects.filter(word="quicksilver").exists()


def test_reason_of_a_decision_is_found(ask: Ticket, member: User, triager: User) -> None:
    decline_ticket(
        ticket=ask, version=ask.version, reason_code="focus", reason="Ask the librarians.", by=triager
    )
    deliver_all()
    assert refs(member, "librarian") == [ask.ref]


def test_title_counts_more_than_a_passing_word(ask: Ticket, desk: Team, member: User) -> None:
    other = an_ask(desk, member, "Something else", details="The loader is fine.")
    assert refs(member, "loader") == [ask.ref, other.ref]


def test_offerings_clusters_and_pages_of_the_fleet_are_found_by_name(
    ask: Ticket, member: User, operator: User
) -> None:
    assert "GPU cluster" in [hit.title for hit in search(member, "gpu clus").hits]
    assert "gpu-001" in [hit.title for hit in search(operator, "gpu-001").hits]
    assert "gpu-001" not in [hit.title for hit in search(member, "gpu-001").hits]


def test_too_long_a_question_is_refused(member: User) -> None:
    with pytest.raises(Invalid):
        search(member, "x" * 201)


def test_what_came_in_without_an_event_is_caught_up(desk: Team, member: User) -> None:
    rows = many_asks(3, desk, member, title="Imported zeppelin")
    assert refs(member, "zeppelin") == []
    assert index_missing() == 3
    assert index_missing() == 0
    assert refs(member, "zeppelin") == [row.ref for row in reversed(rows)]


def test_indexing_twice_changes_nothing(ask: Ticket) -> None:
    before = SearchDocument.objects.values().get(pk=ask.pk)
    assert index_tickets([ask.pk]) == 1
    assert SearchDocument.objects.values().get(pk=ask.pk) == before


def plan_of(sql: str, parameters: object) -> str:
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN {sql}", parameters)
        return "\n".join(row[0] for row in cursor.fetchall())


def test_index_answers_a_rare_word_among_many(desk: Team, member: User, triager: User) -> None:
    many_asks(15_000, desk, member)
    index_missing(15_000)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT gin_clean_pending_list('search_whole'), gin_clean_pending_list('search_public')"
        )
        cursor.execute("ANALYZE requests_app_searchdocument")
    for user, index in ((triager, "search_whole"), (member, "search_public")):
        query = documents(user, "zeppelin").order_by("-ticket_id").values("pk")[:200].query
        plan = plan_of(*query.sql_with_params())
        assert index in plan, plan
        assert "Seq Scan on requests_app_searchdocument" not in plan


def test_search_costs_the_same_for_few_and_for_many(desk: Team, member: User) -> None:
    def cost() -> int:
        with CaptureQueriesContext(connection) as seen:
            search(member, "number")
        return len(seen)

    many_asks(10, desk, member)
    index_missing()
    few = cost()
    many_asks(50, desk, member)
    index_missing()
    assert cost() == few <= 8


def test_page_and_palette_show_what_the_reader_may_see(
    ask: Ticket, member: User, stranger: User, client: Client
) -> None:
    for person, shown in ((member, True), (stranger, False)):
        client.force_login(person)
        page = client.get("/search/", {"q": "loader"}).content.decode()
        palette = client.get("/search/", {"q": "loader", "palette": "1"}, headers={"hx-request": "true"})
        assert (ask.ref in page) is shown
        assert (ask.ref in palette.content.decode()) is shown
        assert client.get("/search/", {"q": "loader", "order": "newest"}).status_code == 200
    assert client.get("/search/", {"qq": "loader"}).status_code == 400


def test_palette_offers_verbs_to_who_may_do_them(
    ask: Ticket, member: User, triager: User, client: Client
) -> None:
    for person, offered in ((triager, True), (member, False)):
        client.force_login(person)
        asked = {"q": "decl", "about": ask.ref, "palette": "1"}
        text = client.get("/search/", asked, headers={"hx-request": "true"}).content.decode()
        assert (f"Decline {ask.ref}" in text) is offered


def test_same_words_of_the_same_team_come_first_among_duplicates(
    ask: Ticket, desk: Team, member: User, other_team: Team, stranger: User, triager: User
) -> None:
    twin = an_ask(
        desk, member, "Loader stalls on the shared file system", details="Since the kernel upgrade."
    )
    near = an_ask(other_team, stranger, "The loader stalls on a shared file system")
    an_ask(desk, member, "Dashboards are empty")
    found = similar_to(twin, triager)
    assert [(each.ticket.pk, each.why == "the same words") for each in found] == [
        (ask.pk, True),
        (near.pk, False),
    ]


def test_keyset_pages_reach_every_match_once(desk: Team, member: User) -> None:
    rows = many_asks(7, desk, member)
    index_missing()
    assert {row.pk for row in newest(member, "number")} == {row.pk for row in rows}
