"""The desk without a browser: claim, give, snooze, merge, relate, search, keep views, and do in bulk."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from rest_framework.test import APIClient

from portal.accounts.models import Team, User
from portal.accounts.services import issue_token
from portal.kernel.clock import now
from requests_app.search.services import index_missing
from requests_app.tickets.models import Ticket
from requests_app.triage import bulk
from requests_app.triage.models import BulkRun, SavedView
from tests.personas import a_user
from tests.requests_app.triage.desk_builders import many_asks

pytestmark = pytest.mark.django_db


def api_of(user: User, *scopes: str) -> APIClient:
    _, raw = issue_token(name="client", scopes=scopes, by=user)
    return APIClient(headers={"Authorization": f"Bearer {raw}"})


@pytest.fixture
def api(triager: User) -> APIClient:
    return api_of(triager, "requests:read", "triage:write")


@pytest.fixture
def asks(desk: Team, member: User) -> list[Ticket]:
    rows = many_asks(3, desk, member)
    index_missing()
    return rows


def post(api: APIClient, address: str, **body: Any) -> Any:
    return api.post(f"/api/v1/{address}", body, format="json")


def test_next_is_claimed_once_and_204_says_that_nobody_waits(api: APIClient, asks: list[Ticket]) -> None:
    claimed = [post(api, "desk/next").json()["ref"] for _ in asks]
    assert claimed == [row.ref for row in asks]
    assert post(api, "desk/next").status_code == 204


def test_assign_snooze_and_wake_take_the_version_that_was_seen(api: APIClient, asks: list[Ticket]) -> None:
    a_user("second", staff_role="triager")
    ref = asks[0].ref
    assert post(api, f"tickets/{ref}/assign", version=1, assignee="second").json()["version"] == 2
    assert post(api, f"tickets/{ref}/assign", version=1, assignee=None).status_code == 409
    until = (now() + timedelta(hours=2)).isoformat()
    assert post(api, f"tickets/{ref}/snooze", version=2, until=until).json()["version"] == 3
    assert post(api, f"tickets/{ref}/wake", version=3).json()["version"] == 4
    assert post(api, f"tickets/{ref}/assign", version=4, assignee="ghost").status_code == 422


def test_merge_and_relations(api: APIClient, asks: list[Ticket], member: User) -> None:
    first, second, third = (row.ref for row in asks)
    assert post(api, f"tickets/{first}/relations", kind="blocked_by", other=second).status_code == 201
    assert post(api, f"tickets/{second}/relations", kind="blocked_by", other=first).status_code == 422
    merged = post(api, f"tickets/{third}/merge", version=1, into=first).json()
    assert (merged["state"], merged["merged_into"]) == ("merged", first)
    seen = api_of(member, "requests:read").get(f"/api/v1/tickets/{first}/relations").json()
    assert [each["says"] for each in seen["related"]] == ["blocked by"]
    assert seen["merged"] == [third]
    number = seen["related"][0]["id"]
    assert api.delete(f"/api/v1/tickets/{third}/relations/{number}").status_code == 404  # a foreign parent
    assert api.delete(f"/api/v1/tickets/{first}/relations/{number}").status_code == 204


def test_search_finds_by_words_and_pages_by_keyset(
    api: APIClient, asks: list[Ticket], stranger: User
) -> None:
    assert [hit["ref"] for hit in api.get("/api/v1/search?q=number").json()["hits"]] != []
    first = api.get("/api/v1/search/tickets?q=number&limit=2").json()
    rest = api.get(first["next"]).json()
    assert [row["ref"] for row in first["results"] + rest["results"]] == [row.ref for row in reversed(asks)]
    assert api_of(stranger, "requests:read").get("/api/v1/search?q=number").json()["hits"] == []
    assert api.get("/api/v1/search?q=number&teem=1").status_code == 400
    assert api.get("/api/v1/search").status_code == 422


def test_views_are_kept_listed_and_dropped(api: APIClient, asks: list[Ticket], member: User) -> None:
    made = post(api, "desk/views", name="Ours", filters={"team": "vision"})
    assert (made.status_code, made.json()["filters"]) == (201, {"team": "vision"})
    assert post(api, "desk/views", name="Typo", filters={"teem": "vision"}).status_code == 400
    assert [row["name"] for row in api.get("/api/v1/desk/views").json()["results"]] == ["Ours"]
    assert api_of(member, "requests:read").get("/api/v1/desk/views").json()["results"] == []
    assert api.delete(f"/api/v1/desk/views/{made.json()['id']}").status_code == 204
    assert not SavedView.objects.exists()


def test_bulk_answers_202_and_tells_its_progress(api: APIClient, asks: list[Ticket]) -> None:
    begun = post(api, "desk/bulk", filters={"view": "queue"}, verb="tag", arguments={"reason_code": "cost"})
    assert (begun.status_code, begun.json()["left"]) == (202, 3)
    bulk.work(begun.json()["id"])
    told = api.get(begun["Location"]).json()
    assert (told["state"], told["done"], told["failed"]) == ("done", 3, 0)
    rows = api.get(f"{begun['Location']}/rows?ending=done").json()["results"]
    assert [row["ref"] for row in rows] == [row.ref for row in asks]
    assert api.get(f"{begun['Location']}/rows?ending=lost").status_code == 422


def test_bulk_with_an_unknown_filter_does_nothing(api: APIClient, asks: list[Ticket]) -> None:
    body = {"filters": {"teem": "vision"}, "verb": "tag", "arguments": {"reason_code": "cost"}}
    assert post(api, "desk/bulk", **body).status_code == 400
    assert not BulkRun.objects.exists()
    assert not Ticket.objects.exclude(version=1).exists()


@pytest.mark.parametrize("who", ["member", "operator"])
def test_who_has_no_say_changes_nothing(asks: list[Ticket], request: pytest.FixtureRequest, who: str) -> None:
    api = APIClient()
    api.force_login(request.getfixturevalue(who))
    ref = asks[0].ref
    refused = [
        post(api, "desk/next"),
        post(api, f"tickets/{ref}/assign", version=1, assignee=None),
        post(api, f"tickets/{ref}/snooze", version=1),
        post(api, f"tickets/{ref}/merge", version=1, into=asks[1].ref),
        post(api, f"tickets/{ref}/relations", kind="relates_to", other=asks[1].ref),
        post(api, "desk/bulk", verb="tag", arguments={"reason_code": "cost"}),
    ]
    assert [answer.status_code for answer in refused] == [403] * len(refused)
    assert not Ticket.objects.exclude(version=1).exists()
