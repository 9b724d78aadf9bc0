"""Offers and promises for API clients: the same services, scopes, and refusals as data."""

from __future__ import annotations

import pytest
from rest_framework.test import APIClient

from portal.accounts.models import User
from portal.accounts.services import issue_token
from requests_app.negotiation.models import Offer, Promise
from requests_app.negotiation.services import accept_offer
from requests_app.tickets.models import Ticket
from tests.requests_app.negotiation.conftest import day

pytestmark = pytest.mark.django_db


def api(by: User, *scopes: str) -> APIClient:
    _, secret = issue_token(name=" ".join(scopes), scopes=list(scopes), by=by)
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")
    return client


def offers(ticket: Ticket, rest: str = "") -> str:
    return f"/api/v1/tickets/{ticket.ref}/offers{rest}"


def test_desk_proposes_and_the_team_answers_line_by_line(
    project: Ticket, triager: User, member: User
) -> None:
    lines = [
        {"position": 1, "kind": "part", "now_qty": 4, "later_on": day(12).isoformat()},
        *({"position": position, "kind": "now"} for position in (2, 3, 4)),
        {"position": 5, "kind": "no", "reason_code": "focus", "reason": "Not this year."},
    ]
    desk = api(triager, "triage:write", "requests:read")
    made = desk.post(offers(project), {"version": project.version, "lines": lines}, format="json")
    assert made.status_code == 201
    assert (made.json()["revision"], made.json()["state"], made.json()["lines"][0]["later_qty"]) == (
        1,
        "open",
        1,
    )
    team = api(member, "offers:accept", "requests:read")
    said = {"accept": [1, 2, 5], "counter": [{"position": 3, "quantity": 40}], "drop": [4]}
    answer = team.post(offers(project, "/1/reply"), said, format="json")
    assert answer.status_code == 200
    assert [line["reply"] for line in answer.json()["lines"]] == [
        "accepted",
        "accepted",
        "countered",
        "dropped",
        "accepted",
    ]
    ticket = team.get(f"/api/v1/tickets/{project.ref}").json()
    assert [line["verdict"] for line in ticket["lines"]] == [
        "granted",
        "granted",
        "pending",
        "dropped",
        "declined",
    ]
    assert "offer.accepted" in [entry["kind"] for entry in ticket["timeline"]]
    (promise,) = team.get("/api/v1/promises").json()["results"]
    assert (promise["ticket"], promise["quantity"], promise["due_on"]) == (
        project.ref,
        1,
        day(12).isoformat(),
    )


def test_accepting_needs_the_scope_for_it(offer: Offer, ask: Ticket, member: User) -> None:
    without = api(member, "requests:read", "requests:write")
    assert without.post(offers(ask, "/1/accept"), {}, format="json").status_code == 403
    done = api(member, "offers:accept").post(offers(ask, "/1/accept"), {}, format="json")
    assert (done.status_code, done.json()["state"]) == (200, "accepted")


def test_stale_revision_is_a_conflict_with_the_current_one(
    offer: Offer, ask: Ticket, triager: User, member: User
) -> None:
    ask.refresh_from_db()
    lines = [{"position": 1, "kind": "now"}]
    api(triager, "triage:write").post(offers(ask), {"version": ask.version, "lines": lines}, format="json")
    late = api(member, "offers:accept").post(offers(ask, "/1/accept"), {}, format="json")
    assert late.status_code == 409
    assert late.json()["code"] == "stale-offer"
    assert "Revision 2 is open now" in late.json()["detail"]


def test_stranger_finds_nothing_and_unknown_fields_are_refused(
    offer: Offer, ask: Ticket, stranger: User, member: User
) -> None:
    outside = api(stranger, "offers:accept", "requests:read")
    assert outside.get(offers(ask)).status_code == 404
    assert outside.post(offers(ask, "/1/accept"), {}, format="json").status_code == 404
    team = api(member, "offers:accept", "requests:read")
    assert team.post(offers(ask, "/1/accept"), {"lines": [1]}, format="json").status_code == 422
    assert team.get("/api/v1/promises?late=true").status_code in {400, 422}
    assert team.post(offers(ask, "/9/accept"), {}, format="json").status_code == 404


def test_child_of_another_ticket_is_not_found_through_ones_own(
    offer: Offer, ask: Ticket, project: Ticket, member: User
) -> None:
    team = api(member, "offers:accept")
    assert team.post(offers(project, "/1/accept"), {}, format="json").status_code == 404
    offer.refresh_from_db()
    assert offer.is_open


def test_promise_is_moved_and_kept_by_triagers(offer: Offer, member: User, triager: User) -> None:
    accept_offer(offer=offer, revision=1, by=member)
    promise = Promise.objects.get()
    desk = api(triager, "triage:write")
    body = {"version": promise.version, "due_on": day(20).isoformat(), "reason": "Late."}
    moved = desk.post(f"/api/v1/promises/{promise.pk}/move", body, format="json")
    assert (moved.status_code, moved.json()["first_due_on"]) == (200, day(12).isoformat())
    again = desk.post(f"/api/v1/promises/{promise.pk}/move", body, format="json")
    assert again.status_code == 409
    team = api(member, "requests:read", "offers:accept")
    assert team.post(f"/api/v1/promises/{promise.pk}/keep", {"version": 1}, format="json").status_code == 403
