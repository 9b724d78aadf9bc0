"""Does a build lead from placing to a ready cluster, whatever its nodes turn out to be?"""

from __future__ import annotations

from typing import Any

import pytest

from portal.accounts.models import Team, User
from portal.ledger.models import Event
from provisioning.contracts import VerdictValue
from provisioning.fleet.models import Cluster, Node, Reservation
from provisioning.fleet.services import quarantine_node
from provisioning.jobs.models import Job
from provisioning.jobs.states import Ending, Reason
from provisioning.orders.advancing import advance
from provisioning.orders.judging import NodeVerdict
from provisioning.orders.models import Order
from provisioning.orders.services import place_order
from tests.provisioning.builders import FakeJudge, a_build, names, open_job, some_nodes, step

pytestmark = pytest.mark.django_db


def placed(team: Team, nodes: int, by: User | None = None, **more: Any) -> Order:
    """An order whose first job is queued."""
    order = place_order(spec=a_build(team.slug, nodes, **more), requested_for="T-1/1", by=by)
    advance(order_id=order.pk)
    order.refresh_from_db()
    return order


def run_to_end(order: Order) -> str:
    for _ in range(20):
        if order.is_final:
            break
        step(order)
    return order.status


def test_a_healthy_build_goes_through_every_step_and_is_delivered(team: Team, fake_judge: FakeJudge) -> None:
    some_nodes(6)
    order = placed(team, 4)
    assert order.status == "building"
    assert [step(order) for _ in range(4)] == ["joining", "validating", "measuring", "ready"]
    cluster = Cluster.objects.get()
    assert (cluster.status, cluster.verdict, cluster.speed, cluster.busbw_gbps) == (
        "ready",
        "fit",
        1.0,
        355.0,
    )
    assert Node.objects.filter(status="in_use").count() == 4
    assert Node.objects.filter(status="free").count() == 2


def test_a_single_node_is_not_measured_as_a_cluster(team: Team, fake_judge: FakeJudge) -> None:
    some_nodes(1)
    order = placed(team, 1)
    assert [step(order) for _ in range(3)] == ["joining", "validating", "ready"]
    assert Cluster.objects.get().verdict == "fit"


def test_playbooks_are_told_of_the_whole_cluster_and_the_teams_accounts(
    team: Team, fake_judge: FakeJudge
) -> None:
    some_nodes(2)
    order = placed(team, 2)
    told = open_job(order).variables
    assert told["team"] == team.slug
    assert told["gpu_driver_version"] == "570.172.08"
    assert told["fabric_manager"] is True
    assert [account["name"] for account in told["team_accounts"]] == ["ada"]
    step(order)
    job = open_job(order)
    assert [host["name"] for host in job.variables["cluster_hosts"]] == ["gpu-001", "gpu-002"]
    assert job.cluster_ref == order.cluster.ref  # type: ignore[union-attr]


def test_a_node_that_fails_is_quarantined_with_evidence_and_replaced(
    team: Team, fake_judge: FakeJudge
) -> None:
    some_nodes(5)
    order = placed(team, 4)
    assert step(order, {"gpu-002": Ending.FAILED}) == "building"
    bad = Node.objects.get(name="gpu-002")
    assert (bad.status, bad.needs_wipe) == ("quarantined", True)
    hold = bad.holds.get()
    assert hold.owner == "provisioning"
    assert hold.evidence["first_failure"].startswith("apt said no")
    job = open_job(order)
    assert (job.playbook, list(job.host_results.values_list("node__name", flat=True))) == (
        "provision_node",
        ["gpu-005"],
    )
    swap = Event.objects.get(name="node.swapped").payload
    assert (swap["old"], swap["new"], swap["reason_code"]) == ("gpu-002", "gpu-005", "provision_node-failed")
    assert run_to_end(order) == "ready"
    assert names(Node.objects.filter(status="in_use")) == ["gpu-001", "gpu-003", "gpu-004", "gpu-005"]


def test_an_unreachable_node_is_replaced(team: Team, fake_judge: FakeJudge) -> None:
    some_nodes(3)
    order = placed(team, 2)
    step(order, {"gpu-001": Ending.UNREACHABLE})
    assert Node.objects.get(name="gpu-001").holds.get().reason_code == "unreachable"
    assert run_to_end(order) == "ready"


def test_a_node_that_hangs_until_the_time_is_up_is_replaced(team: Team, fake_judge: FakeJudge) -> None:
    some_nodes(3)
    order = placed(team, 2)
    step(order, {"gpu-001": Ending.INTERRUPTED}, reason=Reason.IDLE)
    assert Node.objects.get(name="gpu-001").holds.get().reason_code == "hung"


def test_an_unfit_node_is_swapped_and_only_its_replacement_is_provisioned_and_validated(
    team: Team, fake_judge: FakeJudge
) -> None:
    some_nodes(4)
    fake_judge.unfit = {"gpu-002": "7 of 8 GPUs"}
    order = placed(team, 3)
    assert [step(order) for _ in range(3)] == ["joining", "validating", "building"]
    assert list(open_job(order).host_results.values_list("node__name", flat=True)) == ["gpu-004"]
    assert step(order) == "joining"
    assert open_job(order).host_results.count() == 3
    assert step(order) == "validating"
    assert list(open_job(order).host_results.values_list("node__name", flat=True)) == ["gpu-004"]
    assert [step(order) for _ in range(2)] == ["measuring", "ready"]
    assert order.swaps_used == 1


