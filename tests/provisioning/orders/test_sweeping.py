"""Is a lost event made good, once, and is a lease's end told in time?"""

from __future__ import annotations

from datetime import timedelta

import pytest

from portal.accounts.models import Team
from portal.kernel.clock import now
from portal.ledger.dispatch import deliver_all, install
from portal.ledger.models import Event
from provisioning.fleet.models import Cluster
from provisioning.jobs.models import Job
from provisioning.orders import advancing, reactions
from provisioning.orders.models import Order
from provisioning.orders.services import place_order
from provisioning.orders.sweeping import sweep, warn_of_lease_ends
from tests.provisioning.builders import FakeJudge, a_build, a_sku, end, open_job, some_nodes

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _no_reactions() -> None:
    """Events are lost: nothing is delivered unless a test does it."""
    install({})


def a_placed_order(team: Team) -> Order:
    some_nodes(2)
    return place_order(spec=a_build(team.slug, 2), requested_for="T-1/1", by=None)


def test_an_order_whose_events_are_all_lost_is_led_to_its_end_by_the_sweep(
    team: Team, fake_judge: FakeJudge
) -> None:
    order = a_placed_order(team)
    for _ in range(4):
        assert sweep() == 1
        assert sweep() == 0
        end(open_job(order))
    assert sweep() == 1
    order.refresh_from_db()
    assert order.status == "ready"
    assert sweep() == 0


def test_an_order_that_can_not_go_on_does_not_keep_the_others_from_it(
    team: Team, fake_judge: FakeJudge, monkeypatch: pytest.MonkeyPatch
) -> None:
    some_nodes(4)
    first, second = (place_order(spec=a_build(team.slug, 2), requested_for="", by=None) for _ in range(2))
    go_on = advancing.building.go_on

    def fail_for_first(order: Order) -> None:
        if order.pk == first.pk:
            raise RuntimeError("broken")
        go_on(order)

    monkeypatch.setattr(advancing.building, "go_on", fail_for_first)
    assert sweep() == 1
    first.refresh_from_db()
    second.refresh_from_db()
    assert (first.status, second.status) == ("reserved", "building")


def test_reactions_run_twice_do_the_work_once(team: Team, fake_judge: FakeJudge) -> None:
    order = a_placed_order(team)
    placed = Event.objects.get(name="order.placed")
    reactions.start_order(placed)
    reactions.start_order(placed)
    assert Job.objects.count() == 1
    end(open_job(order))
    finished = Event.objects.get(name="job.finished")
    reactions.advance_after_job(finished)
    reactions.advance_after_job(finished)
    assert Job.objects.count() == 2
    order.refresh_from_db()
    assert order.status == "joining"


def test_the_wiring_leads_an_order_on(team: Team, fake_judge: FakeJudge) -> None:
    install(
        {
            "order.placed": ("provisioning.orders.reactions.start_order",),
            "job.finished": ("provisioning.orders.reactions.advance_after_job",),
        }
    )
    order = a_placed_order(team)
    for _ in range(4):
        deliver_all()
        end(open_job(order))
    deliver_all()
    order.refresh_from_db()
    assert order.status == "ready"


def test_a_job_without_an_order_concerns_no_order() -> None:
    reactions.advance_after_job(Event(name="job.finished", payload={"job": "J-1", "order": ""}))


def a_leased_cluster(team: Team, left: timedelta) -> Cluster:
    return Cluster.objects.create(team=team, name="x", sku=a_sku(), status="ready", lease_end=now() + left)


@pytest.mark.parametrize(
    ("left", "days"),
    [(timedelta(days=6), 7), (timedelta(hours=20), 1), (timedelta(hours=-1), 0)],
)
def test_a_lease_is_warned_of_once_per_step(team: Team, left: timedelta, days: int) -> None:
    cluster = a_leased_cluster(team, left)
    assert warn_of_lease_ends() == 1
    assert warn_of_lease_ends() == 0
    told = Event.objects.get(name="cluster.lease_ending")
    assert (told.subject, told.payload["days"], told.payload["team"]) == (cluster.ref, days, team.slug)


def test_a_lease_that_comes_nearer_is_warned_of_again(team: Team) -> None:
    cluster = a_leased_cluster(team, timedelta(days=6))
    warn_of_lease_ends()
    Cluster.objects.filter(pk=cluster.pk).update(lease_end=now() + timedelta(hours=3))
    assert warn_of_lease_ends() == 1
    assert list(Event.objects.order_by("pk").values_list("payload__days", flat=True)) == [7, 1]


def test_far_or_open_leases_are_not_warned_of_and_nothing_is_wiped(team: Team) -> None:
    a_leased_cluster(team, timedelta(days=30))
    Cluster.objects.create(team=team, name="y", sku=a_sku(), status="ready", lease_end=None)
    assert warn_of_lease_ends() == 0
    assert not Order.objects.exists()
