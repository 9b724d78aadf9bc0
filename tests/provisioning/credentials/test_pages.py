"""The page and the API take values and never give one back."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client

from portal.accounts.models import User
from provisioning.credentials.models import Credential

pytestmark = pytest.mark.django_db
FORM = {"name": "site", "kind": "become", "value": "hunter2-hunter2", "variable": "", "nodes": ""}


def test_operator_sets_and_removes_one(client: Client, operator: User) -> None:
    client.force_login(operator)
    assert client.post("/credentials/set", FORM).status_code == 302
    page = client.get("/credentials/").content.decode()
    assert "site" in page
    assert "hunter2" not in page
    assert client.post("/credentials/site/remove").status_code == 302
    assert not Credential.objects.exists()


def test_form_that_can_not_be_comes_back_without_the_value(client: Client, operator: User) -> None:
    client.force_login(operator)
    answer = client.post("/credentials/set", {**FORM, "name": "Not a name", "nodes": "nobody"})
    assert answer.status_code == 422
    page = answer.content.decode()
    assert "There is no node nobody." in page
    assert "hunter2" not in page


def test_api_takes_a_value_and_gives_none_back(client: Client, operator: User) -> None:
    client.force_login(operator)
    answer = client.post("/api/v1/credentials", {**FORM, "nodes": []}, content_type="application/json")
    assert answer.status_code == 201
    assert answer.json()["name"] == "site"
    listed = client.get("/api/v1/credentials").json()
    assert "hunter2" not in str(listed) + answer.content.decode()
    assert client.delete("/api/v1/credentials/site").status_code == 204


@pytest.mark.parametrize(("who", "status"), [("triager", 403), ("member", 403)])
def test_others_see_no_page_and_find_no_credential(
    who: str, status: int, client: Client, keep: Callable[..., Credential], request: pytest.FixtureRequest
) -> None:
    keep()
    client.force_login(request.getfixturevalue(who))
    assert client.get("/credentials/").status_code == status
    assert client.post("/credentials/set", FORM).status_code == status
    assert client.post("/credentials/site/remove").status_code == 404
    assert client.delete("/api/v1/credentials/site").status_code == 404
    assert client.get("/api/v1/credentials").json()["results"] == []
