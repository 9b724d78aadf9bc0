"""Does a remedy come onto a cluster's nodes and off again, without a node being taken from its team?"""

from __future__ import annotations

import pytest

from portal.accounts.models import Team
from portal.kernel.errors import Conflict, Invalid
from portal.ledger.models import Event
from provisioning import interface
from provisioning.contracts import OrderKind, OrderSpec
from provisioning.fleet.models import Cluster, Node
from provisioning.jobs.states import Ending, Reason
from provisioning.orders.advancing import advance
from provisioning.orders.models import Order
from provisioning.orders.services import cancel_order, place_order
from tests.provisioning.builders import FakeJudge, open_job, some_nodes, step
from tests.provisioning.orders.test_giving_back import a_cluster

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster(team: Team, fake_judge: FakeJudge) -> Cluster:
    some_nodes(4)
    return a_cluster(team, 2)


def ordered(cluster: Cluster, kind: OrderKind = OrderKind.APPLY, **more: object) -> Order:
    said: dict[str, object] = {
        "kind": kind,
        "team": cluster.team.slug,
        "sku": cluster.sku.slug,
        "nodes": 2,
        "cluster_ref": cluster.ref,
        "remedy": "nccl-env",
        "settings": (("NCCL_IB_HCA", "^mlx5_3"),),
    }
    spec = OrderSpec(**(said | more))  # type: ignore[arg-type]
    return place_order(spec=spec, requested_for="W-1", by=None)


def begun(cluster: Cluster, kind: OrderKind = OrderKind.APPLY) -> Order:
    order = ordered(cluster, kind)
    advance(order_id=order.pk)
    return order


@pytest.mark.parametrize("kind", [OrderKind.APPLY, OrderKind.REVERT])
def test_order_runs_one_job_on_every_node_and_is_done(cluster: Cluster, kind: OrderKind) -> None:
    order = begun(cluster, kind)
    job = open_job(order)
    assert job.playbook == f"{kind}_workaround"
    assert job.variables == {
        "remedy_name": "nccl-env",
        "remedy_settings": [{"name": "NCCL_IB_HCA", "value": "^mlx5_3"}],
    }
    assert job.host_results.count() == 2
    assert step(order) == "done"
    told = Event.objects.get(name="order.done")
    assert (told.payload["for"], told.payload["nodes"]) == ("W-1", 2)
    view = interface.order_view(order.ref)
    assert (view.progress, view.is_final, view.steps[0].done) == (1.0, True, 2)


def test_order_that_fails_on_a_node_says_where_and_takes_no_node_away(cluster: Cluster) -> None:
    order = begun(cluster)
    bad = open_job(order).host_results.order_by("node__name").first()
    assert bad is not None
    assert step(order, {bad.node.name: Ending.FAILED}) == "failed"
    assert order.reason.startswith(f"On 1 of 2 nodes: apply_workaround failed on {bad.node.name}")
    cluster.refresh_from_db()
    assert cluster.status == "ready"
    assert Node.objects.filter(status="in_use").count() == 2
    assert not Node.objects.filter(status="quarantined").exists()


def test_node_that_could_not_be_tried_is_tried_in_two_more_runs(cluster: Cluster) -> None:
    order = begun(cluster)
    for _ in range(2):
        name = open_job(order).host_results.order_by("node__name")[0].node.name
        assert step(order, {name: Ending.NOT_ATTEMPTED}, reason=Reason.WORKER_LOST) == "applying"
    name = open_job(order).host_results.order_by("node__name")[0].node.name
    assert step(order, {name: Ending.NOT_ATTEMPTED}, reason=Reason.WORKER_LOST) == "failed"
    assert "Not tried in 3 runs" in order.reason


def test_order_can_be_cancelled_and_the_nodes_stay(cluster: Cluster) -> None:
    order = begun(cluster)
    assert cancel_order(order=order, reason="not now", by=None).status == "cancelled"
    assert Node.objects.filter(status="in_use").count() == 2


def test_cluster_does_one_thing_at_a_time(cluster: Cluster) -> None:
    begun(cluster)
    with pytest.raises(Conflict, match="is busy with"):
        ordered(cluster, OrderKind.REVERT)


@pytest.mark.parametrize(
    "wrong",
    [
        {"remedy": "rm-rf"},
        {"remedy": "sysctl", "settings": (("kernel.modprobe", "1"),)},
        {"settings": ()},
        {"settings": (("NCCL_DEBUG", "{{ x }}"),)},
        {"remedy": "clock-lock", "settings": (("min_mhz", "1500"), ("max_mhz", "1200"))},
        {"cluster_ref": ""},
    ],
)
def test_what_can_t_be_applied_is_refused_by_field(cluster: Cluster, wrong: dict[str, object]) -> None:
    with pytest.raises(Invalid):
        ordered(cluster, **wrong)
    assert not Order.objects.filter(kind="apply").exists()


def test_build_has_no_remedy(team: Team) -> None:
    with pytest.raises(Invalid) as refusal:
        place_order(
            spec=OrderSpec(kind=OrderKind.BUILD, team=team.slug, sku="x", nodes=1, remedy="sysctl"),
            requested_for="",
            by=None,
        )
    assert "remedy" in refusal.value.fields
