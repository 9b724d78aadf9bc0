"""Do nodes find their way home: released, cancelled, shrunk, rechecked, whatever goes wrong meanwhile?"""

from __future__ import annotations

import pytest

from portal.accounts.models import Team
from portal.kernel.errors import Conflict, IllegalMove, Refused
from portal.ledger.models import Event
from provisioning.contracts import Account, OrderKind, OrderSpec
from provisioning.fleet.models import Cluster, Node, Reservation
from provisioning.fleet.services import close_hold, quarantine_node
from provisioning.jobs.models import Job
from provisioning.jobs.states import Ending
from provisioning.orders.advancing import advance
from provisioning.orders.models import Order
from provisioning.orders.services import cancel_order, place_order, recheck_node, release_cluster
from tests.provisioning.builders import FakeJudge, a_build, names, open_job, some_nodes, step

pytestmark = pytest.mark.django_db


def finish(order: Order) -> str:
    advance(order_id=order.pk)
    order.refresh_from_db()
    for _ in range(20):
        if order.is_final:
            break
        step(order)
    return order.status


def a_cluster(team: Team, nodes: int) -> Cluster:
    order = place_order(spec=a_build(team.slug, nodes), requested_for="T-1/1", by=None)
    assert finish(order) == "ready"
    return Cluster.objects.get(pk=order.cluster_id)


def resized(cluster: Cluster, nodes: int) -> Order:
    spec = OrderSpec(
        kind=OrderKind.RESIZE,
        team=cluster.team.slug,
        sku=cluster.sku.slug,
        nodes=nodes,
        cluster_ref=cluster.ref,
    )
    return place_order(spec=spec, requested_for="T-2/1", by=None)


def test_a_release_drains_wipes_and_validates_and_the_nodes_are_free_again(
    team: Team, fake_judge: FakeJudge
) -> None:
    some_nodes(3)
    cluster = a_cluster(team, 3)
    order = release_cluster(cluster=cluster, reason="done", by=None)
    assert Node.objects.filter(status="draining").count() == 3
    advance(order_id=order.pk)
    assert [step(order) for _ in range(3)] == ["wiping", "revalidating", "released"]
    assert Node.objects.filter(status="free", needs_wipe=False).count() == 3
    assert not Reservation.objects.filter(released_at=None).exists()
    cluster.refresh_from_db()
    assert cluster.status == "released"
    told = Event.objects.get(name="order.released").payload
    assert (told["built_for"], told["gpus"], told["nodes"], told["cluster"]) == ("T-1/1", 24, 3, cluster.ref)


def test_the_wipe_is_told_what_the_build_put_on_the_nodes(team: Team, fake_judge: FakeJudge) -> None:
    some_nodes(1)
    order = release_cluster(cluster=a_cluster(team, 1), reason="", by=None)
    advance(order_id=order.pk)
    step(order)
    job = open_job(order)
    assert (job.playbook, [account["name"] for account in job.variables["team_accounts"]]) == (
        "wipe_node",
        ["ada"],
    )


def test_a_node_that_could_not_be_wiped_goes_to_quarantine_and_never_to_somebody_else(
    team: Team, fake_judge: FakeJudge
) -> None:
    some_nodes(2)
    order = release_cluster(cluster=a_cluster(team, 2), reason="", by=None)
    advance(order_id=order.pk)
    step(order)
    assert step(order, {"gpu-001": Ending.UNREACHABLE}) == "revalidating"
    assert finish(order) == "released"
    dirty = Node.objects.get(name="gpu-001")
    assert (dirty.status, dirty.needs_wipe) == ("quarantined", True)
    assert Event.objects.get(name="order.released").payload["quarantined"] == 1


def test_a_release_ends_even_when_no_node_can_be_reached(team: Team, fake_judge: FakeJudge) -> None:
    some_nodes(2)
    order = release_cluster(cluster=a_cluster(team, 2), reason="", by=None)
    advance(order_id=order.pk)
    assert step(order, {"gpu-001": Ending.UNREACHABLE, "gpu-002": Ending.UNREACHABLE}) == "released"
    assert Node.objects.filter(status="quarantined").count() == 2


def test_a_node_found_unfit_on_its_way_back_stays_out_of_the_pool(team: Team, fake_judge: FakeJudge) -> None:
    some_nodes(2)
    cluster = a_cluster(team, 2)
    fake_judge.unfit = {"gpu-002": "ECC errors"}
    finish(release_cluster(cluster=cluster, reason="", by=None))
    assert {node.name: node.status for node in Node.objects.all()} == {
        "gpu-001": "free",
        "gpu-002": "quarantined",
    }


