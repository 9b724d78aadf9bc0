"""What does the API of people answer to whom?"""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from portal.accounts.models import ApiToken, Team, User
from portal.accounts.services import issue_token, token_user


def bearer(user: User, *scopes: str, days: int = 90) -> dict[str, str]:
    """Headers of a token of `user`."""
    _, text = issue_token(name=f"test {ApiToken.objects.count()}", scopes=scopes, days=days, by=user)
    return {"Authorization": f"Bearer {text}"}


def call(client: Client, method: str, path: str, headers: dict[str, str], body: Any = None) -> Any:
    """One call with JSON."""
    return client.generic(
        method,
        f"/api/v1/{path}",
        data=b"" if body is None else _json(body),
        content_type="application/json",
        headers=headers,
    )


def _json(body: Any) -> bytes:
    import json

    return json.dumps(body).encode()


def test_client_asks_who_it_is(client: Client, team: Team, member: User) -> None:
    answer = call(client, "GET", "me", bearer(member, "fleet:read")).json()
    assert answer["username"] == "member"
    assert answer["teams"] == [{"slug": "vision", "name": "Vision", "role": "member"}]
    assert answer["scopes"] == ["fleet:read"]


def test_nobody_is_told_to_sign(client: Client, db: None) -> None:
    answer = call(client, "GET", "me", {})
    assert answer.status_code == 401
    assert answer["WWW-Authenticate"].startswith("Bearer")


def test_member_sees_their_teams_only(client: Client, team: Team, other_team: Team, member: User) -> None:
    answer = call(client, "GET", "teams", bearer(member, "requests:read")).json()
    assert [row["slug"] for row in answer["results"]] == ["vision"]


def test_infra_sees_every_team(client: Client, team: Team, other_team: Team, triager: User) -> None:
    answer = call(client, "GET", "teams", bearer(triager, "requests:read")).json()
    assert [row["slug"] for row in answer["results"]] == ["speech", "vision"]


@pytest.mark.parametrize("path", ["teams/vision", "teams/vision/members"])
def test_stranger_gets_nothing(client: Client, team: Team, stranger: User, path: str) -> None:
    assert call(client, "GET", path, bearer(stranger, "requests:read")).status_code == 404


def test_token_without_the_scope_is_refused(client: Client, member: User) -> None:
    answer = call(client, "GET", "teams", bearer(member, "fleet:read"))
    assert answer.status_code == 403
    assert "requests:read" in answer.json()["detail"]


def test_unknown_filter_is_refused(client: Client, member: User) -> None:
    assert call(client, "GET", "teams?teem=1", bearer(member, "requests:read")).status_code == 422


def test_lead_sets_and_removes_a_member(client: Client, team: Team, lead: User, stranger: User) -> None:
    headers = bearer(lead, "requests:read", "requests:write")
    answer = call(client, "PUT", "teams/vision/members/stranger", headers, {"role": "lead"})
    assert answer.json() == {"username": "stranger", "full_name": "", "role": "lead"}
    names = [r["username"] for r in call(client, "GET", "teams/vision/members", headers).json()["results"]]
    assert names == ["lead", "stranger"]
    assert call(client, "DELETE", "teams/vision/members/stranger", headers).status_code == 204
    assert not stranger.belongs_to(team)


def test_last_lead_is_refused_with_the_nearest_yes(client: Client, team: Team, lead: User) -> None:
    answer = call(client, "DELETE", "teams/vision/members/lead", bearer(lead, "requests:write"))
    assert answer.status_code == 422
    assert answer.json()["code"] == "last-lead"
    assert answer.json()["data"]["nearest_yes"]


def test_member_changes_nobody(client: Client, team: Team, member: User, stranger: User) -> None:
    answer = call(client, "PUT", "teams/vision/members/stranger", bearer(member, "requests:write"), {})
    assert answer.status_code == 403


def test_client_makes_lists_and_ends_tokens(client: Client, member: User) -> None:
    headers = bearer(member, "requests:read", "requests:write")
    wanted = {"name": "child", "scopes": ["requests:read"], "expires_in_days": 7}
    made = call(client, "POST", "me/tokens", headers, wanted)
    assert made.status_code == 201
    assert made["Cache-Control"] == "no-store"
    assert token_user(made.json()["token"]) is not None
    listed = call(client, "GET", "me/tokens", headers).json()["results"]
    assert {row["name"] for row in listed} == {"child", "test 0"}
    assert all("token" not in row and "secret_hash" not in row for row in listed)
    assert call(client, "DELETE", f"me/tokens/{made.json()['public_id']}", headers).status_code == 204
    assert token_user(made.json()["token"]) is None


def test_token_makes_none_that_may_more(client: Client, member: User) -> None:
    wanted = {"name": "child", "scopes": ["fleet:read"], "expires_in_days": 7}
    answer = call(client, "POST", "me/tokens", bearer(member, "requests:write"), wanted)
    assert (answer.status_code, answer.json()["code"]) == (403, "wider-than-itself")


def test_token_makes_none_that_outlives_it(client: Client, member: User) -> None:
    wanted = {"name": "child", "scopes": ["requests:write"], "expires_in_days": 30}
    answer = call(client, "POST", "me/tokens", bearer(member, "requests:write", days=10), wanted)
    assert (answer.status_code, answer.json()["code"]) == (403, "outlives-itself")


def test_stranger_ends_no_token(client: Client, member: User, stranger: User) -> None:
    token, text = issue_token(name="mine", scopes=["requests:read"], by=member)
    path = f"me/tokens/{token.public_id}"
    assert call(client, "DELETE", path, bearer(stranger, "requests:write")).status_code == 404
    assert token_user(text) is not None


@pytest.mark.parametrize("name", ["", "a\u0000b", "x" * 81, "a\u202eb"])
def test_odd_token_names_are_said_by_field(client: Client, member: User, name: str) -> None:
    wanted = {"name": name, "scopes": ["requests:write"], "expires_in_days": 1}
    answer = call(client, "POST", "me/tokens", bearer(member, "requests:write"), wanted)
    assert answer.status_code in (400, 422)
    assert answer.json()["errors"][0]["pointer"] == "/name"


def test_session_writes_only_with_its_csrf_token(member: User) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(member)
    wanted = {"name": "child", "scopes": ["requests:read"]}
    assert call(strict, "POST", "me/tokens", {}, wanted).status_code == 403
