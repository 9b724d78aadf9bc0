"""The queue is watched: ranks that drifted are found and healed, days that turn count, and a crunch is said."""

from __future__ import annotations

from datetime import timedelta

import pytest

from portal.accounts.models import User
from portal.kernel.clock import now
from portal.ledger.models import Event
from requests_app.blocks.commitments import Owed, commit, confirm_commitment
from requests_app.blocks.models import ClaimRecord, Commitment
from requests_app.priority import watch
from requests_app.priority.bargains import suggestions
from requests_app.priority.models import CrunchWarning
from requests_app.priority.policies import make_policy
from requests_app.priority.services import rank_ticket
from requests_app.tickets.models import Ticket
from tests.builders import a_cluster_ask
from tests.requests_app.priority.conftest import block, fresh, many

pytestmark = pytest.mark.django_db


def test_true_ranks_alarm_nobody(ticket: Ticket) -> None:
    assert [watch.check_drift(part=part) for part in range(100)] == [[]] * 100
    assert not Event.objects.filter(name="rank.drifted").exists()


def test_drifted_rank_is_found_said_and_healed(ticket: Ticket) -> None:
    true = ticket.rank_key
    Ticket.objects.filter(pk=ticket.pk).update(rank_key=(true or 0) + 7)
    assert watch.check_drift(part=ticket.pk % 100) == [ticket.ref]
    assert fresh(ticket).rank_key == true
    assert Event.objects.get(name="rank.drifted").payload["tickets"] == [ticket.ref]


def test_re_rank_that_goes_on_is_no_drift(ticket: Ticket, admin_user: User) -> None:
    constants = {
        "half_life_hours": 48,
        "person_day": 530,
        "median_ratio": 60,
        "share_half_life_days": 14,
        "flood_hours": 6,
    }
    make_policy(seen=1, constants=constants, reason="A crunch.", by=admin_user)
    assert watch.check_drift(part=ticket.pk % 100) == []


def test_claims_count_anew_when_an_old_record_is_forgotten(ticket: Ticket, member: User) -> None:
    blocked = block(ticket, member)
    record = ClaimRecord.objects.create(
        team=ticket.team, block=blocked.blocks.get(), claimed_gpu_hours=10, measured_gpu_hours=0
    )
    rank_ticket(ticket=blocked, by=None)
    assert fresh(ticket).rank_facts["confidence"] == 0.25
    assert watch.turn_of_day() == 0
    ClaimRecord.objects.filter(pk=record.pk).update(at=now() - timedelta(days=180, hours=1))
    assert watch.turn_of_day() == 1
    assert fresh(ticket).rank_facts["confidence"] == 0.5


def test_each_night_looks_at_another_hundredth(ticket: Ticket) -> None:
    Ticket.objects.filter(pk=ticket.pk).update(rank_key=1)
    assert watch.check_drift(part=(ticket.pk + 1) % 100) == []


def test_ticket_is_ranked_on_the_day_its_commitment_begins_to_count(
    ticket: Ticket, member: User, stranger: User
) -> None:
    due = now().date() + timedelta(days=10)
    owed = Owed(what="Launch", due_on=due, loss_per_day=5000, sponsor=stranger.username, lead_days=5)
    confirm_commitment(commitment=commit(ticket=ticket, owed=owed, by=member), by=stranger)
    assert watch.turn_of_day() == 0
    Commitment.objects.update(due_on=now().date() + timedelta(days=5))
    assert watch.turn_of_day() == 1
    assert fresh(ticket).rank_facts["dated_loss"] == 5000
    Commitment.objects.update(due_on=now().date() - timedelta(days=1))
    watch.turn_of_day()
    assert fresh(ticket).rank_facts["dated_loss"] == 0


def test_crunch_begins_goes_on_and_ends(ticket: Ticket) -> None:
    assert watch.watch_crunch() == []
    rows = many(ticket, 8)
    assert len(watch.watch_crunch()) == 1
    assert len(watch.watch_crunch()) == 1
    assert CrunchWarning.objects.filter(ended_at=None).count() == 1
    Ticket.objects.filter(pk__in=[ticket.pk, *(row.pk for row in rows)]).update(
        status="declined", decided_at=now()
    )
    assert watch.watch_crunch() == []
    assert not CrunchWarning.objects.filter(ended_at=None).exists()
    names = list(Event.objects.filter(subject="queue").order_by("id").values_list("name", flat=True))
    assert names == ["queue.crunch_began", "queue.crunch_ended"]


def test_waiting_for_the_team_is_not_waiting_for_us(ticket: Ticket) -> None:
    Ticket.objects.filter(pk=ticket.pk).update(
        submitted_at=now() - timedelta(days=10), paused_seconds=9.9 * 86_400
    )
    assert watch.flow().wait_p95_hours == pytest.approx(2.4, abs=0.1)


def test_part_that_would_fit_now_is_suggested(ticket: Ticket, member: User) -> None:
    large = a_cluster_ask(ticket.team, member, nodes=16, cluster_name="large")
    Ticket.objects.filter(pk=large.pk).update(rank_key=1)
    (ask,) = suggestions()
    assert (ask.ticket, ask.asked) == (large.ref, 16)
    assert 0 < ask.room <= 4


def test_usual_ratio_needs_enough_tickets(ticket: Ticket) -> None:
    assert watch.usual_ratio() is None
    many(ticket, 25)
    assert watch.usual_ratio() == pytest.approx(1 / float(ticket.offering_version.effort_hours))
