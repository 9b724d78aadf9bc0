"""One shape for every refusal, whoever refuses."""

from __future__ import annotations

import pytest
from rest_framework.test import APIClient

from portal.accounts.models import User
from portal.accounts.services import issue_token

pytestmark = pytest.mark.django_db


@pytest.fixture
def api(member: User) -> APIClient:
    _, raw = issue_token(name="client", scopes=["requests:read", "requests:write", "quota:read"], by=member)
    return APIClient(headers={"Authorization": f"Bearer {raw}"})


def test_problem_has_the_fields_of_rfc_9457(api: APIClient) -> None:
    answer = api.get("/api/v1/tickets/T-1")
    assert answer["Content-Type"] == "application/problem+json"
    assert {"type", "title", "status", "code", "detail"} <= answer.json().keys()
    assert (answer.status_code, answer.json()["code"]) == (404, "not-found")


def test_unknown_filter_is_refused_and_the_known_ones_are_named(api: APIClient) -> None:
    answer = api.get("/api/v1/quotas?teem=vision")
    assert answer.status_code == 422
    (error,) = answer.json()["errors"]
    assert error["pointer"] == "/teem"
    assert "sku, team" in error["detail"]


@pytest.mark.parametrize("limit", ["0", "201", "-1", "ten", "1e2", "١"])
def test_page_size_out_of_range_is_said(api: APIClient, limit: str) -> None:
    assert api.get("/api/v1/quotas", {"limit": limit}).status_code == 422


def test_damaged_cursor_is_said(api: APIClient) -> None:
    answer = api.get("/api/v1/quotas?cursor=nonsense")
    assert (answer.status_code, answer["Content-Type"]) == (404, "application/problem+json")


def test_field_that_drf_refuses_looks_like_one_that_a_service_refuses(api: APIClient) -> None:
    answer = api.post("/api/v1/tickets", {"offering": "gpu-cluster"}, format="json")
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid")
    assert {error["pointer"] for error in answer.json()["errors"]} == {"/team", "/answers"}


def test_body_that_is_no_json_is_a_problem(api: APIClient) -> None:
    answer = api.post("/api/v1/tickets", data="{", content_type="application/json")
    assert (answer.status_code, answer.json()["code"]) == (400, "parse-error")


def test_unknown_address_points_to_the_schema(api: APIClient) -> None:
    answer = api.get("/api/v1/tickts")
    assert answer.status_code == 404
    assert "/api/v1/schema" in answer.json()["detail"]


def test_nobody_is_challenged_to_sign_in() -> None:
    answer = APIClient().get("/api/v1/tickets")
    assert answer.status_code == 401
    assert answer["WWW-Authenticate"].startswith("Bearer")


@pytest.mark.parametrize("header", ["Bearer qm_pat_nonsense", "Basic dXNlcjpwYXNz", "Bearer", "Bearer \x01"])
def test_token_that_does_not_count_is_401(db: None, header: str) -> None:
    assert APIClient(headers={"Authorization": header}).get("/api/v1/tickets").status_code == 401


def test_token_without_the_scope_is_told_which_one(api: APIClient) -> None:
    answer = api.get("/api/v1/nodes")
    assert answer.status_code == 403
    assert "fleet:read" in answer.json()["detail"]
