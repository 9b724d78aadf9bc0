"""Clients say, correct, confirm and measure blocks through the same services, and are refused the same way."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from rest_framework.test import APIClient

from portal.accounts.models import User
from portal.accounts.services import issue_token
from portal.kernel.clock import now
from requests_app.blocks.models import BlockInterval, Commitment
from requests_app.tickets.models import Ticket

pytestmark = pytest.mark.django_db


def as_(person: User) -> APIClient:
    client = APIClient()
    client.force_authenticate(person)
    return client


def url(ticket: Ticket, action: str) -> str:
    return f"/api/v1/tickets/{ticket.ref}/{action}"


def facts(**more: Any) -> dict[str, Any]:
    since = (now() - timedelta(hours=2)).isoformat()
    return {"since": since, "people": 1, "idle_gpus": 8, "what": "The share is gone.", **more}


def pointers(answer: Any) -> set[str]:
    assert answer.status_code == 422, answer.content
    return {each["pointer"] for each in answer.json()["errors"]}


def test_client_opens_reads_corrects_and_ends_a_block(ticket: Ticket, member: User) -> None:
    client = as_(member)
    made = client.post(url(ticket, "blocks"), facts(who=["member"]))
    assert made.status_code == 201
    (block,) = made.json()["blocks"]
    assert block["lost_gpu_hours"] == pytest.approx(16, rel=0.01)
    assert block["persons"][0]["user"] == "member"
    seen = made.json()["version"]
    corrected = {"people": 2, "idle_gpus": 16, "what": "Two shares.", "version": seen}
    (block,) = client.post(url(ticket, "blocks/amend"), corrected).json()["blocks"]
    assert (block["idle_gpus"], block["amendments"]) == (16, 1)
    assert client.post(url(ticket, "blocks/amend"), corrected).status_code == 409
    client.post(url(ticket, "relief"), {})
    (block,) = client.get(url(ticket, "blocks")).json()["blocks"]
    assert (block["end_source"], block["ended_by"]) == ("confirmed", "member")


def test_second_block_is_a_conflict(blocked: Ticket, member: User) -> None:
    answer = as_(member).post(url(blocked, "blocks"), facts())
    assert (answer.status_code, answer.json()["code"]) == (409, "already-blocked")


@pytest.mark.parametrize(
    ("more", "pointer"),
    [
        ({"people": -1}, "/people"),
        ({"people": 0, "idle_gpus": 0}, "/people"),
        ({"what": ""}, "/what"),
        ({"since": "2999-01-01T00:00:00Z"}, "/since"),
        ({"who": ["stranger"]}, "/who"),
        ({"resource": "mine"}, "/resource"),
        ({"priority": 1}, "/priority"),
    ],
)
def test_what_can_not_be_is_said_beside_its_field(
    ticket: Ticket, member: User, stranger: User, more: dict[str, Any], pointer: str
) -> None:
    assert pointers(as_(member).post(url(ticket, "blocks"), facts(**more))) == {pointer}
    assert not BlockInterval.objects.exists()


def test_unknown_parameter_is_refused(blocked: Ticket, member: User) -> None:
    assert pointers(as_(member).get(url(blocked, "blocks") + "?teem=1")) == {"/teem"}


def test_person_and_desk_say_their_word(blocked: Ticket, lead: User, triager: User) -> None:
    (block,) = as_(lead).post(url(blocked, "blocks/me"), {"answer": "yes"}).json()["blocks"]
    assert block["persons"][0]["confirmed_at"] is not None
    (block,) = as_(lead).post(url(blocked, "blocks/me"), {"answer": "no"}).json()["blocks"]
    assert block["persons"][0]["refused_at"] is not None
    assert as_(lead).post(url(blocked, "blocks/found"), {}).status_code == 403
    (block,) = as_(triager).post(url(blocked, "blocks/found"), {}).json()["blocks"]
    assert block["found_by"] == "triager"


def test_machine_measures_with_its_scope_and_ends_the_block(blocked: Ticket, operator: User) -> None:
    token, raw = issue_token(name="probe", scopes=["telemetry:write"], by=operator)
    client = APIClient(headers={"authorization": f"Bearer {raw}"})
    at = now().isoformat()
    reading = {"key": "m-1", "at": at, "idle_gpus": 16}
    for _ in range(2):
        answer = client.post(url(blocked, "idle-readings"), reading)
        assert (answer.status_code, answer.json()["is_blocked"]) == (201, True)
    other = client.post(url(blocked, "idle-readings"), {**reading, "idle_gpus": 17})
    assert other.json()["code"] == "idempotency-key-reused"
    busy = {"key": "m-2", "at": at, "idle_gpus": 0, "busy_since": (now() - timedelta(minutes=5)).isoformat()}
    assert client.post(url(blocked, "idle-readings"), busy).json()["is_blocked"] is False
    assert client.get(url(blocked, "blocks")).status_code == 403
    assert token.scopes == ["telemetry:write"]


def test_member_measures_nothing(blocked: Ticket, member: User) -> None:
    answer = as_(member).post(
        url(blocked, "idle-readings"), {"key": "m", "at": now().isoformat(), "idle_gpus": 999}
    )
    assert answer.status_code == 403


def test_commitment_by_client(ticket: Ticket, member: User, stranger: User) -> None:
    due = (now() + timedelta(days=9)).date().isoformat()
    owed = {"what": "Launch", "due_on": due, "loss_per_day": 500, "sponsor": "stranger"}
    made = as_(member).post(url(ticket, "commitments"), owed)
    assert made.status_code == 201
    number = made.json()["id"]
    assert as_(member).post(f"/api/v1/commitments/{number}/confirm", {}).status_code == 403
    assert as_(stranger).post(f"/api/v1/commitments/{number}/confirm", {}).json()["confirmed_at"]
    assert len(as_(member).get(url(ticket, "commitments")).json()) == 1
    assert as_(member).post(f"/api/v1/commitments/{number}/drop", {}).json()["dropped_at"]
    assert as_(member).get(url(ticket, "commitments")).json() == []


def test_stranger_finds_no_commitment_of_another_team(
    ticket: Ticket, member: User, stranger: User, triager: User
) -> None:
    due = now().date() + timedelta(days=3)
    made = Commitment.objects.create(
        ticket=ticket, what="x", due_on=due, loss_per_day=1, sponsor=triager, asked_by=member
    )
    for action in ("confirm", "drop"):
        assert as_(stranger).post(f"/api/v1/commitments/{made.pk}/{action}", {}).status_code == 404


def test_request_is_filed_with_its_block_and_who_it_stops(ticket: Ticket, member: User) -> None:
    body = {
        "offering": "unblock",
        "team": "vision",
        "answers": {"headline": "Jobs hang", "details": "Since noon.", "area": "unknown"},
        "blocked": facts(who=["member"]),
    }
    made = as_(member).post("/api/v1/tickets", body)
    assert made.status_code == 201, made.content
    assert BlockInterval.objects.get().persons.get().user == member
