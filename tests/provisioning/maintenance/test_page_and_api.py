"""The page and the address with which operators run a playbook by hand."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from rest_framework.test import APIClient

from portal.accounts.models import User
from portal.accounts.services import issue_token
from provisioning.jobs.models import Job
from tests.provisioning.builders import some_nodes

pytestmark = pytest.mark.django_db

FILLED = {
    "playbook": "validate_node",
    "purpose": "After the new kernel",
    "state": "free",
    "canary": "1",
    "canary_budget": "0",
    "percentages": "50 %",
    "budget": "5%",
    "v_probe_checks": "kernel, mounts",
    "v_probe_repeats": "3",
    "v_probe_time_limit": "120",
}


@pytest.fixture
def page(client: Client, operator: User) -> Client:
    some_nodes(4)
    client.force_login(operator)
    return client


def post(user: User, told: dict[str, Any]) -> Any:
    client = APIClient()
    client.force_authenticate(user)
    return client.post("/api/v1/jobs", told, format="json")


def test_form_asks_for_the_variables_of_the_playbook(page: Client) -> None:
    html = page.get("/jobs/run/?playbook=drain_node").content.decode()
    assert 'name="v_reason"' in html
    assert 'name="v_probe_checks"' not in html


def test_nodes_of_a_site_are_chosen_by_page_and_api(page: Client, operator: User) -> None:
    assert 'name="site"' not in page.get("/jobs/run/").content.decode(), "there is nothing to choose"
    some_nodes(2, prefix="far", site="north")
    form = page.post("/jobs/run/", {**FILLED, "site": "north", "look": "1"}).context["form"]
    assert (form["nodes"].value(), form["site"].value()) == ("far-001 far-002", "")
    asked = {"playbook": "validate_node", "purpose": "North", "selection": {"site": "north"}, "preview": True}
    (wave,) = post(operator, asked).json()["waves"]
    assert wave["nodes"] == ["far-001", "far-002"]


def test_look_shows_the_waves_and_starts_nothing(page: Client) -> None:
    html = page.post("/jobs/run/", {**FILLED, "look": "1"}).content.decode()
    assert "2: up to 50 %" in html
    assert "Start it on 4 nodes" in html
    assert not Job.objects.exists()


def test_what_was_looked_at_is_what_is_started(page: Client) -> None:
    """The filter was resolved: a node that is free by now is not in it."""
    form = page.post("/jobs/run/", {**FILLED, "look": "1"}).context["form"]
    some_nodes(1, prefix="new")
    answer = page.post(
        "/jobs/run/",
        {
            **{name: form[name].value() or "" for name in form.fields},
            "playbook": "validate_node",
            "start": "1",
        },
    )
    job = Job.objects.get(whole=None)
    assert answer["Location"] == f"/jobs/{job.ref}/"
    assert sorted(row.node.name for row in job.host_results.all()) == [f"gpu-00{n}" for n in (1, 2, 3, 4)]
    assert job.variables["probe_checks"] == ["kernel", "mounts"]
    assert job.plan is not None
    assert job.plan["asked"] == {"canary": 1, "canary_budget": "0", "percentages": [50], "budget": "5%"}


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("purpose", "", "This field is required."),
        ("percentages", "ten", "Use whole numbers"),
        ("percentages", "50 10", "each is more than the one before"),
        ("budget", "some", "Use a number of nodes"),
        ("v_probe_repeats", "99", "Between 1 and 50"),
        ("v_probe_checks", "../etc", "is not the id of a probe"),
        ("nodes", "gpu-001", "not both"),
    ],
)
def test_answer_that_can_not_be_used_is_said_at_its_field(
    page: Client, name: str, value: str, text: str
) -> None:
    answer = page.post("/jobs/run/", {**FILLED, name: value, "start": "1"})
    assert answer.status_code == 422
    assert text in str(answer.context["form"].errors)
    assert not Job.objects.exists()


def test_settings_are_written_one_a_line(page: Client) -> None:
    told = {
        **FILLED,
        "playbook": "apply_workaround",
        "v_remedy_name": "sysctl",
        "v_remedy_settings": "vm.swappiness=10\n",
        "start": "1",
    }
    page.post("/jobs/run/", told)
    job = Job.objects.get(whole=None)
    assert job.variables["remedy_settings"] == [{"name": "vm.swappiness", "value": "10"}]
    answer = page.post("/jobs/run/", {**told, "v_remedy_settings": "vm.swappiness"})
    assert "write NAME=VALUE" in str(answer.context["form"].errors)


def test_paused_run_is_resumed_on_its_page(page: Client) -> None:
    page.post("/jobs/run/", {**FILLED, "start": "1"})
    job = Job.objects.get(whole=None)
    answer = page.post(f"/jobs/{job.ref}/resume")
    assert answer.status_code == 422, "it is not paused"


def test_page_is_for_operators_alone(client: Client, triager: User) -> None:
    client.force_login(triager)
    assert client.get("/jobs/run/").status_code == 403
    assert client.post("/jobs/run/", FILLED).status_code == 403


RUN = {
    "playbook": "validate_node",
    "purpose": "After the new kernel",
    "selection": {"state": "free"},
    "waves": {"canary": 1, "percentages": [50], "budget": "5%"},
}


def test_api_starts_a_run(operator: User) -> None:
    some_nodes(4)
    answer = post(operator, RUN)
    assert (answer.status_code, answer.json()["state"]) == (201, "spread")
    ref = answer.json()["ref"]
    client = APIClient()
    client.force_authenticate(operator)
    shown = client.get(f"/api/v1/jobs/{ref}").json()
    assert [(wave["nodes"], wave["state"], wave["may_fail"]) for wave in shown["waves"]] == [
        (1, "now", 0),
        (1, "later", 0),
        (2, "later", 0),
    ]
    shard = shown["waves"][0]["shards"][0]["ref"]
    assert client.get(f"/api/v1/jobs/{shard}").json()["whole"] == ref
    assert [row["ref"] for row in client.get("/api/v1/jobs").json()["results"]] == [ref]


def test_api_says_how_a_run_would_go(operator: User) -> None:
    some_nodes(4)
    answer = post(operator, {**RUN, "preview": True})
    assert answer.status_code == 200
    assert answer.json()["waves"][0] == {
        "number": 1,
        "title": "the canary",
        "nodes": ["gpu-001"],
        "parts": 1,
        "may_fail": 0,
    }
    assert not Job.objects.exists()


def test_same_key_starts_one_run(operator: User) -> None:
    some_nodes(4)
    _, raw = issue_token(name="ci", scopes=["requests:read", "provision:execute"], by=operator)
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {raw}")
    first, again = (
        client.post("/api/v1/jobs", RUN, format="json", headers={"Idempotency-Key": "today"}) for _ in "12"
    )
    assert (first.status_code, again.json()) == (201, first.json())
    assert Job.objects.filter(whole=None).count() == 1


@pytest.mark.parametrize(
    ("told", "place"),
    [
        ({"waves": {"canary": 1, "budget": "some"}}, "/waves/budget"),
        ({"selection": {"state": "asleep"}}, "/selection/state"),
        ({"selection": None}, "/nodes"),
        ({"variables": {"shell": "rm"}}, "/variables/shell"),
        ({"playbook": ""}, "/playbook"),
    ],
)
def test_api_names_what_is_wrong(told: dict[str, Any], place: str, operator: User) -> None:
    some_nodes(1)
    answer = post(operator, {**RUN, **told})
    assert answer.status_code == 422
    assert [error["pointer"] for error in answer.json()["errors"]] == [place]


def test_api_resumes_a_paused_run_and_refuses_any_other(operator: User, member: User) -> None:
    some_nodes(4)
    ref = post(operator, RUN).json()["ref"]
    client = APIClient()
    client.force_authenticate(operator)
    answer = client.post(f"/api/v1/jobs/{ref}/resume", {"again": True}, format="json")
    assert (answer.status_code, answer.json()["code"]) == (422, "not-paused")


def test_api_is_for_operators_alone(triager: User, member: User) -> None:
    some_nodes(1)
    for person in (triager, member):
        assert post(person, RUN).status_code == 403
