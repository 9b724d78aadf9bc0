"""The desk by API: the same services, the same refusals."""

from __future__ import annotations

import pytest
from rest_framework.test import APIClient

from portal.accounts.models import Team, User
from portal.accounts.services import issue_token
from requests_app.tickets.models import Ticket
from tests.builders import a_cluster_ask

pytestmark = pytest.mark.django_db


@pytest.fixture
def ask(desk: Team, member: User) -> Ticket:
    return a_cluster_ask(desk, member)


def api_of(user: User, *scopes: str) -> APIClient:
    _, raw = issue_token(name="client", scopes=scopes, by=user)
    return APIClient(headers={"Authorization": f"Bearer {raw}"})


@pytest.fixture
def api(triager: User) -> APIClient:
    return api_of(triager, "requests:read", "triage:write")


def test_approval_answers_with_where_the_ticket_stands(api: APIClient, ask: Ticket) -> None:
    answer = api.post(
        f"/api/v1/tickets/{ask.ref}/approve", {"version": 1, "granted": {"1": 2}}, format="json"
    )
    assert (answer.status_code, answer.json()["state"]) == (200, "provisioning")
    assert ask.lines.get().granted_qty == 2


def test_second_decision_on_the_same_version_is_a_conflict(api: APIClient, ask: Ticket) -> None:
    api.post(f"/api/v1/tickets/{ask.ref}/approve", {"version": 1}, format="json")
    answer = api.post(
        f"/api/v1/tickets/{ask.ref}/decline",
        {"version": 1, "reason_code": "focus", "reason": "No."},
        format="json",
    )
    assert answer.status_code == 409
    assert answer.json()["data"]["now"] == "provisioning"


def test_refusal_carries_the_nearest_yes(api: APIClient, desk: Team, member: User) -> None:
    big = a_cluster_ask(desk, member, nodes=20)
    answer = api.post(f"/api/v1/tickets/{big.ref}/approve", {"version": 1}, format="json")
    assert (answer.status_code, answer.json()["code"]) == (422, "quota")
    assert answer.json()["data"]["nearest_yes"] == 64


def test_member_of_the_team_may_not_decide(ask: Ticket, lead: User) -> None:
    api = api_of(lead, "requests:read", "requests:write")
    assert api.post(f"/api/v1/tickets/{ask.ref}/approve", {"version": 1}, format="json").status_code == 403


def test_session_of_a_member_may_not_decide_either(ask: Ticket, lead: User) -> None:
    api = APIClient()
    api.force_login(lead)
    assert api.post(f"/api/v1/tickets/{ask.ref}/approve", {"version": 1}, format="json").status_code == 403
