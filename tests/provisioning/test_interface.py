"""Does the door tell other houses what they need, in frozen contracts, at a constant cost?"""

from __future__ import annotations

import dataclasses
from datetime import timedelta

import pytest
from pytest_django import DjangoAssertNumQueries

from portal.accounts.models import Team, User
from portal.kernel.clock import now
from portal.kernel.errors import IllegalMove, NotFound, Refused
from provisioning import interface
from provisioning.contracts import OrderKind, OrderSpec, StepState, VerdictValue
from provisioning.jobs.states import Ending
from provisioning.orders.advancing import advance
from provisioning.orders.models import Order
from tests.personas import a_team
from tests.provisioning.builders import FakeJudge, a_build, a_sku, fake_judge, open_job, some_nodes, step

__all__ = ["fake_judge"]
pytestmark = pytest.mark.django_db


def built(team: Team, nodes: int) -> Order:
    view = interface.place_order(a_build(team.slug, nodes), requested_for="T-1/1", by=None)
    order = Order.objects.get(pk=int(view.ref[2:]))
    advance(order_id=order.pk)
    while not order.is_final:
        step(order)
    return order


def test_a_placed_order_says_where_it_is(team: Team, fake_judge: FakeJudge) -> None:
    some_nodes(3)
    view = interface.place_order(a_build(team.slug, 2), requested_for="T-1/1", by=None)
    assert (view.status, view.progress, view.is_final, view.requested_for) == (
        "reserved",
        0.0,
        False,
        "T-1/1",
    )
    assert view.now == "2 nodes reserved; work begins in a moment."
    assert [one.name for one in view.node_views] == ["gpu-001", "gpu-002"]
    assert [one.state for one in view.steps] == [StepState.WAITING] * 5


def test_progress_counts_the_nodes_a_running_job_has_done(team: Team, fake_judge: FakeJudge) -> None:
    some_nodes(2)
    view = interface.place_order(a_build(team.slug, 2), requested_for="", by=None)
    order = Order.objects.get()
    advance(order_id=order.pk)
    queued = interface.order_view(view.ref)
    assert queued.now.startswith("Next: provision the nodes; waiting for a free worker")
    job = open_job(order)
    job.host_results.filter(node__name="gpu-001").update(ending=Ending.OK)
    type(job).objects.filter(pk=job.pk).update(
        status="running", attempt=1, lease_until=now(), mark="m", started_at=now()
    )
    running = interface.order_view(view.ref)
    assert running.now.endswith("1 of 2 nodes done.")
    assert running.progress == pytest.approx(0.2)
    assert (running.steps[0].done, running.steps[0].total, running.steps[0].job_ref) == (1, 2, job.ref)


def test_a_finished_order_tells_its_swaps_and_skips_what_was_not_needed(
    team: Team, fake_judge: FakeJudge
) -> None:
    some_nodes(3)
    fake_judge.unfit = {"gpu-001": "7 of 8 GPUs"}
    order = built(team, 2)
    view = interface.order_view(order.ref)
    assert (view.status, view.progress, view.is_final) == ("ready", 1.0, True)
    assert [(swap.old, swap.new) for swap in view.swaps] == [("gpu-001", "gpu-003")]
    assert "7 of 8 GPUs" in view.swaps[0].reason
    assert [one.name for one in view.node_views] == ["gpu-002", "gpu-003"]
    assert [one.name for one in view.steps] == ["building", "joining", "validating", "measuring"]
    assert {one.state for one in view.steps} == {StepState.DONE}


def test_steps_count_nodes_not_tries(team: Team, fake_judge: FakeJudge) -> None:
    some_nodes(4)
    fake_judge.unfit = {"gpu-001": "7 of 8 GPUs"}
    view = interface.order_view(built(team, 3).ref)
    assert [(one.name, one.done, one.total) for one in view.steps[:3]] == [
        ("building", 3, 3),
        ("joining", 3, 3),
        ("validating", 3, 3),
    ]


def test_nodes_that_went_back_are_named_but_what_they_do_now_is_not_told(
    team: Team, other_team: Team, fake_judge: FakeJudge
) -> None:
    some_nodes(1)
    order = built(team, 1)
    spec = OrderSpec(
        kind=OrderKind.RELEASE,
        team=team.slug,
        sku="h100-sxm5-80g",
        nodes=0,
        cluster_ref=order.cluster.ref,  # type: ignore[union-attr]
    )
    release = Order.objects.get(pk=int(interface.place_order(spec, requested_for="", by=None).ref[2:]))
    assert interface.order_view(order.ref).node_views[0].status == "draining"
    advance(order_id=release.pk)
    while not release.is_final:
        step(release)
    interface.place_order(a_build(other_team.slug, 1), requested_for="", by=None)
    for ref in (order.ref, release.ref):
        (node,) = interface.order_view(ref).node_views
        assert (node.name, node.status, node.speed, node.report_url) == ("gpu-001", "released", None, "")


def test_a_ready_cluster_tells_how_to_connect_and_how_good_it_is(team: Team, fake_judge: FakeJudge) -> None:
    some_nodes(2)
    order = built(team, 2)
    view = interface.cluster_view(interface.order_view(order.ref).cluster_ref)
    assert (view.status, view.gpus, view.simulated, view.order_ref) == ("ready", 16, True, order.ref)
    assert (view.verdict, view.speed, view.busbw_gbps) == (VerdictValue.FIT, 1.0, 355.0)
    assert view.connect[0] == "ssh ada@10.0.0.2  # gpu-001"
    assert "--partition=vision-1 --nodes=2 --gpus-per-node=8" in view.connect[-1]
    assert view.url == f"/clusters/{view.ref}/"


