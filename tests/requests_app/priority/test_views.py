"""Ranks by page: the team reads why in plain words, the desk overrules, admins change the rule."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from portal.accounts.models import Team, User
from portal.kernel.clock import now
from portal.ledger.dispatch import deliver_all
from requests_app.priority.models import CrunchWarning, Expedite, Pin, PriorityPolicy, Rerank
from requests_app.priority.overrides import expedite_ticket
from requests_app.tickets.models import Ticket
from requests_app.triage.claiming import claim_next
from tests.builders import a_cluster_ask
from tests.requests_app.priority.conftest import block, fresh, many

pytestmark = pytest.mark.django_db


def page(client: Client, person: User, address: str) -> str:
    client.force_login(person)
    answer = client.get(address)
    assert answer.status_code == 200
    return answer.content.decode()


def url(ticket: Ticket, action: str = "") -> str:
    return f"/tickets/{ticket.ref}/{action}"


def test_team_reads_its_place_and_why(client: Client, ticket: Ticket, member: User) -> None:
    rows = many(ticket, 3)
    block(rows[0], member)
    shown = page(client, member, url(rows[2]))
    assert "You are <strong>4th</strong>: of the 3 just ahead" in shown
    assert "2 were filed earlier" in shown
    assert "1 loses more GPU-hours a day" in shown
    assert "Pin it" not in shown


def test_page_of_the_rank_names_others_to_infra_alone(
    client: Client, ticket: Ticket, member: User, triager: User, other_team: Team
) -> None:
    other = many(ticket, 1, team=other_team)[0]
    Ticket.objects.filter(pk=other.pk).update(
        title="Secret of speech", rank_key=(ticket.rank_key or 0) - 7200
    )
    shown = page(client, member, url(ticket, "rank/"))
    assert "Secret" not in shown
    assert "Ahead, because they" in shown
    assert "Secret of speech" in page(client, triager, url(ticket, "rank/"))


def test_blocked_team_reads_what_would_change_its_place(client: Client, ticket: Ticket, member: User) -> None:
    block(ticket, member)
    shown = page(client, member, url(ticket, "rank/"))
    assert "Twice the loss" in shown
    assert "+24.0 h" in shown


def test_ticket_outside_the_queue_says_so(client: Client, ticket: Ticket, member: User) -> None:
    Ticket.objects.filter(pk=ticket.pk).update(status="declined")
    assert "has no place" in page(client, member, url(ticket, "rank/"))


def test_triager_pins_sets_effort_and_expedites_by_page(
    client: Client, ticket: Ticket, triager: User
) -> None:
    assert "Pin it" in page(client, triager, url(ticket))
    seen = {"version": ticket.version}
    assert (
        client.post(url(ticket, "rank/pin"), {**seen, "hours": "24", "reason": "Launch"}).status_code == 302
    )
    assert Pin.objects.get().seconds == 86_400
    assert "Launch" in page(client, triager, url(ticket))
    assert client.post(url(ticket, "rank/unpin"), seen).status_code == 409
    seen = {"version": fresh(ticket).version}
    assert client.post(url(ticket, "rank/unpin"), seen).status_code == 302
    seen = {"version": fresh(ticket).version}
    assert client.post(url(ticket, "rank/effort"), {**seen, "hours": "1.5"}).status_code == 302
    seen = {"version": fresh(ticket).version}
    client.post(url(ticket, "rank/expedite"), {**seen, "reason": "incident"})
    assert Expedite.objects.get().slot == 1
    assert "Expedite lane, 1 of 2" in page(client, triager, "/desk/")
    client.post(url(ticket, "rank/unexpedite"))
    assert fresh(ticket).expedited_at is None


@pytest.mark.parametrize("action", ["pin", "unpin", "effort", "expedite", "unexpedite"])
def test_team_overrules_nothing_by_page(client: Client, ticket: Ticket, lead: User, action: str) -> None:
    client.force_login(lead)
    body = {"version": ticket.version, "hours": "5", "reason": "mine"}
    assert client.post(url(ticket, f"rank/{action}"), body).status_code == 403
    assert client.get(url(ticket, f"rank/{action}")).status_code == 405


def test_stranger_reads_no_rank(client: Client, ticket: Ticket, stranger: User) -> None:
    client.force_login(stranger)
    assert client.get(url(ticket, "rank/")).status_code == 404


def policy_form(**more: str) -> dict[str, str]:
    constants = {"half_life_hours": "48", "person_day": "530", "median_ratio": "60"}
    return {
        **constants,
        "share_half_life_days": "14",
        "flood_hours": "6",
        "seen": "1",
        "reason": "A crunch.",
        **more,
    }


def test_admin_makes_a_policy_by_page_and_sees_it_reach_everybody(
    client: Client, ticket: Ticket, admin_user: User
) -> None:
    many(ticket, 3)
    assert "Priority policy 1" in page(client, admin_user, "/desk/policy/")
    assert client.post("/desk/policy/", policy_form()).status_code == 302
    Rerank.objects.update(done=1)
    shown = page(client, admin_user, "/desk/policy/")
    assert "Re-ranking: 25.0 %" in shown
    assert "A crunch." in shown
    part = client.get("/desk/policy/", headers={"hx-request": "true"}).content.decode()
    assert part.strip().startswith('<div id="run"')


def test_wrong_policy_is_shown_again(client: Client, admin_user: User) -> None:
    client.force_login(admin_user)
    assert client.post("/desk/policy/", policy_form(half_life_hours="0")).status_code == 422
    assert client.post("/desk/policy/", policy_form(reason="")).status_code == 422
    assert not PriorityPolicy.objects.filter(number=2).exists()


def test_policy_is_read_by_infra_and_is_nothing_to_customers(
    client: Client, triager: User, lead: User
) -> None:
    shown = page(client, triager, "/desk/policy/")
    assert "Make a new version" not in shown
    assert client.post("/desk/policy/", policy_form()).status_code == 403
    client.force_login(lead)
    assert client.get("/desk/policy/").status_code == 404


def test_desk_is_told_of_a_crunch_and_what_to_offer(
    client: Client, ticket: Ticket, triager: User, member: User
) -> None:
    large = a_cluster_ask(ticket.team, member, nodes=16, cluster_name="large")
    deliver_all()
    assert "More comes in" not in page(client, triager, "/desk/")
    CrunchWarning.objects.create(arrivals=9, completions=1, wait_p95_hours=5, reasons=["The queue grows."])
    shown = page(client, triager, "/desk/")
    assert "The queue grows." in shown
    assert f"{large.ref}" in shown
    assert "of 16 nodes" in shown
    CrunchWarning.objects.update(ended_at=now())
    assert "The queue grows." not in page(client, triager, "/desk/")


def test_next_serves_the_lane_first_and_spreads_the_teams(
    ticket: Ticket, triager: User, other_team: Team
) -> None:
    flood = many(ticket, 3)
    other = many(flood[-1], 1, team=other_team)[0]
    rushed = flood[2]
    expedite_ticket(ticket=rushed, version=rushed.version, reason="incident", by=triager)
    taken = [claim_next(by=triager) for _ in range(4)]
    assert [each.pk for each in taken if each] == [rushed.pk, ticket.pk, other.pk, flood[0].pk]


def test_rank_page_costs_the_same_with_many_ahead(client: Client, ticket: Ticket, triager: User) -> None:
    client.force_login(triager)

    def cost() -> int:
        last = Ticket.objects.latest("pk")
        with CaptureQueriesContext(connection) as seen:
            client.get(url(last, "rank/"))
        return len(seen)

    many(ticket, 10)
    few = cost()
    many(ticket, 50)
    assert cost() == few
