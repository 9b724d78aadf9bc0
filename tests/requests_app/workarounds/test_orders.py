"""Workarounds that provisioning carries out: borrowed nodes and settings on a cluster, taken back by orders of their own."""

from __future__ import annotations

import pytest

from portal.accounts.models import Team, User
from portal.kernel.errors import Conflict, Invalid, Refused
from portal.ledger.dispatch import deliver_all
from portal.ledger.models import Event
from provisioning import interface
from provisioning.contracts import OrderKind, OrderSpec
from provisioning.fleet.models import Node
from provisioning.jobs.models import Job
from provisioning.jobs.states import Ending
from requests_app.quotas import queries
from requests_app.quotas.services import room_for
from requests_app.tickets.models import Ticket
from requests_app.workarounds import services
from requests_app.workarounds.expiry import sweep
from requests_app.workarounds.models import Workaround
from requests_app.workarounds.renewing import renew_workaround
from tests.builders import H100, a_catalogue, a_quota
from tests.provisioning.builders import FakeJudge, end, fake_judge, some_nodes
from tests.requests_app.workarounds.builders import Calendar, a_workaround, far_ticket

__all__ = ["fake_judge"]
pytestmark = pytest.mark.django_db
SETTING = {"remedy": "nccl-env", "settings": {"NCCL_IB_HCA": "^mlx5_3"}}


@pytest.fixture
def floor(team: Team, fake_judge: FakeJudge) -> Team:
    """Twelve free nodes, and a quota of two of them."""
    a_catalogue()
    some_nodes(12)
    a_quota(team, 16)
    return team


@pytest.fixture
def ask(floor: Team, member: User) -> Ticket:
    return far_ticket(floor, member)


def go_on(bad: dict[str, Ending] | None = None) -> None:
    """Every job ends as a worker would end it, until none is left."""
    for _ in range(20):
        deliver_all()
        job = Job.objects.filter(status="queued").order_by("id").first()
        if job is None:
            return
        names = set(job.host_results.values_list("node__name", flat=True))
        end(job, {name: how for name, how in (bad or {}).items() if name in names})
    raise AssertionError("jobs without end")


def a_cluster(team: Team, nodes: int = 2) -> str:
    spec = OrderSpec(kind=OrderKind.BUILD, team=team.slug, sku=H100, nodes=nodes, cluster_name="train")
    order = interface.place_order(spec, requested_for="", by=None)
    go_on()
    return order.cluster_ref


def borrowed(ask: Ticket, by: User, **more: object) -> Workaround:
    params = {"sku": H100, "nodes": 2, **more}
    return a_workaround(ask, by, kind="nodes", params=params, summary="Two nodes more")


def a_setting(ask: Ticket, by: User, cluster: str, **more: object) -> Workaround:
    return a_workaround(ask, by, kind="playbook", params={**SETTING, "cluster": cluster}, **more)


def fresh(row: Workaround) -> Workaround:
    return Workaround.objects.for_pages().get(pk=row.pk)


def test_borrowed_nodes_come_as_a_cluster_with_a_lease_and_go_back_by_themselves(
    calendar: Calendar, ask: Ticket, floor: Team, triager: User
) -> None:
    row = borrowed(ask, triager)
    assert row.status == "applying"
    go_on()
    row = fresh(row)
    assert row.status == "active"
    cluster = interface.cluster_view(row.cluster_ref)
    assert (len(cluster.nodes), cluster.lease_end) == (2, row.expires_at)
    room = room_for(floor, H100)
    assert (room.limit, room.used, room.held) == (32, 16, 0)
    calendar.go_on(days=21)
    sweep()
    assert fresh(row).status == "reverting"
    go_on()
    assert (fresh(row).status, fresh(row).ended_why) == ("ended", "expired")
    room = room_for(floor, H100)
    assert (room.limit, room.used, room.held) == (16, 0, 0)
    assert Node.objects.filter(status="free").count() == 12
    assert queries.drifts() == []


def test_nodes_are_borrowed_for_a_cluster_and_it_keeps_its_own(
    calendar: Calendar, ask: Ticket, floor: Team, triager: User
) -> None:
    cluster = a_cluster(floor)
    row = borrowed(ask, triager, cluster=cluster)
    go_on()
    assert len(interface.cluster_view(cluster).nodes) == 4
    calendar.go_on(days=21)
    sweep()
    go_on()
    assert fresh(row).status == "ended"
    assert len(interface.cluster_view(cluster).nodes) == 2


def test_nodes_that_are_not_there_leave_no_workaround_and_no_lent_quota(
    ask: Ticket, floor: Team, triager: User
) -> None:
    with pytest.raises(Refused):
        borrowed(ask, triager, nodes=40)
    assert not Workaround.objects.exists()
    assert room_for(floor, H100).limit == 16


def test_order_that_came_to_nothing_fails_the_workaround_and_takes_the_quota_back(
    ask: Ticket, floor: Team, triager: User
) -> None:
    row = borrowed(ask, triager)
    deliver_all()
    interface.cancel_order(row.order_ref, reason="A storm.", by=None)
    go_on()
    row = fresh(row)
    assert row.status == "failed"
    assert "A storm." in row.trouble
    room = room_for(floor, H100)
    assert (room.limit, room.held) == (16, 0)
    assert Event.objects.filter(name="workaround.failed", subject=ask.ref).exists()


