"""The requester reads when, what meanwhile, and what it costs; never more than is known."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st
from rest_framework.test import APIClient

from portal.accounts.models import Team, User
from portal.kernel.clock import now
from requests_app.clocks.models import ClockSummary
from requests_app.outlook.queries import history_of, outlook_of
from requests_app.outlook.rules import ENOUGH, Facts, History, OtherSku, cost, meanwhile, when
from requests_app.tickets.models import Ticket
from requests_app.tickets.states import TicketState
from tests.builders import a_cluster_ask, a_quota, a_sku, some_nodes
from tests.requests_app.tickets.conftest import blocked, desk, ticket

__all__ = ["blocked", "desk", "ticket"]
AT = datetime(2026, 11, 30, 10, tzinfo=UTC)
HOUR = 3600.0
LIKE_IT = History(n=40, p50=20 * HOUR, p90=100 * HOUR)


def facts(state: str = "submitted", **more: Any) -> Facts:
    return Facts(**{"state": state, "at": AT, "submitted_at": AT, "lead_time": "A day.", **more})


def test_a_range_comes_from_those_like_it_with_their_n() -> None:
    found = when(facts(history=LIKE_IT))
    assert found is not None
    assert (found.early, found.late) == (AT + timedelta(hours=20), AT + timedelta(hours=100))
    assert found.says == "Of the last 40 like it half took 20 h, nine of ten 4 days."


def test_few_are_no_history() -> None:
    found = when(facts(history=History(n=ENOUGH - 1, p50=1.0, p90=2.0)))
    assert found is not None
    assert found.early is None
    assert found.says == "Usually: A day. Only 7 like it were delivered so far, too few to say more."


def test_what_took_longer_than_all_is_said_and_not_promised_again() -> None:
    found = when(facts(history=LIKE_IT, submitted_at=AT - timedelta(hours=101)))
    assert found is not None
    assert (found.early, found.late) == (None, None)
    assert "Longer than nine of the last ten" in found.says


def test_what_the_team_had_it_is_added() -> None:
    found = when(facts(history=LIKE_IT, submitted_at=AT - timedelta(hours=50), paused=timedelta(hours=40)))
    assert found is not None
    assert found.late == AT + timedelta(hours=90)


def test_nobody_guesses_while_the_team_has_it() -> None:
    for state in ("waiting", "offered"):
        found = when(facts(state, history=LIKE_IT))
        assert found is not None
        assert found.early is None


def test_a_promise_is_the_date() -> None:
    found = when(facts("promised", promised_on=date(2026, 12, 12), history=LIKE_IT))
    assert found is not None
    assert "Saturday 12 December" in found.says


@pytest.mark.parametrize("state", ["ready", "closed", "declined", "withdrawn", "merged"])
def test_what_is_over_has_no_when(state: str) -> None:
    assert when(facts(state, history=LIKE_IT)) is None


def tips(**more: Any) -> list[str]:
    return [tip.says for tip in meanwhile(facts(**more))]


def test_a_smaller_ask_that_fits_is_named() -> None:
    assert tips(asked_nodes=5, gpus_per_node=8, free_nodes=4, left=24) == [
        "A smaller ask would fit right now: 3 nodes of this kind are free and within your quota."
    ]
    assert tips(asked_nodes=3, gpus_per_node=8, free_nodes=4, left=24) == []


def test_no_quota_is_none_and_no_limit_is_no_limit() -> None:
    assert "used up" in tips(asked_nodes=5, gpus_per_node=8, free_nodes=4, left=0)[0]
    assert "4 nodes" in tips(asked_nodes=5, gpus_per_node=8, free_nodes=4, left=None)[0]


def test_another_kind_that_is_free_is_named() -> None:
    other = OtherSku(name="A100", left=16, free_nodes=9, gpus_per_node=8)
    assert tips(asked_nodes=1, gpus_per_node=8, free_nodes=0, left=8, others=(other,)) == [
        "Your team could have 2 nodes of A100 today: they are free and within your quota."
    ]


def test_who_is_blocked_is_told_to_confirm_and_offered_a_way_around() -> None:
    said = tips(blocked=True, claimed_people=3, confirmed_people=1)
    assert said[0].startswith("The 2 people who are blocked can confirm it")
    assert "quick way around" in said[1]
    assert len(tips(blocked=True, claimed_people=3, confirmed_people=3, has_workaround=True)) == 0


def test_a_question_comes_first() -> None:
    assert tips(state="waiting", asked_nodes=5, gpus_per_node=8, free_nodes=4)[0].startswith("Answer")


def test_a_month_has_730_hours() -> None:
    found = cost(
        gpus=16, delivered=16, price=Decimal("2.50"), currency="EUR", since=AT - timedelta(hours=10), at=AT
    )
    assert found is not None
    assert (found.a_month, found.so_far, found.gpu_hours_a_month, found.gpu_hours_so_far) == (
        29200,
        400,
        11680,
        160,
    )
    free = cost(gpus=16, delivered=0, price=None, currency="", since=None, at=AT)
    assert free is not None
    assert (free.a_month, free.so_far, free.begun) == (None, None, False)
    assert cost(gpus=0, delivered=0, price=Decimal(1), currency="", since=None, at=AT) is None


@given(
    state=st.sampled_from([str(state) for state in TicketState]),
    n=st.integers(0, 300),
    p50=st.floats(0, 1e7),
    more=st.floats(0, 1e7),
    waited=st.integers(0, 10_000),
    asked=st.integers(0, 50),
    free=st.integers(0, 50),
    left=st.none() | st.integers(0, 500),
)
def test_no_range_ends_before_it_begins_or_lies_behind(
    state: str, n: int, p50: float, more: float, waited: int, asked: int, free: int, left: int | None
) -> None:
    known = facts(
        state,
        history=History(n=n, p50=p50, p90=p50 + more),
        submitted_at=AT - timedelta(hours=waited),
        asked_nodes=asked,
        gpus_per_node=8,
        free_nodes=free,
        left=left,
    )
    found = when(known)
    if found is not None and found.early is not None:
        assert found.late is not None
        assert AT <= found.early <= found.late
    assert len(meanwhile(known)) <= 4


@pytest.mark.django_db
def test_page_says_when_what_meanwhile_and_what_it_costs(desk: Team, member: User, client: Client) -> None:
    some_nodes(2, sku=a_sku("a100-sxm4-80g"))
    a_quota(desk, 16, sku="a100-sxm4-80g")
    ticket = a_cluster_ask(desk, member, nodes=6)
    client.force_login(member)
    shown = client.get(f"/tickets/{ticket.ref}/").content.decode()
    assert "Usually: Within the hour" in shown
    assert "A smaller ask would fit right now: 4 nodes" in shown
    assert "A100-SXM4-80G today" in shown
    assert "GPU-hours a month for 48 GPUs" in shown


@pytest.mark.django_db
def test_history_is_of_the_same_offering(ticket: Ticket, blocked: Ticket) -> None:
    for each, seconds in ((ticket, 7200), (blocked, 60)):
        ClockSummary.objects.create(
            ticket=each,
            offering=each.offering_version.offering,
            delivered_at=now(),
            delivery_seconds=seconds,
        )
    assert history_of(ticket.offering_version.offering_id) == History(n=1, p50=7200.0, p90=7200.0)
    assert outlook_of(blocked).costs == ()


@pytest.mark.django_db
def test_clients_read_it_too_and_strangers_do_not(blocked: Ticket, member: User, stranger: User) -> None:
    client, path = APIClient(), f"/api/v1/tickets/{blocked.ref}/outlook"
    client.force_authenticate(stranger)
    assert client.get(path).status_code == 404
    client.force_authenticate(member)
    body = client.get(path).json()
    assert body["when"]["says"].startswith("Usually:")
    assert [each["name"] for each in body["clocks"]] == ["answer", "decision", "unblock"]
    assert body["clocks"][2]["elapsed_seconds"] >= 3 * 3600
    assert any("confirm" in tip for tip in body["meanwhile"])