def test_a_node_put_on_hold_while_in_use_goes_to_quarantine_when_given_back(
    team: Team, fake_judge: FakeJudge
) -> None:
    some_nodes(2)
    cluster = a_cluster(team, 2)
    node = Node.objects.get(name="gpu-001")
    quarantine_node(node=node, reason_code="by-hand", reason="fan is loud", owner="operator", by=None)
    assert Node.objects.get(name="gpu-001").status == "in_use"
    finish(release_cluster(cluster=cluster, reason="", by=None))
    assert Node.objects.get(name="gpu-001").status == "quarantined"


def test_a_hold_in_the_middle_of_a_release_sends_the_node_to_quarantine_at_its_end(
    team: Team, fake_judge: FakeJudge
) -> None:
    some_nodes(2)
    order = release_cluster(cluster=a_cluster(team, 2), reason="", by=None)
    advance(order_id=order.pk)
    node = Node.objects.get(name="gpu-001")
    quarantine_node(node=node, reason_code="by-hand", reason="fan is loud", owner="operator", by=None)
    assert finish(order) == "released"
    assert {one.name: one.status for one in Node.objects.all()} == {
        "gpu-001": "quarantined",
        "gpu-002": "free",
    }


def test_a_cancelled_order_gives_untouched_nodes_back_at_once(team: Team, fake_judge: FakeJudge) -> None:
    some_nodes(2)
    order = place_order(spec=a_build(team.slug, 2), requested_for="T-1/1", by=None)
    cancel_order(order=order, reason="not needed", by=None)
    assert Node.objects.filter(status="free").count() == 2
    assert Order.objects.count() == 1
    assert Cluster.objects.get().status == "failed"
    assert Event.objects.get(name="order.cancelled").payload["for"] == "T-1/1"


def test_a_cancelled_order_stops_its_job_and_wipes_what_it_touched(team: Team, fake_judge: FakeJudge) -> None:
    some_nodes(2)
    order = place_order(spec=a_build(team.slug, 2), requested_for="T-1/1", by=None)
    advance(order_id=order.pk)
    cancel_order(order=order, reason="", by=None)
    assert Job.objects.get().status == "cancelled"
    cleanup = Order.objects.get(kind="release")
    assert finish(cleanup) == "released"
    assert [run.step for run in cleanup.runs.all()] == ["wiping", "revalidating"]
    assert Node.objects.filter(status="free", needs_wipe=False).count() == 2
    cluster = Cluster.objects.get()
    assert cluster.status == "failed"


def test_nobody_cancels_a_finished_order(team: Team, fake_judge: FakeJudge) -> None:
    some_nodes(1)
    a_cluster(team, 1)
    with pytest.raises(IllegalMove):
        cancel_order(order=Order.objects.get(), reason="", by=None)


def test_a_cluster_grows_by_new_nodes_near_the_old_ones(team: Team, fake_judge: FakeJudge) -> None:
    some_nodes(8)
    cluster = a_cluster(team, 2)
    order = resized(cluster, 4)
    advance(order_id=order.pk)
    assert [host.node.name for host in open_job(order).host_results.all()] == ["gpu-003", "gpu-004"]
    assert [step(order) for _ in range(4)] == ["joining", "validating", "measuring", "ready"]
    assert names(Node.objects.filter(status="in_use")) == ["gpu-001", "gpu-002", "gpu-003", "gpu-004"]
    told = Event.objects.filter(name="order.ready").latest("pk").payload
    assert (told["nodes_before"], told["nodes"], told["gpus"]) == (2, 4, 32)


def test_who_joined_since_gets_an_account_on_the_new_nodes_and_is_wiped_later(
    team: Team, fake_judge: FakeJudge
) -> None:
    some_nodes(2)
    cluster = a_cluster(team, 1)
    spec = OrderSpec(
        kind=OrderKind.RESIZE,
        team=team.slug,
        sku=cluster.sku.slug,
        nodes=2,
        cluster_ref=cluster.ref,
        accounts=(Account(name="grace"),),
    )
    order = place_order(spec=spec, requested_for="", by=None)
    advance(order_id=order.pk)
    assert [one["name"] for one in open_job(order).variables["team_accounts"]] == ["ada", "grace"]
    finish(order)
    release = release_cluster(cluster=Cluster.objects.get(), reason="", by=None)
    advance(order_id=release.pk)
    step(release)
    assert [one["name"] for one in open_job(release).variables["team_accounts"]] == ["ada", "grace"]


def test_growing_in_vain_leaves_the_cluster_as_it_was(team: Team, fake_judge: FakeJudge) -> None:
    some_nodes(3)
    cluster = a_cluster(team, 2)
    fake_judge.unfit = {"gpu-003": "7 of 8 GPUs"}
    assert finish(resized(cluster, 3)) == "failed"
    cluster.refresh_from_db()
    assert cluster.status == "ready"
    assert names(Node.objects.filter(status="in_use")) == ["gpu-001", "gpu-002"]