def test_a_marked_spare_is_kept_from_orders_and_taken_for_a_swap(team: Team, fake_judge: FakeJudge) -> None:
    some_nodes(4)
    Node.objects.filter(name="gpu-001").update(spare=True)
    fake_judge.unfit = {"gpu-003": "7 of 8 GPUs"}
    order = placed(team, 2)
    assert names(one.node for one in order.assignments.all()) == ["gpu-002", "gpu-003"]
    assert run_to_end(order) == "ready"
    assert names(Node.objects.filter(status="in_use")) == ["gpu-001", "gpu-002"]


def test_suspects_are_measured_again_beside_a_healthy_node_with_only_their_checks(
    team: Team, fake_judge: FakeJudge
) -> None:
    some_nodes(4)
    fake_judge.suspects = {"gpu-002": ["gemm"]}
    order = placed(team, 4)
    assert [step(order) for _ in range(3)] == ["joining", "validating", "confirming"]
    job = open_job(order)
    assert job.variables["probe_checks"] == ["gemm"]
    assert sorted(job.host_results.values_list("node__name", flat=True)) == ["gpu-001", "gpu-002"]
    assert step(order) == "measuring"
    assert fake_judge.controls == ["gpu-001"]
    assert order.swaps_used == 0


def test_a_confirmed_straggler_is_swapped(team: Team, fake_judge: FakeJudge) -> None:
    some_nodes(5)
    fake_judge.suspects = {"gpu-002": ["gemm"]}
    fake_judge.confirmed = {"gpu-002"}
    order = placed(team, 4)
    assert run_to_end(order) == "ready"
    assert order.swaps_used == 1
    assert Node.objects.get(name="gpu-002").status == "quarantined"
    swapped = order.assignments.get(node__name="gpu-002")
    assert (swapped.state, swapped.evidence) == ("swapped_out", {"ratio": 0.937})


def test_an_order_replaces_at_most_the_limit_and_then_a_person_decides(
    team: Team, fake_judge: FakeJudge
) -> None:
    some_nodes(9)
    fake_judge.unfit = {f"gpu-00{number}": "7 of 8 GPUs" for number in (1, 2, 3)}
    order = placed(team, 4)
    assert run_to_end(order) == "failed"
    assert "A person has to decide" in order.reason
    assert Cluster.objects.get().status == "failed"
    assert names(Node.objects.filter(status="quarantined")) == ["gpu-001", "gpu-002", "gpu-003"]
    cleanup = Order.objects.get(kind="release")
    assert cleanup.spec["cleanup_of"] == order.ref
    assert cleanup.requested_for == ""
    advance(order_id=cleanup.pk)
    assert run_to_end(cleanup) == "released"
    assert Node.objects.filter(status="free").count() == 6
    assert not Node.objects.filter(needs_wipe=True).exclude(status="quarantined").exists()


def test_a_job_that_fails_on_every_node_blames_none_of_them(team: Team, fake_judge: FakeJudge) -> None:
    some_nodes(4)
    order = placed(team, 3)
    assert step(order, {f"gpu-00{number}": Ending.FAILED for number in (1, 2, 3)}) == "failed"
    assert "one they share" in order.reason
    assert not Node.objects.filter(status="quarantined").exists()


def test_no_node_left_to_replace_with_fails_the_order_and_keeps_nothing(
    team: Team, fake_judge: FakeJudge
) -> None:
    some_nodes(2)
    fake_judge.unfit = {"gpu-001": "7 of 8 GPUs"}
    order = placed(team, 2)
    assert run_to_end(order) == "failed"
    assert "is left to replace gpu-001" in order.reason
    failed = Event.objects.get(name="order.failed")
    assert (failed.payload["for"], failed.payload["cluster"]) == ("T-1/1", order.cluster.ref)  # type: ignore[union-attr]


def test_an_unmeasured_node_gets_a_second_chance_before_it_is_replaced(
    team: Team, fake_judge: FakeJudge
) -> None:
    some_nodes(3)
    fake_judge.unmeasured = {"gpu-001"}
    order = placed(team, 2)
    assert [step(order) for _ in range(3)] == ["joining", "validating", "validating"]
    assert list(open_job(order).host_results.values_list("node__name", flat=True)) == ["gpu-001"]
    assert step(order) == "building"
    assert Node.objects.get(name="gpu-001").holds.get().reason_code == "unmeasured"


def test_nodes_that_were_not_tried_are_tried_again_and_not_blamed(team: Team, fake_judge: FakeJudge) -> None:
    some_nodes(2)
    order = placed(team, 2)
    assert step(order, {"gpu-002": Ending.NOT_ATTEMPTED}) == "building"
    assert list(open_job(order).host_results.values_list("node__name", flat=True)) == ["gpu-002"]
    assert step(order, {"gpu-002": Ending.NOT_ATTEMPTED}) == "building"
    assert step(order, {"gpu-002": Ending.NOT_ATTEMPTED}) == "failed"
    assert not Node.objects.filter(status="quarantined").exists()


