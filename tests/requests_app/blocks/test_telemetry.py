"""What machines measure counts in full, once per key, and may end a block; who is blocked measures nothing."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from portal.accounts.models import User
from portal.kernel.clock import now
from portal.kernel.errors import Invalid, NotAllowed, Refused
from portal.ledger.models import Event
from requests_app.blocks.models import IdleReading
from requests_app.blocks.queries import lost_gpu_hours, readings_of
from requests_app.blocks.telemetry import Reading, report_idle
from requests_app.tickets.models import Ticket

pytestmark = pytest.mark.django_db


def reading(key: str = "m-1", **more: Any) -> Reading:
    return Reading(**{"key": key, "at": now() - timedelta(hours=4), "idle_gpus": 16, **more})


def test_measurement_counts_from_its_moment_on(blocked: Ticket, operator: User) -> None:
    report_idle(ticket=blocked, reading=reading(), by=operator)
    block = blocked.blocks.get()
    assert lost_gpu_hours(block, now()) == pytest.approx(64 * 6 + 16 * 4, rel=0.01)


def test_the_same_key_is_kept_once(blocked: Ticket, operator: User) -> None:
    said = reading()
    first = report_idle(ticket=blocked, reading=said, by=operator)
    assert report_idle(ticket=blocked, reading=said, by=operator).pk == first.pk
    with pytest.raises(Refused) as refused:
        report_idle(ticket=blocked, reading=reading(idle_gpus=99), by=operator)
    assert refused.value.code == "idempotency-key-reused"
    assert IdleReading.objects.count() == 1


def test_team_and_desk_measure_nothing(blocked: Ticket, lead: User, triager: User) -> None:
    for person in (lead, triager):
        with pytest.raises(NotAllowed):
            report_idle(ticket=blocked, reading=reading(), by=person)


def test_busy_gpus_end_the_block_at_the_moment_they_were_busy_again(blocked: Ticket, operator: User) -> None:
    since = now() - timedelta(hours=3)
    report_idle(ticket=blocked, reading=reading(at=now(), idle_gpus=0, busy_since=since), by=operator)
    blocked.refresh_from_db()
    block = blocked.blocks.get()
    assert (block.ended_at, block.end_source, blocked.is_blocking) == (since, "measured", False)
    assert Event.objects.get(name="ticket.relieved").payload["source"] == "measured"


def test_gpus_busy_before_the_block_began_end_nothing(blocked: Ticket, operator: User) -> None:
    early = now() - timedelta(hours=12)
    report_idle(ticket=blocked, reading=reading(at=now(), idle_gpus=0, busy_since=early), by=operator)
    assert blocked.blocks.get().ended_at is None


@pytest.mark.parametrize(
    ("more", "name"),
    [
        ({"key": ""}, "key"),
        ({"key": "k" * 81}, "key"),
        ({"at": now() + timedelta(hours=1)}, "at"),
        ({"busy_since": now()}, "idle_gpus"),
        ({"idle_gpus": 0, "busy_since": now() + timedelta(hours=1)}, "busy_since"),
    ],
)
def test_what_can_not_be_is_said_beside_its_field(
    blocked: Ticket, operator: User, more: dict[str, Any], name: str
) -> None:
    with pytest.raises(Invalid) as refused:
        report_idle(ticket=blocked, reading=reading(**more), by=operator)
    assert name in refused.value.fields


def test_a_thousand_readings_that_say_the_same_are_one_level_and_one_event(
    blocked: Ticket, operator: User
) -> None:
    for minute in range(5):
        said = reading(f"m-{minute}", at=now() - timedelta(minutes=60 - minute))
        report_idle(ticket=blocked, reading=said, by=operator)
    report_idle(ticket=blocked, reading=reading("last", at=now(), idle_gpus=8), by=operator)
    assert [level.amount for level in readings_of([blocked.pk])[blocked.pk]] == [16, 8]
    assert Event.objects.filter(name="block.measured").count() == 2
