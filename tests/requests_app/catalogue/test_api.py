"""Clients read the catalogue and the schema of the answers."""

from __future__ import annotations

import pytest
from jsonschema import Draft202012Validator
from rest_framework.test import APIClient

from portal.accounts.models import User
from tests.builders import H100, a_catalogue, a_sku

pytestmark = pytest.mark.django_db


@pytest.fixture
def api(member: User) -> APIClient:
    a_catalogue()
    a_sku()
    client = APIClient()
    client.force_authenticate(member)
    return client


def test_client_without_a_name_gets_nothing() -> None:
    assert APIClient().get("/api/v1/offerings").status_code in (401, 403)


def test_client_lists_and_narrows(api: APIClient) -> None:
    listed = api.get("/api/v1/offerings").json()["results"]
    assert len(listed) >= 9
    narrowed = api.get("/api/v1/offerings?pillar=data&search=dataset").json()["results"]
    assert [each["slug"] for each in narrowed] == ["dataset-access"]


@pytest.mark.parametrize("query", ["pilar=data", "pillar=nowhere", "limit=0"])
def test_client_is_told_of_a_filter_that_is_none(api: APIClient, query: str) -> None:
    assert api.get(f"/api/v1/offerings?{query}").status_code == 422


def test_client_gets_a_schema_with_the_choices_of_now(api: APIClient) -> None:
    offering = api.get("/api/v1/offerings/gpu-cluster?team=vision").json()
    Draft202012Validator.check_schema(offering["answers_schema"])
    assert offering["answers_schema"]["properties"]["sku"]["enum"] == [H100]
    assert offering["policy"]["max_gpus"] == 16


def test_client_may_not_look_through_another_team(api: APIClient, stranger: User) -> None:
    assert api.get("/api/v1/offerings/gpu-cluster?team=speech").status_code == 404
    assert api.get("/api/v1/offerings/nothing").status_code == 404
