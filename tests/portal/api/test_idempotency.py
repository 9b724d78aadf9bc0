"""A POST that is sent twice with one key is done once, and answered twice alike."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from rest_framework.test import APIClient

from portal.accounts.models import ApiToken, Team, User
from portal.accounts.services import issue_token
from portal.api.idempotency import KEPT, LEASE, REPLAYED, digest_of, forget_old
from portal.api.models import KeptAnswer
from portal.kernel.clock import now
from requests_app.tickets.models import Comment, Ticket
from tests.builders import H100, a_catalogue, a_quota, some_nodes
from tests.personas import a_team, a_user

pytestmark = pytest.mark.django_db
TICKETS = "/api/v1/tickets"


def ask(**answers: Any) -> dict[str, Any]:
    given = {"purpose": "Training.", "sku": H100, "nodes": 2, "cluster_name": "train", **answers}
    return {"offering": "gpu-cluster", "team": "vision", "answers": given}


def client_of(person: User, name: str = "ci") -> APIClient:
    _, raw = issue_token(name=name, scopes=["requests:read", "requests:write"], by=person)
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {raw}")
    return client


def send(client: APIClient, body: dict[str, Any], key: str = "k1", path: str = TICKETS) -> Any:
    return client.post(path, body, format="json", headers={"Idempotency-Key": key})


@pytest.fixture
def desk(team: Team) -> Team:
    a_catalogue()
    some_nodes(4)
    a_quota(team)
    return team


@pytest.fixture
def client(desk: Team, member: User) -> APIClient:
    return client_of(member)


def test_the_second_time_gives_the_first_answer(client: APIClient) -> None:
    first, second = send(client, ask()), send(client, ask(), '"k1"')
    assert (first.status_code, second.status_code) == (201, 201)
    assert second.json() == first.json()
    assert (second["Location"], second["ETag"]) == (first["Location"], first["ETag"])
    assert second[REPLAYED] == "true"
    assert REPLAYED not in first
    assert Ticket.objects.count() == 1


def test_a_comment_is_said_once(client: APIClient) -> None:
    ref = send(client, ask()).json()["ref"]
    for _ in range(3):
        assert send(client, {"body": "Soon?"}, "c1", f"{TICKETS}/{ref}/comments").status_code == 201
    assert Comment.objects.count() == 1


def test_another_body_is_refused(client: APIClient) -> None:
    send(client, ask())
    other = send(client, ask(nodes=3))
    assert (other.status_code, other.json()["code"]) == (422, "idempotency-key-reused")
    assert other["Content-Type"] == "application/problem+json"


def test_a_refusal_is_kept_too(client: APIClient) -> None:
    first, second = send(client, ask(nodes=0)), send(client, ask(nodes=0))
    assert first.status_code == second.status_code == 422
    assert second[REPLAYED] == "true"
    assert second["Content-Type"] == "application/problem+json"


def test_a_body_is_the_same_whatever_its_spaces() -> None:
    assert digest_of(b'{"a": 1, "b": [2]}') == digest_of(b'{"b":[2],"a":1}') != digest_of(b"[]")
    assert digest_of(b"no json") == digest_of(b"no json")


def test_who_comes_while_it_is_worked_on_is_asked_to_wait(client: APIClient, member: User) -> None:
    token = ApiToken.objects.get(user=member)
    row = KeptAnswer.objects.create(
        caller=f"token:{token.pk}", route=TICKETS, key="k1", request_hash=digest_of(b"{}")
    )
    KeptAnswer.objects.filter(pk=row.pk).update(request_hash=_digest(ask()))
    busy = send(client, ask())
    assert (busy.status_code, busy.json()["code"], busy["Retry-After"]) == (409, "in-progress", "2")
    KeptAnswer.objects.filter(pk=row.pk).update(claimed_at=now() - LEASE - timedelta(seconds=1))
    assert send(client, ask()).status_code == 201  # the first worker died


def _digest(body: dict[str, Any]) -> str:
    import json

    return digest_of(json.dumps(body).encode())


def test_a_key_belongs_to_its_token(client: APIClient, member: User) -> None:
    ref = send(client, ask()).json()["ref"]
    path = f"{TICKETS}/{ref}/comments"
    send(client, {"body": "one"}, "c", path)
    send(client_of(member, "other"), {"body": "two"}, "c", path)
    assert sorted(Comment.objects.values_list("body", flat=True)) == ["one", "two"]


def test_a_stranger_reads_nothing_by_a_key(client: APIClient) -> None:
    ref = send(client, ask()).json()["ref"]
    path = f"{TICKETS}/{ref}/comments"
    send(client, {"body": "ours"}, "c", path)
    stranger = client_of(a_user(team=a_team("speech")))
    assert send(stranger, {"body": "ours"}, "c", path).status_code == 404


def test_nobody_signed_in_keeps_nothing(desk: Team) -> None:
    assert send(APIClient(), ask()).status_code == 401
    assert not KeptAnswer.objects.exists()


def test_a_new_token_is_kept_nowhere(member: User) -> None:
    client = client_of(member)
    body = {"name": "more", "scopes": ["requests:read"], "expires_in_days": 10}
    made = send(client, body, "t", "/api/v1/me/tokens")
    assert made.status_code == 201, made.content
    assert not KeptAnswer.objects.exists()


def test_a_key_that_is_none_is_refused(client: APIClient) -> None:
    assert send(client, ask(), "a b").status_code == 422
    assert send(client, ask(), "x" * 81).status_code == 422


def test_after_three_days_a_key_is_new(client: APIClient) -> None:
    ref = send(client, ask()).json()["ref"]
    path = f"{TICKETS}/{ref}/comments"
    send(client, {"body": "one"}, "c", path)
    KeptAnswer.objects.update(claimed_at=now() - KEPT - timedelta(hours=1))
    assert send(client, {"body": "two"}, "c", path).status_code == 201
    assert forget_old() == 1  # the ticket's; the comment's was made anew


@pytest.mark.django_db(transaction=True)
def test_sixteen_at_once_do_it_once(team: Team) -> None:
    a_catalogue()
    some_nodes(4)
    a_quota(team)
    person = a_user("member", team=team)
    first = client_of(person)
    ref = send(first, ask(), "file").json()["ref"]
    _, raw = issue_token(name="many", scopes=["requests:write"], by=person)
    codes: list[int] = []

    def go() -> None:
        client = APIClient()
        client.credentials(HTTP_AUTHORIZATION=f"Bearer {raw}")
        codes.append(send(client, {"body": "once"}, "c", f"{TICKETS}/{ref}/comments").status_code)
        connection.close()

    threads = [threading.Thread(target=go) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(codes) <= {201, 409}
    assert 201 in codes
    assert Comment.objects.count() == 1
