"""A client that looked at an older ticket does nothing, and is told what happened meanwhile."""

from __future__ import annotations

from typing import Any

import pytest
from rest_framework.test import APIClient

from portal.accounts.models import User
from requests_app.tickets.models import Ticket
from requests_app.triage.services import take_ticket
from tests.requests_app.tickets.test_api import TICKETS, as_

pytestmark = pytest.mark.django_db


def withdraw(client: APIClient, ticket: Ticket, body: dict[str, Any], tag: str | None = None) -> Any:
    headers = {} if tag is None else {"If-Match": tag}
    return client.post(f"{TICKETS}/{ticket.ref}/withdraw", body, format="json", headers=headers)


def test_a_ticket_comes_with_the_tag_of_its_version(ticket: Ticket, member: User) -> None:
    seen = as_(member).get(f"{TICKETS}/{ticket.ref}")
    assert seen["ETag"] == f'"v{seen.json()["version"]}"'


def test_the_tag_lets_a_client_act(ticket: Ticket, member: User) -> None:
    client = as_(member)
    done = withdraw(client, ticket, {}, client.get(f"{TICKETS}/{ticket.ref}")["ETag"])
    assert (done.status_code, done.json()["state"]) == (200, "withdrawn")
    assert done["ETag"] == f'"v{done.json()["version"]}"'


def test_a_stale_tag_is_412_and_says_what_changed(ticket: Ticket, member: User, triager: User) -> None:
    client = as_(member)
    tag = client.get(f"{TICKETS}/{ticket.ref}")["ETag"]
    take_ticket(ticket=ticket, version=ticket.version, by=triager)
    refused = withdraw(client, ticket, {}, tag)
    assert refused.status_code == 412
    problem = refused.json()
    assert (problem["code"], refused["ETag"], problem["data"]["etag"]) == ("stale", '"v2"', '"v2"')
    assert problem["data"]["changed"][0]["says"] == "Taken by triager"
    assert problem["data"]["changed"][0]["by"] == "triager"
    ticket.refresh_from_db()
    assert ticket.status == "submitted"


def test_a_stale_version_in_the_body_is_409(ticket: Ticket, member: User, triager: User) -> None:
    take_ticket(ticket=ticket, version=1, by=triager)
    assert withdraw(as_(member), ticket, {"version": 1}).status_code == 409
    assert withdraw(as_(member), ticket, {"version": 1}, '"v2"').status_code == 412


def test_neither_is_428(ticket: Ticket, member: User) -> None:
    refused = withdraw(as_(member), ticket, {})
    assert (refused.status_code, refused.json()["code"], refused["ETag"]) == (428, "version-needed", '"v1"')


def test_the_desk_decides_by_tag_too(ticket: Ticket, triager: User) -> None:
    client = as_(triager)
    path = f"{TICKETS}/{ticket.ref}/take"
    assert client.post(path, {}, format="json").status_code == 428
    assert client.post(path, {}, format="json", headers={"If-Match": '"v9"'}).status_code == 412
    taken = client.post(path, {}, format="json", headers={"If-Match": '"v1"'})
    assert (taken.status_code, taken["ETag"]) == (200, '"v2"')


def test_what_the_desk_notes_is_not_told_to_the_team(ticket: Ticket, member: User) -> None:
    from portal.ledger.services import record
    from requests_app import events

    record(events.POLICY_DECIDED, subject=ticket.ref, payload={"approved": False}, by=None)
    refused = withdraw(as_(member), ticket, {}, '"v9"')
    assert [each["what"] for each in refused.json()["data"]["changed"]] == ["ticket.submitted"]