def test_a_cluster_being_built_can_not_be_connected_to(team: Team, fake_judge: FakeJudge) -> None:
    some_nodes(1)
    order = interface.place_order(a_build(team.slug, 1), requested_for="", by=None)
    assert interface.cluster_view(order.cluster_ref).connect == ()


def test_clusters_are_told_by_team_and_by_who_may_see_them(
    team: Team, member: User, stranger: User, triager: User, fake_judge: FakeJudge
) -> None:
    some_nodes(3)
    built(team, 2)
    interface.place_order(a_build(team.slug, 1), requested_for="", by=None)
    assert [one.status for one in interface.clusters_of(team.slug)] == ["building", "ready"]
    assert [one.status for one in interface.ready_clusters_of(team.slug)] == ["ready"]
    assert len(interface.clusters_visible_to(member)) == len(interface.clusters_visible_to(triager)) == 2
    assert interface.clusters_visible_to(stranger) == ()
    assert interface.gpus_held(team.slug) == {"h100-sxm5-80g": 24}
    assert interface.gpus_held("nobody") == {}


def test_capacity_is_told_per_sku(team: Team) -> None:
    some_nodes(3)
    interface.place_order(a_build(team.slug, 2), requested_for="", by=None)
    told = interface.capacity("h100-sxm5-80g")
    assert (told.total, told.free, told.reserved) == (3, 1, 2)
    assert interface.capacities().keys() == {"h100-sxm5-80g"}
    with pytest.raises(NotFound, match="Known"):
        interface.capacity("b300")


def test_skus_are_told() -> None:
    a_sku()
    (sku,) = interface.skus()
    assert (sku.slug, sku.gpus_per_node, sku.driver_version) == ("h100-sxm5-80g", 8, "570.172.08")


def test_an_order_can_be_cancelled_through_the_door_and_only_once(team: Team) -> None:
    some_nodes(1)
    view = interface.place_order(a_build(team.slug, 1), requested_for="T-1/1", by=None)
    cancelled = interface.cancel_order(view.ref, reason="not needed", by=None)
    assert (cancelled.status, cancelled.now) == ("cancelled", "Cancelled: not needed")
    with pytest.raises(IllegalMove):
        interface.cancel_order(view.ref, reason="", by=None)


def test_a_release_is_placed_through_the_door(team: Team, fake_judge: FakeJudge) -> None:
    some_nodes(1)
    cluster = interface.clusters_of(built(team, 1).team.slug)[0]  # type: ignore[union-attr]
    spec = OrderSpec(
        kind=OrderKind.RELEASE, team=team.slug, sku=cluster.sku, nodes=0, cluster_ref=cluster.ref
    )
    view = interface.place_order(spec, requested_for="T-2/1", reason="done", by=None)
    assert (view.kind, view.status) == (OrderKind.RELEASE, "placed")


def test_a_cluster_of_another_team_is_not_found(team: Team, other_team: Team, fake_judge: FakeJudge) -> None:
    some_nodes(1)
    ref = interface.order_view(built(team, 1).ref).cluster_ref
    spec = OrderSpec(
        kind=OrderKind.RELEASE, team=other_team.slug, sku="h100-sxm5-80g", nodes=0, cluster_ref=ref
    )
    with pytest.raises(NotFound, match="not a cluster of speech"):
        interface.place_order(spec, requested_for="", by=None)


def test_unknown_refs_are_not_found() -> None:
    for ask in (interface.order_view, interface.cluster_view):
        with pytest.raises(NotFound):
            ask("O-99" if ask is interface.order_view else "C-99")
        with pytest.raises(NotFound):
            ask("x")


def test_rechecks_are_not_placed_by_spec(team: Team) -> None:
    with pytest.raises(Refused, match="recheck_node"):
        interface.place_order(
            OrderSpec(kind=OrderKind.RECHECK, team=team.slug, sku="x", nodes=0), requested_for="", by=None
        )


def test_many_orders_cost_the_same_queries_as_one(
    team: Team, fake_judge: FakeJudge, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    some_nodes(12)
    refs = [
        interface.place_order(a_build(team.slug, 2), requested_for="T-1/1", by=None).ref for _ in range(5)
    ]
    for ref in refs:
        advance(order_id=int(ref[2:]))
    with django_assert_max_num_queries(5):
        assert len(interface.order_views(refs[:1])) == 1
    with django_assert_max_num_queries(5):
        assert set(interface.order_views(refs)) == set(refs)
    with django_assert_max_num_queries(5):
        assert len(interface.orders_for("T-1/1")) == 5
    with django_assert_max_num_queries(3):
        assert len(interface.clusters_of(team.slug)) == 5


def test_what_crosses_the_door_is_frozen(team: Team) -> None:
    some_nodes(1)
    view = interface.place_order(
        a_build(team.slug, 1, lease_end=now() + timedelta(days=3)), requested_for="", by=None
    )
    with pytest.raises(dataclasses.FrozenInstanceError):
        view.status = "ready"  # type: ignore[misc]
    assert interface.cluster_view(view.cluster_ref).lease_end is not None


def test_teams_that_exist_only_elsewhere_get_nothing() -> None:
    assert interface.clusters_of(a_team().slug) == ()
