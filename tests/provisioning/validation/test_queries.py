"""Who finds which report, what stands beside it, and is evidence fetched as asked?"""

from __future__ import annotations

from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries

from portal.accounts.models import Team, User
from portal.kernel.errors import NotFound
from provisioning.fleet.models import Node
from provisioning.validation import queries
from provisioning.validation.models import Report
from provisioning.validation.services import judge_cluster, judge_reruns, judge_sweep
from tests.provisioning.builders import a_sku, some_nodes
from tests.provisioning.validation.healthy import evidence
from tests.provisioning.validation.stored import all_of, an_order, held, measured, rerun, sent, together

pytestmark = pytest.mark.django_db
NAMES = ["gpu-001", "gpu-002", "gpu-003", "gpu-004"]


def test_a_team_sees_what_its_own_order_measured_on_its_nodes(
    team: Team, member: User, stranger: User, operator: User, triager: User
) -> None:
    some_nodes(4)
    before = judge_sweep(job=measured(all_of(NAMES)))
    order = an_order(team, 2)
    mine = held(order)
    job = measured(all_of(NAMES), order=order)
    reports = judge_sweep(job=job)
    seen = {report.pk for report in Report.objects.visible_to(member)}
    assert seen == {
        reports[name].pk for name in mine
    }  # neither before its time, nor of nodes it does not hold
    assert not Report.objects.visible_to(stranger).exists()
    assert Report.objects.visible_to(operator).count() == Report.objects.visible_to(triager).count() == 8
    assert queries.newest_of(operator, Node.objects.get(name="gpu-001")) == reports["gpu-001"]
    assert before["gpu-001"].pk < reports["gpu-001"].pk


def test_nobody_signed_in_and_nobody_inactive_sees_a_report(operator: User) -> None:
    from django.contrib.auth.models import AnonymousUser

    some_nodes(1)
    judge_sweep(job=measured({"gpu-001": sent()}))
    operator.is_active = False
    assert not Report.objects.visible_to(operator).exists()
    assert not Report.objects.visible_to(AnonymousUser()).exists()


def test_a_report_is_found_below_its_own_node_only(operator: User) -> None:
    some_nodes(4)
    reports = judge_sweep(job=measured(all_of(NAMES)))
    first, second = Node.objects.get(name="gpu-001"), Node.objects.get(name="gpu-002")
    assert queries.report_by_id(operator, first, reports["gpu-001"].pk) == reports["gpu-001"]
    for node, number in ((second, reports["gpu-001"].pk), (first, 10**30), (first, 0)):
        with pytest.raises(NotFound):
            queries.report_by_id(operator, node, number)


def test_a_rerun_tells_of_the_sweep_before_it() -> None:
    some_nodes(4)
    sweep = judge_sweep(job=measured(all_of(NAMES, gpu_002=sent(0.94))))["gpu-002"]
    again = judge_reruns(job=measured({"gpu-002": rerun(0.94)}), control="")["gpu-002"]
    judge_sweep(job=measured({"gpu-002": sent()}))
    assert queries.source_of(again).pk == sweep.pk
    assert queries.source_of(sweep) is sweep


def test_peers_are_the_other_nodes_of_the_same_kind_in_the_same_sweep() -> None:
    some_nodes(3)
    other = some_nodes(1, sku=a_sku("h200-sxm-141g"), prefix="big")[0]
    judge_sweep(job=measured(all_of(NAMES[:3])))
    report = judge_sweep(job=measured({**all_of(NAMES[:3], gpu_003=sent(0.9)), other.name: sent()}))[
        "gpu-001"
    ]
    peers = queries.peers_of(report, "gemm_bf16")
    assert [peer["gpu:5"] for peer in peers] == [pytest.approx(769.0), pytest.approx(769.0 * 0.9)]
    assert len(peers[0]) == 8
    assert queries.peers_of(report, "no_such_metric") == []


def test_evidence_is_listed_without_output_and_fetched_by_id_and_run() -> None:
    some_nodes(1)
    report = judge_sweep(job=measured({"gpu-001": sent()}))["gpu-001"]
    listed = {f"{one.id}#{one.run}" for one in queries.evidence_of(report)}
    assert {"nvidia-smi-xml#1", "gemm#3"} <= listed
    assert all(one.stdout == b"" for one in queries.evidence_of(report))
    assert b"achieved_tflops=771.307" in queries.evidence_with_output(report, "gemm", 3).stdout
    for evidence_id, run in (("gemm", 4), ("gemm", 0), ("passwd", 1), ("GEMM", 1), ("", 1)):
        with pytest.raises(NotFound):
            queries.evidence_with_output(report, evidence_id, run)


@pytest.mark.parametrize("odd", [{}, {"schema": 1}, {"schema": 1, "evidence": None}, {"schema": 1, "evidence": [None, 3]}])  # fmt: skip
def test_a_job_that_kept_no_evidence_has_none(odd: Any) -> None:
    some_nodes(1)
    job = measured({"gpu-001": sent()})
    report = judge_sweep(job=job)["gpu-001"]
    job.host_results.update(data={"probe": odd} if odd else {"left_out": "too large"})
    assert queries.evidence_of(report) == []
    with pytest.raises(NotFound):
        queries.evidence_with_output(report, "gemm", 1)


def test_evidence_comes_from_the_attempt_that_was_judged() -> None:
    some_nodes(1)
    job = measured({"gpu-001": sent()})
    node = Node.objects.get()
    late = {**sent(), "evidence": [evidence("gemm", b"another attempt")]}
    job.host_results.create(attempt=2, node=node, ending="ok", data={"probe": late})
    report = judge_sweep(job=job)["gpu-001"]
    assert b"another" not in queries.evidence_with_output(report, "gemm", 1).stdout


def test_newest_reports_of_many_nodes_take_one_query(
    operator: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    some_nodes(4)
    judge_sweep(job=measured(all_of(NAMES)))
    newest = judge_sweep(job=measured(all_of(NAMES[:2], gpu_001=sent(0.7))))
    with django_assert_num_queries(1):
        found = queries.newest_by_node(operator, NAMES)
        assert {report.job.ref for report in found.values()}
    assert found["gpu-001"].pk == newest["gpu-001"].pk
    assert set(found) == set(NAMES)


def test_the_newest_collective_is_the_last_one(team: Team) -> None:
    some_nodes(4)
    order = an_order(team, 4)
    assert order.cluster is not None
    assert queries.newest_collective(order.cluster.pk) is None
    for busbw in (200.0, 355.0):
        job = measured({held(order)[0]: together(busbw)}, order=order, playbook="validate_cluster")
        last = judge_cluster(cluster=order.cluster, job=job)
    assert queries.newest_collective(order.cluster.pk) == last
