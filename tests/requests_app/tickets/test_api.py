"""Clients do all that the page does, through the same services, and are refused the same way."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from portal.accounts.models import Team, User
from requests_app.tickets.models import Comment, Ticket
from requests_app.triage.services import approve_ticket
from tests.builders import H100
from tests.requests_app.hostile import HOSTILE
from tests.requests_app.tickets.test_views import many

pytestmark = pytest.mark.django_db
TICKETS = "/api/v1/tickets"


def body(**answers: Any) -> dict[str, Any]:
    given = {"purpose": "Training.", "sku": H100, "nodes": 2, "cluster_name": "train", **answers}
    return {"offering": "gpu-cluster", "team": "vision", "answers": given}


def as_(person: User) -> APIClient:
    client = APIClient()
    client.force_authenticate(person)
    return client


@pytest.fixture
def api(desk: Team, member: User) -> APIClient:
    return as_(member)


def pointers(answer: Any) -> set[str]:
    assert answer.status_code in (400, 422), answer.content
    assert answer.headers["Content-Type"] == "application/problem+json"
    return {each["pointer"] for each in answer.json()["errors"]}


def test_client_files_a_request_and_reads_it_back(api: APIClient) -> None:
    made = api.post(TICKETS, body(), format="json")
    assert made.status_code == 201
    ticket = made.json()
    assert made.headers["Location"] == f"{TICKETS}/{ticket['ref']}"
    assert ticket["lines"][0] == {
        "position": 1,
        "what": "nodes",
        "label": "Nodes for the cluster train",
        "sku": H100,
        "unit": "nodes",
        "fulfilment": "cluster_build",
        "asked_qty": 2,
        "offered_qty": None,
        "granted_qty": None,
        "granted_sku": "",
        "granted_label": "",
        "delivered_qty": 0,
        "promised_qty": 0,
        "verdict": "pending",
        "decided_at": None,
        "round": 1,
        "reason_code": "",
        "reason": "",
        "wanted_by": None,
        "promised_on": None,
        "order": "",
    }
    assert ticket["story"]["where"].startswith("Waiting for a decision")
    assert ticket["may"] == ["withdraw", "comment"]
    assert api.get(f"{TICKETS}/{ticket['ref']}").json() == ticket
    listed = api.get(TICKETS).json()["results"]
    assert [each["ref"] for each in listed] == [ticket["ref"]]


def test_client_says_that_its_team_is_blocked(api: APIClient) -> None:
    claim = {"since": "2026-11-01T08:00:00Z", "people": 2, "idle_gpus": 16, "what": "No nodes."}
    made = api.post(TICKETS, {**body(), "blocked": claim}, format="json").json()
    assert made["block"] == {**claim, "ended_at": None}
    done = api.post(f"{TICKETS}/{made['ref']}/relief", {}, format="json").json()
    assert done["block"]["ended_at"] is not None
    assert not done["is_blocking"]


def test_the_same_key_replays_and_another_body_is_refused(api: APIClient) -> None:
    for key in ('"8e03978e-40d5-43dd-bc93-6894a57f9324"', "8e03978e-40d5-43dd-bc93-6894a57f9324"):
        made = api.post(TICKETS, body(), format="json", headers={"Idempotency-Key": key})
        assert made.status_code == 201
    assert Ticket.objects.count() == 1
    other = api.post(TICKETS, body(nodes=3), format="json", headers={"Idempotency-Key": key})
    assert other.status_code == 422
    assert other.json()["code"] == "idempotency-key-reused"
    assert pointers(api.post(TICKETS, body(), format="json", headers={"Idempotency-Key": "a b"})) == {
        "/Idempotency-Key"
    }


def test_client_is_told_field_by_field(api: APIClient) -> None:
    answer = api.post(TICKETS, body(nodes=0, zone="x"), format="json")
    assert pointers(answer) == {"/answers/nodes", "/answers/zone"}
    claim = {"since": "2999-01-01T00:00:00Z", "people": 1, "idle_gpus": 0, "what": "x"}
    assert pointers(api.post(TICKETS, {**body(), "blocked": claim}, format="json")) == {"/blocked/since"}
    assert pointers(api.post(TICKETS, {**body(), "priority": 1}, format="json")) == {"/priority"}
    assert pointers(api.post(TICKETS, {"offering": "gpu-cluster"}, format="json")) == {"/team", "/answers"}
    assert not Ticket.objects.exists()


@pytest.mark.parametrize("sent", [[], "x", 1, None, {"answers": []}, {"answers": {"a": {"b": []}}}])
def test_any_json_is_answered_with_a_problem(api: APIClient, sent: Any) -> None:
    assert api.post(TICKETS, sent, format="json").status_code in (400, 422)


def test_client_cannot_file_for_another_team_or_what_is_not_there(api: APIClient, stranger: User) -> None:
    assert api.post(TICKETS, {**body(), "team": "speech"}, format="json").status_code == 404
    assert api.post(TICKETS, {**body(), "offering": "pony"}, format="json").status_code == 404
    assert as_(stranger).post(TICKETS, body(), format="json").status_code == 404


@pytest.mark.parametrize("query", ["teem=vision", "state=nowhere", "mine=maybe", "limit=1000", "cursor=x"])
def test_an_unknown_filter_does_not_return_everything(api: APIClient, query: str) -> None:
    assert 400 <= api.get(f"{TICKETS}?{query}").status_code < 500


def test_client_narrows_the_list(api: APIClient, ticket: Ticket, ready: Ticket, lead: User) -> None:
    def refs(query: str, client: APIClient = api) -> set[str]:
        return {each["ref"] for each in client.get(f"{TICKETS}?{query}").json()["results"]}

    assert refs("state=ready") == {ready.ref}
    assert refs("state=open") == {ticket.ref, ready.ref}
    assert refs("state=done") == set()
    assert refs("offering=unblock") == {ready.ref}
    assert refs("team=speech") == set()
    assert refs("mine=true") == {ticket.ref, ready.ref}
    assert refs("mine=true", as_(lead)) == set()


def test_client_sees_the_progress_of_the_order(api: APIClient, ticket: Ticket, triager: User) -> None:
    approve_ticket(ticket=ticket, version=ticket.version, by=triager)
    shown = api.get(f"{TICKETS}/{ticket.ref}").json()
    (order,) = shown["orders"]
    assert shown["state"] == "provisioning"
    assert order["ref"] == shown["lines"][0]["order"]
    assert 0 <= order["progress"] <= 1
    assert not order["is_final"]
    assert order["steps"]
    assert {"ticket.submitted", "ticket.approved", "order.placed"} <= {
        each["kind"] for each in shown["timeline"]
    }


def test_client_answers_withdraws_and_closes_with_the_version_it_saw(
    api: APIClient, waiting: Ticket, ticket: Ticket
) -> None:
    address = f"{TICKETS}/{waiting.ref}"
    old = api.post(f"{address}/answer", {"version": waiting.version - 1, "answer": "x"}, format="json")
    assert (old.status_code, old.json()["code"]) == (409, "lost-race")
    done = api.post(
        f"{address}/answer", {"version": waiting.version, "answer": "nas-1"}, format="json"
    ).json()
    assert (done["state"], done["version"]) == ("submitted", waiting.version + 1)
    early = api.post(f"{address}/close", {"version": done["version"]}, format="json")
    assert (early.status_code, early.json()["code"]) == (409, "illegal-move")
    gone = api.post(f"{TICKETS}/{ticket.ref}/withdraw", {"version": ticket.version}, format="json").json()
    assert gone["state"] == "withdrawn"


def test_requester_closes_by_api(api: APIClient, ready: Ticket) -> None:
    done = api.post(f"{TICKETS}/{ready.ref}/close", {"version": ready.version}, format="json").json()
    assert (done["state"], done["may"]) == ("closed", ["confirm_relief", "comment"])


def test_notes_of_the_desk_stay_there(api: APIClient, ticket: Ticket, operator: User) -> None:
    desk = as_(operator)
    noted = desk.post(f"{TICKETS}/{ticket.ref}/comments", {"body": "Hm.", "internal": True}, format="json")
    assert noted.status_code == 201
    assert "Hm." not in api.get(f"{TICKETS}/{ticket.ref}").content.decode()
    assert "Hm." in desk.get(f"{TICKETS}/{ticket.ref}").content.decode()
    refused = api.post(f"{TICKETS}/{ticket.ref}/comments", {"body": "x", "internal": True}, format="json")
    assert refused.status_code == 403


@pytest.mark.parametrize("action", ["", "/answer", "/withdraw", "/close", "/relief", "/comments"])
def test_stranger_finds_nothing_by_api(waiting: Ticket, stranger: User, action: str) -> None:
    client = as_(stranger)
    address = f"{TICKETS}/{waiting.ref}{action}"
    sent = {"version": waiting.version, "answer": "x", "body": "x"}
    answer = client.post(address, sent, format="json") if action else client.get(address)
    assert answer.status_code == 404
    assert waiting.title not in answer.content.decode()
    assert client.get(TICKETS).json()["results"] == []
    assert Ticket.objects.get(pk=waiting.pk).status == "waiting"
    assert not Comment.objects.exists()


def test_who_does_not_sign_in_gets_nothing(ticket: Ticket) -> None:
    for address in (TICKETS, f"{TICKETS}/{ticket.ref}"):
        assert APIClient().get(address).status_code in (401, 403)


def test_list_by_api_costs_the_same_for_10_and_for_60(api: APIClient, desk: Team, member: User) -> None:
    def cost() -> int:
        with CaptureQueriesContext(connection) as seen:
            assert api.get(f"{TICKETS}?limit=200").status_code == 200
        return len(seen)

    many(desk, member, 10)
    few = cost()
    many(desk, member, 50)
    assert cost() == few
    assert few <= 6


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_refused_or_kept_as_text(api: APIClient, text: str) -> None:
    answers = {"headline": text, "details": text, "area": "unknown"}
    sent = {"offering": "unblock", "team": "vision", "answers": answers}
    made = api.post(TICKETS, sent, format="json")
    assert made.status_code in (201, 422)
    for name in ("offering", "team", "answers"):
        assert api.post(TICKETS, {**sent, name: text}, format="json").status_code in (400, 404, 422), name
    assert api.post(TICKETS, {**sent, "answers": {text: 1}}, format="json").status_code == 422
    keyed = api.get(TICKETS, {"team": text[:2000], "offering": text[:2000]})
    if "\0" in text:
        assert (keyed.status_code, keyed.json()["code"]) == (400, "damaged-address")
    else:
        assert keyed.status_code == 200
        assert keyed.json()["results"] == []
