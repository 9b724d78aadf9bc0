"""A rank follows the facts: what is claimed, confirmed, measured, relieved, granted lately, and how long it takes."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from portal.accounts.models import Team, User
from portal.kernel.clock import now
from portal.ledger.dispatch import deliver_all
from portal.ledger.models import Event
from requests_app.blocks import services as blocks
from requests_app.blocks.models import ClaimRecord
from requests_app.blocks.queries import claim_ratio
from requests_app.blocks.telemetry import Reading, report_idle
from requests_app.priority.facts import facts_of_many
from requests_app.priority.models import FairShare
from requests_app.priority.queries import stored_facts
from requests_app.priority.services import facts_of, rank_ticket
from requests_app.tickets.models import Ticket
from requests_app.tickets.services import close_ticket, confirm_relief, withdraw_ticket
from tests.builders import H100, a_cluster_ask
from tests.requests_app.priority.conftest import block, fresh, many

pytestmark = pytest.mark.django_db

DAY = 86_400


def moved(before: Ticket, after: Ticket) -> int:
    """Seconds forward."""
    assert before.rank_key is not None
    assert after.rank_key is not None
    return before.rank_key - after.rank_key


def test_stored_bars_add_up_to_the_stored_key(ticket: Ticket, member: User) -> None:
    ticket = block(ticket, member, people=3)
    bars, facts = ticket.rank_explanation["bars"], ticket.rank_facts
    head_start = sum(bar["seconds"] for bar in bars)
    assert head_start == ticket.rank_explanation["head_start"]
    assert ticket.rank_key == facts["ready_at"] + facts["paused"] - head_start


def test_desks_word_and_then_a_measurement_move_a_ticket_forward(
    ticket: Ticket, member: User, triager: User, operator: User
) -> None:
    claimed = block(ticket, member)
    blocks.find_blocked(ticket=claimed, by=triager)
    deliver_all()
    confirmed = fresh(ticket)
    reading = Reading(key="m-1", at=now(), idle_gpus=64)
    report_idle(ticket=confirmed, reading=reading, by=operator)
    deliver_all()
    measured = fresh(ticket)
    assert moved(claimed, confirmed) > 0
    assert moved(claimed, measured) == DAY


def test_relief_moves_it_back(ticket: Ticket, member: User) -> None:
    blocked = block(ticket, member)
    confirm_relief(ticket=blocked, by=member)
    deliver_all()
    assert moved(blocked, fresh(ticket)) < 0
    assert moved(ticket, fresh(ticket)) == 0


def test_claiming_the_same_gpus_on_a_second_ticket_gains_nothing(
    ticket: Ticket, desk: Team, member: User
) -> None:
    first = block(ticket, member)
    second = block(a_cluster_ask(desk, member, cluster_name="again"), member)
    assert facts_of(first).idle_gpu_hours + facts_of(second).idle_gpu_hours == 64 * 24
    assert moved(first, fresh(first)) == -DAY
    confirm_relief(ticket=second, by=member)
    deliver_all()
    assert moved(first, fresh(first)) == 0


def test_person_named_on_two_tickets_is_split_between_them(ticket: Ticket, desk: Team, member: User) -> None:
    first = block(ticket, member, idle_gpus=0, people=1, who=[member.username])
    second = block(
        a_cluster_ask(desk, member, cluster_name="again"), member, idle_gpus=0, who=[member.username]
    )
    assert (facts_of(first).people, facts_of(second).people) == (0.5, 0.5)
    assert stored_facts(fresh(first)) == facts_of(first)


def test_own_click_moves_the_ticket_forward(ticket: Ticket, member: User) -> None:
    before = block(ticket, member, idle_gpus=0, people=1, who=[member.username])
    blocks.confirm_person(ticket=before, by=member)
    deliver_all()
    assert moved(before, fresh(ticket)) == pytest.approx(0.678 * DAY, rel=0.01)  # log2(0.8 / 0.5)


def test_team_whose_claims_did_not_hold_counts_less_until_somebody_looks(
    ticket: Ticket, desk: Team, member: User
) -> None:
    old = block(a_cluster_ask(desk, member, cluster_name="old"), member)
    assert claim_ratio(desk) == 1
    ClaimRecord.objects.create(
        team=desk, block=old.blocks.get(), claimed_gpu_hours=1000, measured_gpu_hours=600
    )
    confirm_relief(ticket=old, by=member)
    assert claim_ratio(desk) == pytest.approx(0.6)
    assert facts_of(block(ticket, member)).confidence == pytest.approx(0.3)


def test_measured_block_that_is_over_lowers_what_the_team_claims_elsewhere(
    ticket: Ticket, desk: Team, member: User, operator: User
) -> None:
    old = block(a_cluster_ask(desk, member, cluster_name="old"), member, resource=H100)
    other = block(ticket, member)
    report_idle(
        ticket=old, reading=Reading(key="m", at=old.blocks.get().started_at, idle_gpus=0), by=operator
    )
    confirm_relief(ticket=old, by=member)
    deliver_all()
    assert claim_ratio(desk) == 0.5
    assert moved(other, fresh(ticket)) == -DAY


def test_records_older_than_half_a_year_are_forgotten(ticket: Ticket, desk: Team, member: User) -> None:
    block(ticket, member)
    ClaimRecord.objects.create(
        team=desk,
        block=ticket.blocks.get(),
        claimed_gpu_hours=10,
        measured_gpu_hours=0,
        at=now() - timedelta(days=200),
    )
    assert claim_ratio(desk) == 1


def test_share_of_the_kind_it_asks_for_counts_and_no_other(ticket: Ticket, desk: Team) -> None:
    FairShare.objects.create(team=desk, resource="a10", used=1, entitled=0.5, fairness=0.25)
    assert facts_of(ticket).fairness == 1
    FairShare.objects.create(team=desk, resource=H100, used=0.75, entitled=0.5, fairness=0.5)
    assert facts_of(ticket).fairness == 0.5


def test_editing_and_closing_and_reopening_never_change_when_it_became_ready(
    ticket: Ticket, member: User
) -> None:
    Ticket.objects.filter(pk=ticket.pk).update(title="Another title", status="ready")
    ready = fresh(ticket)
    close_ticket(ticket=ready, version=ready.version, by=member)
    Ticket.objects.filter(pk=ticket.pk).update(status="returned")
    rank_ticket(ticket=fresh(ticket), by=None)
    assert fresh(ticket).rank_key == ticket.rank_key


def test_closed_or_withdrawn_ticket_is_not_ranked(ticket: Ticket, member: User) -> None:
    withdraw_ticket(ticket=ticket, version=ticket.version, by=member)
    assert rank_ticket(ticket=ticket, by=None) is None
    assert fresh(ticket).rank_key is None


def test_ranking_twice_says_it_once(ticket: Ticket) -> None:
    said = Event.objects.filter(name="ticket.ranked", subject=ticket.ref).count()
    rank_ticket(ticket=ticket, by=None)
    assert Event.objects.filter(name="ticket.ranked", subject=ticket.ref).count() == said == 1


def test_facts_of_sixty_tickets_cost_as_many_queries_as_of_ten(ticket: Ticket) -> None:
    def cost(count: int) -> int:
        rows = many(ticket, count)
        ids = [row.pk for row in rows]
        loaded = list(Ticket.objects.filter(pk__in=ids).select_related("offering_version"))
        with CaptureQueriesContext(connection) as seen:
            facts_of_many(loaded, now())
        return len(seen)

    assert cost(10) == cost(60) <= 12