def test_a_degraded_node_stays_when_nothing_better_is_free_and_the_team_is_told(
    team: Team, fake_judge: FakeJudge
) -> None:
    some_nodes(2)
    fake_judge.degraded = {"gpu-002": 0.9}
    order = placed(team, 2)
    assert run_to_end(order) == "ready"
    assert order.swaps_used == 0
    assert Event.objects.get(name="node.kept").payload["node"] == "gpu-002"
    assert Cluster.objects.get().verdict == "degraded"


def test_a_degraded_node_is_not_swapped_for_another_that_is_known_slow(
    team: Team, fake_judge: FakeJudge
) -> None:
    some_nodes(3)
    Node.objects.filter(name="gpu-003").update(speed=0.8)
    fake_judge.degraded = {"gpu-002": 0.9}
    order = placed(team, 2)
    assert run_to_end(order) == "ready"
    assert order.swaps_used == 0


def test_of_many_degraded_nodes_the_slowest_are_swapped_and_the_rest_stay(
    team: Team, fake_judge: FakeJudge
) -> None:
    some_nodes(8)
    fake_judge.degraded = {"gpu-001": 0.95, "gpu-002": 0.8, "gpu-003": 0.9}
    order = placed(team, 4)
    assert run_to_end(order) == "ready"
    assert names(Node.objects.filter(status="quarantined")) == ["gpu-002", "gpu-003"]


def test_when_no_node_can_be_measured_none_is_blamed(team: Team, fake_judge: FakeJudge) -> None:
    some_nodes(5)
    fake_judge.unmeasured = {"gpu-001", "gpu-002", "gpu-003"}
    order = placed(team, 3)
    assert run_to_end(order) == "failed"
    assert "Nothing was measured on all 3 nodes" in order.reason
    assert not Node.objects.filter(status="quarantined").exists()


def test_a_cluster_that_could_not_be_measured_is_measured_once_more(
    team: Team, fake_judge: FakeJudge
) -> None:
    some_nodes(2)
    fake_judge.cluster = [NodeVerdict(value=VerdictValue.NOT_MEASURED, reason="mpirun timed out")]
    order = placed(team, 2)
    assert [step(order) for _ in range(5)] == ["joining", "validating", "measuring", "measuring", "ready"]


def test_a_node_put_on_hold_by_an_operator_is_replaced_at_the_next_step(
    team: Team, fake_judge: FakeJudge, operator: User
) -> None:
    some_nodes(3)
    order = placed(team, 2)
    node = Node.objects.get(name="gpu-002")
    quarantine_node(node=node, reason_code="by-hand", reason="loud fan", owner="operator", by=operator)
    assert Node.objects.get(name="gpu-002").status == "reserved"
    assert step(order) == "building"
    held = Node.objects.get(name="gpu-002")
    assert (held.status, held.holds.get().owner) == ("quarantined", "operator")
    assert run_to_end(order) == "ready"
    assert names(Node.objects.filter(status="in_use")) == ["gpu-001", "gpu-003"]


def test_a_cluster_that_is_too_slow_as_one_needs_a_person(team: Team, fake_judge: FakeJudge) -> None:
    some_nodes(2)
    fake_judge.cluster = [NodeVerdict(value=VerdictValue.UNFIT, reason="busbw 90 of 360 GB/s")]
    order = placed(team, 2)
    assert run_to_end(order) == "failed"
    assert "busbw 90 of 360 GB/s" in order.reason


def test_a_slow_node_that_passes_makes_the_clusters_speed(team: Team, fake_judge: FakeJudge) -> None:
    some_nodes(4)
    fake_judge.speeds = {"gpu-003": 0.98}
    order = placed(team, 4)
    run_to_end(order)
    cluster = Cluster.objects.get()
    assert (cluster.speed, cluster.slowest_node) == (0.98, "gpu-003")
    assert cluster.gpu_hours_lost_per_day == pytest.approx(0.02 * 32 * 24)


def test_every_reservation_of_a_ready_cluster_is_open_and_of_a_swapped_node_closed(
    team: Team, fake_judge: FakeJudge
) -> None:
    some_nodes(4)
    fake_judge.unfit = {"gpu-002": "7 of 8 GPUs"}
    run_to_end(placed(team, 3))
    held = Reservation.objects.filter(released_at=None)
    assert names(one.node for one in held) == ["gpu-001", "gpu-003", "gpu-004"]
    assert Reservation.objects.get(node__name="gpu-002").released_at is not None


def test_the_same_event_twice_starts_no_second_job(team: Team, fake_judge: FakeJudge) -> None:
    some_nodes(2)
    order = placed(team, 2)
    assert not advance(order_id=order.pk)
    step(order)
    assert not advance(order_id=order.pk)
    assert Job.objects.count() == 2
