"""The desk as people meet it: the next request comes under the cursor, what went wrong is said, and nothing needs a script."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client

from portal.accounts.models import Team, User
from portal.kernel.clock import now
from portal.ledger.models import Event
from requests_app.tickets.models import Ticket
from requests_app.triage.models import DutyShift, Presence, ReplyTemplate, Undo
from requests_app.triage.presence import beat, others
from tests.builders import a_cluster_ask
from tests.personas import a_user
from tests.requests_app.triage.desk_builders import an_ask, many_asks

pytestmark = pytest.mark.django_db
FRAGMENT = {"hx-request": "true"}


@pytest.fixture
def page(client: Client, triager: User) -> Client:
    client.force_login(triager)
    return client


@pytest.fixture
def asks(desk: Team, member: User) -> list[Ticket]:
    return many_asks(3, desk, member)


def test_verdict_without_a_script_leads_to_the_next_request(page: Client, asks: list[Ticket]) -> None:
    answer = page.post(
        f"/desk/{asks[0].ref}/do/decline",
        {"version": 1, "reason_code": "focus", "then": asks[1].ref, "back": "view=queue"},
    )
    assert answer.status_code == 302
    assert answer["Location"] == f"/desk/?view=queue&open={asks[1].ref}"
    text = page.get(answer["Location"]).content.decode()
    assert "the team has your reason" in text
    assert "Undo" in text


def test_verdict_with_a_script_brings_list_and_pane_in_one_answer(page: Client, asks: list[Ticket]) -> None:
    answer = page.post(
        f"/desk/{asks[0].ref}/do/snooze",
        {"version": 1, "sleep": "tomorrow", "then": asks[1].ref},
        headers=FRAGMENT,
    )
    text = answer.content.decode()
    assert f'data-ref="{asks[1].ref}"' in text
    assert f'data-row="{asks[0].ref}"' not in text
    assert "<html" not in text
    assert answer["HX-Replace-Url"] == f"/desk/?open={asks[1].ref}"


def test_last_verdict_leaves_an_empty_inbox(page: Client, asks: list[Ticket]) -> None:
    for ticket in asks:
        page.post(f"/desk/{ticket.ref}/do/ask", {"version": 1, "question": "Why?"})
    assert "The inbox is empty" in page.get("/desk/").content.decode()


def test_approve_from_the_list_touches_nothing_else(page: Client, desk: Team, member: User) -> None:
    ask = an_ask(desk, member)
    untouched = {
        "title",
        "answers",
        "team_id",
        "requester_id",
        "submitted_at",
        "rank_key",
        "offering_version_id",
    }
    before = {name: getattr(ask, name) for name in untouched}
    page.post(f"/desk/{ask.ref}/do/accept", {"version": ask.version})
    ask.refresh_from_db()
    assert ask.status == "approved"
    assert {name: getattr(ask, name) for name in untouched} == before


def test_looking_never_decides(page: Client, asks: list[Ticket]) -> None:
    for address in (
        f"/desk/{asks[0].ref}/do/accept",
        "/desk/next",
        "/desk/undo/1",
        f"/desk/{asks[0].ref}/watch",
    ):
        assert page.get(address).status_code == 405
    assert not Ticket.objects.exclude(status="submitted").exists()


def test_stale_verdict_is_a_conflict_and_says_what_happened(page: Client, asks: list[Ticket]) -> None:
    Ticket.objects.filter(pk=asks[0].pk).update(version=5)
    answer = page.post(
        f"/desk/{asks[0].ref}/do/decline", {"version": 1, "reason_code": "focus"}, headers=FRAGMENT
    )
    assert answer.status_code == 409
    assert "has changed since" in answer.content.decode()


@pytest.mark.parametrize(
    ("verb", "typed"),
    [
        ("burn", {}),
        ("decline", {"reason_code": "because"}),
        ("duplicate", {}),
        ("duplicate", {"into": "T-999999"}),
        ("snooze", {"sleep": "never"}),
        ("snooze", {"sleep": "at"}),
        ("assign", {"to": "ghost"}),
        ("assign", {"to": "member"}),
        ("ask", {"question": "  "}),
    ],
)
def test_verdict_that_says_too_little_is_refused_and_changes_nothing(
    page: Client, asks: list[Ticket], verb: str, typed: dict[str, str]
) -> None:
    assert page.post(f"/desk/{asks[0].ref}/do/{verb}", {"version": 1, **typed}).status_code == 422
    assert not Ticket.objects.exclude(version=1).exists()
    assert not Undo.objects.exists()


def test_next_claims_and_opens(page: Client, asks: list[Ticket], triager: User) -> None:
    answer = page.post("/desk/next")
    assert answer["Location"] == f"/desk/?open={asks[0].ref}"
    assert Ticket.objects.get(pk=asks[0].pk).assignee == triager
    Ticket.objects.update(assignee=a_user("second", staff_role="triager"))
    assert "Nobody waits" in page.post("/desk/next", follow=True).content.decode()


def test_undo_by_page_brings_it_back_under_the_cursor(page: Client, asks: list[Ticket]) -> None:
    page.post(f"/desk/{asks[0].ref}/do/decline", {"version": 1, "reason_code": "focus"})
    answer = page.post(f"/desk/undo/{Undo.objects.get().pk}", {"back": "view=queue"})
    assert answer["Location"].endswith(f"open={asks[0].ref}")
    Undo.objects.update(until=now() - timedelta(seconds=30), undone_at=None)
    assert page.post(f"/desk/undo/{Undo.objects.get().pk}").status_code == 409


def test_placed_order_offers_its_cancelling_instead_of_undo(page: Client, desk: Team, member: User) -> None:
    cluster = a_cluster_ask(desk, member)
    Ticket.objects.filter(pk=cluster.pk).update(rank_key=1)
    answer = page.post(f"/desk/{cluster.ref}/do/accept", {"version": cluster.version}, headers=FRAGMENT)
    text = answer.content.decode()
    order = cluster.lines.get().order_ref
    assert f"Cancel {order}" in text
    assert "/desk/undo/" not in text


def test_presence_names_who_else_looks_for_half_a_minute(
    page: Client, asks: list[Ticket], triager: User
) -> None:
    second = a_user("second", staff_role="triager")
    beat(ticket=asks[0], by=second)
    assert "second" in page.post(f"/desk/{asks[0].ref}/watch", headers=FRAGMENT).content.decode()
    assert others(ticket=asks[0], by=second) == [triager]
    Presence.objects.update(seen_at=now() - timedelta(seconds=31))
    assert others(ticket=asks[0], by=second) == []


def test_presence_moves_on_with_the_person(page: Client, asks: list[Ticket]) -> None:
    page.post(f"/desk/{asks[0].ref}/watch", headers=FRAGMENT)
    page.post(f"/desk/{asks[1].ref}/watch", headers=FRAGMENT)
    assert [row.ticket_id for row in Presence.objects.all()] == [asks[1].pk]


def test_urgent_request_that_nobody_has_shows_who_is_on_duty(
    page: Client, asks: list[Ticket], triager: User
) -> None:
    second = a_user("second", staff_role="triager")
    Ticket.objects.filter(pk=asks[0].pk).update(blocked_since=now(), blocked_people=3)
    form = {
        "person": "second",
        "zone": "UTC",
        "since": now().date(),
        "weekdays": range(7),
        "begins": "00:00",
        "ends": "00:00",
    }
    assert page.post("/desk/rota/", form).status_code == 302
    assert DutyShift.objects.get().person == second
    assert "duty: " in page.get("/desk/").content.decode()
    assert page.post("/desk/rota/", {**form, "zone": "Mars/Base"}).status_code == 422
    page.post(f"/desk/rota/{DutyShift.objects.get().pk}/drop")
    assert "Nobody on duty" in page.get("/desk/").content.decode()
    assert Event.objects.filter(name__startswith="duty.").count() == 2


def test_canned_texts_are_kept_shown_and_thrown_away(page: Client, asks: list[Ticket]) -> None:
    typed = {"name": "Which node?", "use": "question", "body": "On which node, {requester}?"}
    assert page.post("/desk/replies/", typed).status_code == 302
    assert "On which node, member?" in page.get("/desk/").content.decode()
    assert page.post("/desk/replies/", {**typed, "body": "{password}"}).status_code == 422
    page.post(f"/desk/replies/{ReplyTemplate.objects.get().pk}/drop")
    assert not ReplyTemplate.objects.exists()


def test_view_is_kept_and_leads_back_to_its_filters(page: Client, asks: list[Ticket]) -> None:
    kept = {"name": "Ours", "query": "view=queue&team=vision", "shared": "1"}
    answer = page.post("/desk/views", kept)
    assert answer["Location"] == "/desk/?view=queue&team=vision" or "team=vision" in answer["Location"]
    assert "Ours · desk" in page.get("/desk/").content.decode()
    assert page.post("/desk/views", {**kept, "query": "teem=vision"}).status_code == 400


def test_single_keys_are_a_persons_choice(page: Client, asks: list[Ticket], triager: User) -> None:
    assert 'data-keys="off"' not in page.get("/desk/").content.decode()
    page.post("/account/keys/", {"single_keys": "off", "next": "/desk/"})
    triager.refresh_from_db()
    assert not triager.single_keys
    assert 'data-keys="off"' in page.get("/desk/").content.decode()
    assert page.post("/account/keys/", {"single_keys": "perhaps"}).status_code == 422


def test_operator_sees_no_verb(client: Client, asks: list[Ticket], operator: User) -> None:
    client.force_login(operator)
    text = client.get("/desk/").content.decode()
    assert asks[0].title in text
    assert "/do/" not in text
    assert client.post(f"/desk/{asks[0].ref}/do/accept", {"version": 1}).status_code == 403
    assert client.post("/desk/next").status_code == 403


def test_link_to_a_request_is_a_link_whatever_the_list_holds(page: Client, desk: Team, member: User) -> None:
    (done,) = many_asks(1, desk, member, status="closed", rank_key=None)
    assert f'data-ref="{done.ref}"' in page.get("/desk/", {"open": done.ref}).content.decode()
    assert page.get("/desk/", {"open": "T-999999"}).status_code == 404
