"""The API gives, renews and ends workarounds by the services of the pages, and tells nobody what is not theirs."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from portal.accounts.models import Team, User
from portal.accounts.services import issue_token
from requests_app.tickets.models import Ticket
from requests_app.workarounds.models import Workaround
from tests.builders import H100

pytestmark = pytest.mark.django_db
GIVEN: dict[str, Any] = {
    "kind": "quota",
    "params": {"sku": H100, "gpus": 16},
    "summary": "16 GPUs more",
    "closure_test": "The raise is agreed",
    "days": 14,
}


class Api:
    """A client with a token."""

    def __init__(self, user: User, *scopes: str) -> None:
        _, raw = issue_token(name="t", scopes=list(scopes), by=user)
        self.headers = {"Authorization": f"Bearer {raw}"}
        self.client = Client()

    def get(self, path: str) -> Any:
        return self.client.get(f"/api/v1/{path}", headers=self.headers)

    def post(self, path: str, body: dict[str, Any], **headers: str) -> Any:
        return self.client.post(
            f"/api/v1/{path}", body, content_type="application/json", headers={**self.headers, **headers}
        )


@pytest.fixture
def desk_api(triager: User) -> Api:
    return Api(triager, "requests:read", "triage:write")


def test_workaround_is_given_read_renewed_once_and_ended(
    ticket: Ticket, desk_api: Api, admin_user: User
) -> None:
    answer = desk_api.post(f"tickets/{ticket.ref}/workarounds", {**GIVEN, "version": ticket.version})
    assert answer.status_code == 201, answer.content
    made = answer.json()
    assert (made["state"], made["ticket"], made["is_settled"]) == ("active", ticket.ref, True)
    assert answer["Location"] == f"/api/v1/workarounds/{made['ref']}"
    assert desk_api.get(f"workarounds/{made['ref']}").json() == made
    other = Api(admin_user, "requests:read", "triage:write")
    body = {"version": made["version"], "days": 10}
    assert other.post(f"workarounds/{made['ref']}/renew", body).status_code == 422
    for _ in range(2):
        renewed = other.post(f"workarounds/{made['ref']}/renew", body, **{"Idempotency-Key": "k-1"})
        assert (renewed.status_code, renewed.json()["renewals"]) == (200, 1)
    ended = desk_api.post(f"workarounds/{made['ref']}/end", {"version": renewed.json()["version"]})
    assert (ended.json()["state"], ended.json()["ended_why"]) == ("ended", "ended")


def test_unknown_fields_and_filters_are_refused(ticket: Ticket, desk_api: Api) -> None:
    body = {**GIVEN, "version": ticket.version, "prioritty": 1}
    assert desk_api.post(f"tickets/{ticket.ref}/workarounds", body).status_code == 422
    assert desk_api.get("workarounds?teem=vision").status_code in {400, 422}
    assert desk_api.get("debt?teem=vision").status_code in {400, 422}
    assert desk_api.get("replacements?state=nonsense").status_code in {400, 422}
    assert not Workaround.objects.exists()


def test_member_reads_and_asks_and_does_nothing_else(lent: Workaround, member: User) -> None:
    api = Api(member, "requests:read", "requests:write")
    assert api.get(f"workarounds/{lent.ref}").status_code == 200
    said = {"version": lent.version, "days": 5, "reason": "The project is late."}
    asked = api.post(f"workarounds/{lent.ref}/ask-renewal", said)
    assert asked.json()["state"] == "renewal_asked"
    assert api.post(f"workarounds/{lent.ref}/end", {"version": 9}).status_code == 403
    assert api.post(f"tickets/{lent.ticket.ref}/workarounds", {**GIVEN, "version": 1}).status_code == 403


def test_stranger_gets_404_for_every_address_and_changes_nothing(lent: Workaround, stranger: User) -> None:
    api = Api(stranger, "requests:read", "requests:write")
    assert lent.replacement is not None
    assert api.get(f"workarounds/{lent.ref}").status_code == 404
    assert api.get(f"replacements/{lent.replacement.ref}").status_code == 404
    said = {"version": lent.version, "days": 5, "reason": "Mine."}
    assert api.post(f"workarounds/{lent.ref}/ask-renewal", said).status_code == 404
    assert api.get("workarounds").json()["results"] == []
    assert api.get("replacements").json()["results"] == []
    assert api.get("debt").json()["open"] == 0
    lent.refresh_from_db()
    assert lent.status == "active"


def test_stale_version_is_told_who_was_quicker(lent: Workaround, desk_api: Api) -> None:
    answer = desk_api.post(f"workarounds/{lent.ref}/proper", {"version": 1, "text": "It is good."})
    assert (answer.status_code, answer.json()["code"]) == (409, "lost-race")


def test_project_moves_by_the_api_and_finishing_it_needs_a_beginning(lent: Workaround, desk_api: Api) -> None:
    assert lent.replacement is not None
    ref = lent.replacement.ref
    answer = desk_api.post(f"replacements/{ref}/move", {"version": 1, "action": "finish"})
    assert answer.status_code == 409
    answer = desk_api.post(f"replacements/{ref}/move", {"version": 1, "action": "start"})
    assert (answer.json()["state"], answer.json()["workarounds"]) == ("in_progress", [lent.ref])
    later = {"version": 2, "target_on": "2099-01-01", "reason": "It takes longer."}
    assert desk_api.post(f"replacements/{ref}/target", later).status_code == 422


def test_debt_tells_its_numbers(lent: Workaround, desk_api: Api, desk: Team) -> None:
    told = desk_api.get(f"debt?team={desk.slug}").json()
    assert (told["open"], told["interest_hours"], told["half_life_days"]) == (1, 2.0, None)
    assert desk_api.post("debt/caps", {"pillar": "compute", "most": 3}).status_code == 403
