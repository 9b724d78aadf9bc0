"""Clients read why, and overrule with a reason; of other teams they learn kinds and counts."""

from __future__ import annotations

from typing import Any

import pytest
from rest_framework.test import APIClient

from portal.accounts.models import Team, User
from requests_app.priority.models import PriorityPolicy
from requests_app.tickets.models import Ticket
from tests.requests_app.priority.conftest import block, many

pytestmark = pytest.mark.django_db


def as_(person: User) -> APIClient:
    client = APIClient()
    client.force_authenticate(person)
    return client


def url(ticket: Ticket, action: str) -> str:
    return f"/api/v1/tickets/{ticket.ref}/{action}"


def test_bars_add_up_to_the_key(ticket: Ticket, member: User) -> None:
    ticket = block(ticket, member, people=2)
    shown = as_(member).get(url(ticket, "rank")).json()
    assert sum(bar["seconds"] for bar in shown["bars"]) == shown["head_start"]
    assert shown["rank_key"] == int(ticket.submitted_at.timestamp()) - shown["head_start"]
    assert shown["place"] == {"ahead": 0, "about": False, "compared": 0, "because": []}
    assert "double" in {change["name"] for change in shown["changes"]}


def test_team_learns_kinds_and_counts_and_nothing_else(
    ticket: Ticket, member: User, other_team: Team
) -> None:
    late = many(ticket, 1, team=other_team)[0]
    Ticket.objects.filter(pk=late.pk).update(title="Secret of speech", rank_key=(ticket.rank_key or 0) - 9)
    answer = as_(member).get(url(ticket, "rank"))
    assert answer.json()["place"]["because"][0]["count"] == 1
    assert "Secret" not in answer.content.decode()
    assert "speech" not in answer.content.decode()


def test_triager_overrules_and_sees_what_follows(ticket: Ticket, triager: User) -> None:
    client = as_(triager)
    pinned = client.post(url(ticket, "pin"), {"version": ticket.version, "hours": 12, "reason": "A launch."})
    assert pinned.json()["pin"]["hours"] == 12
    seen = pinned.json()["version"]
    assert client.post(url(ticket, "unpin"), {"version": seen}).json()["pin"] is None
    seen += 1
    effort = client.post(url(ticket, "effort"), {"version": seen, "hours": "0.5"})
    assert effort.json()["effort_hours"] == 0.5
    lane = client.post(url(ticket, "expedite"), {"version": seen + 1, "reason": "incident"})
    assert lane.json()["is_expedited"] is True
    assert client.post(url(ticket, "unexpedite"), {}).json()["is_expedited"] is False


@pytest.mark.parametrize(
    ("action", "body"),
    [
        ("pin", {"hours": 12, "reason": "mine"}),
        ("unpin", {}),
        ("effort", {"hours": 1}),
        ("expedite", {"reason": "mine"}),
        ("unexpedite", {}),
    ],
)
def test_team_overrules_nothing(
    ticket: Ticket, lead: User, triager: User, action: str, body: dict[str, Any]
) -> None:
    answer = as_(lead).post(url(ticket, action), {"version": ticket.version, **body})
    assert answer.status_code == 403


def test_stale_version_is_a_conflict(ticket: Ticket, triager: User) -> None:
    body = {"version": ticket.version + 5, "hours": 12, "reason": "x"}
    assert as_(triager).post(url(ticket, "pin"), body).status_code == 409


@pytest.mark.parametrize("hours", ["nan", "inf", 721, "x"])
def test_hours_that_can_not_be_are_refused(ticket: Ticket, triager: User, hours: Any) -> None:
    body = {"version": ticket.version, "hours": hours, "reason": "x"}
    assert as_(triager).post(url(ticket, "pin"), body).status_code in (400, 422)


def test_policies_are_read_by_infra_and_made_by_admins(
    ticket: Ticket, lead: User, triager: User, admin_user: User
) -> None:
    address = "/api/v1/priority-policies"
    assert as_(lead).get(address).status_code == 404
    shown = as_(triager).get(address).json()
    assert (shown["policies"][0]["number"], shown["reranking"]) == (1, None)
    new = {
        "seen": 1,
        "half_life_hours": 48,
        "person_day": 530,
        "median_ratio": 60,
        "share_half_life_days": 14,
        "flood_hours": 6,
        "reason": "A crunch.",
    }
    assert as_(triager).post(address, new).status_code == 403
    assert as_(admin_user).post(address, new).json()["number"] == 2
    assert as_(admin_user).post(address, new).status_code == 409
    assert as_(admin_user).post(address, {**new, "seen": 2, "flood_hours": -1}).status_code == 422
    assert as_(triager).get(address).json()["reranking"] == 0
    assert PriorityPolicy.objects.get(active=True).number == 2