def test_growth_that_fails_later_takes_its_nodes_out_of_the_cluster_again(
    team: Team, fake_judge: FakeJudge
) -> None:
    some_nodes(4)
    cluster = a_cluster(team, 2)
    fake_judge.unfit = {"gpu-003": "7 of 8 GPUs"}
    assert finish(resized(cluster, 4)) == "failed"
    cleanup = Order.objects.latest("pk")
    assert (cleanup.kind, cleanup.spec["shrinks"], cleanup.requested_for) == ("resize", True, "")
    assert finish(cleanup) == "ready"
    assert Node.objects.get(name="gpu-004").status == "free"
    assert names(Node.objects.filter(status="in_use")) == ["gpu-001", "gpu-002"]


def test_a_cluster_gives_its_slowest_nodes_back_and_the_others_forget_them(
    team: Team, fake_judge: FakeJudge
) -> None:
    some_nodes(4)
    fake_judge.speeds = {"gpu-002": 0.98}
    cluster = a_cluster(team, 4)
    order = resized(cluster, 3)
    assert names(Node.objects.filter(status="draining")) == ["gpu-002"]
    assert finish(order) == "ready"
    join = Job.objects.filter(playbook="join_cluster").latest("pk")
    assert [host["name"] for host in join.variables["cluster_hosts"]] == ["gpu-001", "gpu-003", "gpu-004"]
    assert Node.objects.get(name="gpu-002").status == "free"
    assert Event.objects.filter(name="order.ready").latest("pk").payload["nodes"] == 3


def test_one_cluster_has_one_order_at_a_time(team: Team, fake_judge: FakeJudge) -> None:
    some_nodes(4)
    cluster = a_cluster(team, 2)
    resized(cluster, 3)
    with pytest.raises(Conflict, match="busy with O-"):
        resized(cluster, 4)
    with pytest.raises(Conflict, match="busy with O-"):
        release_cluster(cluster=cluster, reason="", by=None)


def test_nobody_resizes_to_the_same_size_or_releases_twice(team: Team, fake_judge: FakeJudge) -> None:
    some_nodes(2)
    cluster = a_cluster(team, 2)
    with pytest.raises(Refused, match="has 2 nodes already"):
        resized(cluster, 2)
    finish(release_cluster(cluster=cluster, reason="", by=None))
    with pytest.raises(Conflict, match="only a ready cluster"):
        release_cluster(cluster=cluster, reason="", by=None)


def held(node: Node) -> Node:
    quarantine_node(node=node, reason_code="unfit", reason="7 of 8 GPUs", by=None)
    return Node.objects.get(pk=node.pk)


def test_a_recheck_brings_a_repaired_node_back_and_closes_the_portals_own_holds(
    fake_judge: FakeJudge,
) -> None:
    node = held(some_nodes(1)[0])
    assert finish(recheck_node(node=node, by=None)) == "released"
    node.refresh_from_db()
    assert (node.status, node.holds.filter(closed_at=None).count()) == ("free", 0)


def test_a_recheck_does_not_close_a_hold_of_a_person(fake_judge: FakeJudge) -> None:
    node = held(some_nodes(1)[0])
    quarantine_node(node=node, reason_code="by-hand", reason="loud", owner="operator", by=None)
    finish(recheck_node(node=Node.objects.get(pk=node.pk), by=None))
    node.refresh_from_db()
    assert (node.status, node.holds.filter(closed_at=None).get().owner) == ("quarantined", "operator")
    close_hold(hold=node.holds.get(closed_at=None), note="new fan", by=None)
    assert finish(recheck_node(node=Node.objects.get(pk=node.pk), by=None)) == "released"
    node.refresh_from_db()
    assert node.status == "free"


def test_a_recheck_of_a_node_that_is_still_bad_leaves_it_out(fake_judge: FakeJudge) -> None:
    node = held(some_nodes(1)[0])
    fake_judge.unfit = {"gpu-001": "7 of 8 GPUs"}
    finish(recheck_node(node=node, by=None))
    node.refresh_from_db()
    assert (node.status, node.holds.filter(closed_at=None).count()) == ("quarantined", 1)


def test_a_node_that_was_swapped_out_is_wiped_of_its_team_by_the_recheck(
    team: Team, fake_judge: FakeJudge
) -> None:
    some_nodes(3)
    fake_judge.unfit = {"gpu-001": "7 of 8 GPUs"}
    a_cluster(team, 2)
    fake_judge.unfit = {}
    order = recheck_node(node=Node.objects.get(name="gpu-001"), by=None)
    advance(order_id=order.pk)
    assert [account["name"] for account in open_job(order).variables["team_accounts"]] == ["ada"]
    assert finish(order) == "released"
    assert Node.objects.get(name="gpu-001").status == "free"


def test_only_a_node_in_quarantine_is_rechecked(fake_judge: FakeJudge) -> None:
    with pytest.raises(Refused, match="only a node in quarantine"):
        recheck_node(node=some_nodes(1)[0], by=None)