def test_team_that_releases_the_borrowed_cluster_ends_the_workaround(
    ask: Ticket, floor: Team, triager: User
) -> None:
    row = borrowed(ask, triager)
    go_on()
    cluster = interface.cluster_view(fresh(row).cluster_ref)
    spec = OrderSpec(kind=OrderKind.RELEASE, team=floor.slug, sku=H100, nodes=0, cluster_ref=cluster.ref)
    interface.place_order(spec, requested_for="", by=None)
    go_on()
    assert fresh(row).status == "ended"
    assert room_for(floor, H100).limit == 16


def test_renewal_moves_the_lease_too(
    calendar: Calendar, ask: Ticket, floor: Team, triager: User, admin_user: User
) -> None:
    row = borrowed(ask, triager)
    go_on()
    row = fresh(row)
    row = renew_workaround(workaround=row, version=row.version, days=30, key="a", by=admin_user)
    assert interface.cluster_view(row.cluster_ref).lease_end == row.expires_at


def test_setting_goes_onto_every_node_and_off_again(
    calendar: Calendar, ask: Ticket, floor: Team, triager: User
) -> None:
    row = a_setting(ask, triager, a_cluster(floor))
    assert row.status == "applying"
    deliver_all()
    job = Job.objects.get(status="queued")
    assert (job.playbook, job.host_results.count()) == ("apply_workaround", 2)
    go_on()
    assert fresh(row).status == "active"
    calendar.go_on(days=21)
    sweep()
    deliver_all()
    assert Job.objects.get(status="queued").playbook == "revert_workaround"
    go_on()
    assert fresh(row).status == "ended"


def test_revert_that_fails_on_a_node_is_stuck_with_the_node_s_words_until_it_is_tried_again(
    calendar: Calendar, ask: Ticket, floor: Team, triager: User
) -> None:
    row = a_setting(ask, triager, a_cluster(floor))
    go_on()
    calendar.go_on(days=21)
    sweep()
    deliver_all()
    job = Job.objects.get(status="queued")
    name = job.host_results.order_by("node__name")[0].node.name
    go_on({name: Ending.FAILED})
    row = fresh(row)
    assert row.status == "stuck"
    assert name in row.trouble
    assert row.is_open
    calendar.go_on(hours=3)
    sweep()
    assert fresh(row).status == "stuck", "a person has to look"
    services.try_again(workaround=row, version=row.version, by=triager)
    go_on()
    assert (fresh(row).status, fresh(row).ended_why) == ("ended", "expired")


def test_setting_that_failed_half_way_can_be_taken_off(ask: Ticket, floor: Team, triager: User) -> None:
    row = a_setting(ask, triager, a_cluster(floor))
    deliver_all()
    name = Job.objects.get(status="queued").host_results.order_by("node__name")[0].node.name
    go_on({name: Ending.FAILED})
    row = fresh(row)
    assert (row.status, name in row.trouble) == ("failed", True)
    services.try_again(workaround=row, version=row.version, by=triager)
    go_on()
    assert fresh(row).status == "ended"


def test_busy_cluster_puts_the_end_off_and_the_next_sweep_does_it(
    calendar: Calendar, ask: Ticket, floor: Team, triager: User
) -> None:
    cluster = a_cluster(floor)
    row = a_setting(ask, triager, cluster)
    go_on()
    grow = OrderSpec(kind=OrderKind.RESIZE, team=floor.slug, sku=H100, nodes=3, cluster_ref=cluster)
    interface.place_order(grow, requested_for="", by=None)
    calendar.go_on(days=21)
    sweep()
    row = fresh(row)
    assert row.status == "stuck"
    assert "is busy with" in row.trouble
    go_on()
    calendar.go_on(minutes=11)
    sweep()
    go_on()
    assert fresh(row).status == "ended"


def test_setting_ends_with_its_cluster(calendar: Calendar, ask: Ticket, floor: Team, triager: User) -> None:
    cluster = a_cluster(floor)
    row = a_setting(ask, triager, cluster)
    go_on()
    spec = OrderSpec(kind=OrderKind.RELEASE, team=floor.slug, sku=H100, nodes=0, cluster_ref=cluster)
    interface.place_order(spec, requested_for="", by=None)
    go_on()
    calendar.go_on(days=21)
    sweep()
    assert fresh(row).status == "ended"


def test_same_setting_twice_on_a_cluster_is_refused(ask: Ticket, floor: Team, triager: User) -> None:
    cluster = a_cluster(floor)
    a_setting(ask, triager, cluster)
    go_on()
    with pytest.raises(Conflict, match="already"):
        a_setting(ask, triager, cluster)
    assert Workaround.objects.count() == 1


def test_cluster_of_another_team_is_not_there(
    ask: Ticket, floor: Team, other_team: Team, triager: User
) -> None:
    with pytest.raises(Invalid) as refusal:
        a_setting(ask, triager, a_cluster(other_team))
    assert "cluster" in refusal.value.fields
