"""Is a job judged once, and do suspicion, confirmation and doubt end where they must?"""

from __future__ import annotations

from typing import Any

import pytest

from portal.accounts.models import Team
from portal.ledger.models import Event
from provisioning.contracts import VerdictValue
from provisioning.fleet.models import Node
from provisioning.orders.judging import judge
from provisioning.validation.models import ClusterReport, Finding, Measurement, Report
from provisioning.validation.services import judge_cluster, judge_reruns, judge_sweep
from tests.provisioning.builders import some_nodes
from tests.provisioning.validation.healthy import evidence, probe, smi_xml
from tests.provisioning.validation.stored import (
    all_of,
    an_order,
    held,
    measured,
    rerun,
    sent,
    together,
)

pytestmark = pytest.mark.django_db
NAMES = ["gpu-001", "gpu-002", "gpu-003", "gpu-004"]


def rows() -> tuple[int, ...]:
    models: tuple[Any, ...] = (Report, Finding, Measurement, ClusterReport, Event)
    return tuple(model.objects.count() for model in models)


def test_judging_the_same_job_twice_gives_the_same_rows() -> None:
    some_nodes(4)
    job = measured(all_of(NAMES))
    first = judge_sweep(job=job)
    counted = rows()
    again = judge_sweep(job=job)
    assert {name: one.pk for name, one in again.items()} == {name: one.pk for name, one in first.items()}
    assert rows() == counted
    assert counted[0] == 4


def test_a_sweep_is_written_down_with_findings_and_measurements_and_told_to_the_node() -> None:
    some_nodes(4)
    report = judge_sweep(job=measured(all_of(NAMES)))["gpu-001"]
    node = Node.objects.get(name="gpu-001")
    assert (report.verdict, node.verdict) == ("fit", "fit")
    assert report.speed == node.speed == pytest.approx(1.0)
    assert node.facts["driver"] == report.versions["driver"] != ""
    assert report.findings.filter(check_id="gpu_count", level="pass").exists()
    assert report.measurements.filter(metric="gemm_bf16", device="gpu:5").count() == 3
    event = Event.objects.filter(name="verdict.given", subject="node:gpu-001").get()
    assert event.payload["job"] == report.job.ref


def test_one_slow_node_is_suspected_confirmed_and_then_degraded() -> None:
    some_nodes(4)
    reports = judge_sweep(job=measured(all_of(NAMES, gpu_002=sent(0.94))))
    slow = reports["gpu-002"]
    assert (slow.verdict, slow.suspected_of, slow.slow) == ("not_measured", ["gemm_bf16"], False)
    assert {name: one.verdict for name, one in reports.items() if name != "gpu-002"} == {
        "gpu-001": "fit",
        "gpu-003": "fit",
        "gpu-004": "fit",
    }
    again = measured({"gpu-002": rerun(0.94), "gpu-001": rerun()})
    ended = judge_reruns(job=again, control="gpu-001")
    assert list(ended) == ["gpu-002"]
    assert (ended["gpu-002"].verdict, ended["gpu-002"].slow) == ("degraded", True)
    assert ended["gpu-002"].suspected_of == []
    assert "confirmed, low in 3 of 3 reruns" in ended["gpu-002"].reasons[0]
    assert Node.objects.get(name="gpu-002").verdict == "degraded"
    finding = ended["gpu-002"].findings.get(check_id="gemm_bf16")
    assert (finding.level, finding.device) == ("fail", "gpu:5")
    counted = rows()
    assert judge_reruns(job=again, control="gpu-001")["gpu-002"].pk == ended["gpu-002"].pk
    assert rows() == counted


def test_a_passing_dip_is_cleared() -> None:
    some_nodes(4)
    judge_sweep(job=measured(all_of(NAMES, gpu_002=sent(0.94))))
    ended = judge_reruns(job=measured({"gpu-002": rerun(), "gpu-001": rerun()}), control="gpu-001")
    assert (ended["gpu-002"].verdict, ended["gpu-002"].slow) == ("fit", False)
    assert ended["gpu-002"].findings.get(check_id="gemm_bf16").level == "pass"


def test_a_control_that_is_as_slow_shares_the_cause_and_blames_none() -> None:
    some_nodes(4)
    judge_sweep(job=measured(all_of(NAMES, gpu_002=sent(0.94))))
    ended = judge_reruns(job=measured({"gpu-002": rerun(0.94), "gpu-001": rerun(0.94)}), control="gpu-001")
    assert (ended["gpu-002"].verdict, ended["gpu-002"].slow) == ("fit", False)
    assert "shared cause" in " ".join(ended["gpu-002"].reasons)
    assert ended["gpu-002"].findings.get(check_id="gemm_bf16").level == "warn"


def test_a_rerun_that_measured_nothing_leaves_the_verdict_open() -> None:
    some_nodes(4)
    judge_sweep(job=measured(all_of(NAMES, gpu_002=sent(0.94))))
    nothing = {**probe(), "evidence": [evidence("gemm", b"", outcome="timed_out", run=1)]}
    ended = judge_reruns(job=measured({"gpu-002": nothing}), control="")
    assert (ended["gpu-002"].verdict, ended["gpu-002"].suspected_of) == ("not_measured", ["gemm_bf16"])
    assert ended["gpu-002"].findings.get(check_id="gemm_bf16").level == "warn"


def test_a_suspect_has_its_verdict_aside_of_the_suspicion() -> None:
    some_nodes(4)
    lost = {"nvidia-smi-xml": smi_xml(drop=(3,), attached=7)}
    broken = {**sent(0.94), "evidence": [*sent(0.94)["evidence"]]}
    broken["evidence"] = [
        evidence("nvidia-smi-xml", lost["nvidia-smi-xml"]) if row["id"] == "nvidia-smi-xml" else row
        for row in broken["evidence"]
    ]
    reports = judge_sweep(job=measured(all_of(NAMES, gpu_002=sent(0.94), gpu_003=broken)))
    assert (reports["gpu-002"].verdict, reports["gpu-002"].verdict_aside) == ("not_measured", "fit")
    assert (reports["gpu-003"].verdict, reports["gpu-003"].verdict_aside) == ("unfit", "unfit")


def test_orders_hear_the_verdict_aside_and_what_to_run_again() -> None:
    some_nodes(4)
    sweep = judge().judge_nodes(job=measured(all_of(NAMES, gpu_002=sent(0.94))))
    assert sweep.verdicts["gpu-002"].value is VerdictValue.FIT
    assert sweep.suspects == {"gpu-002": ["gemm"]}


@pytest.mark.parametrize("outcome", ["missing", "timed_out", "failed_to_start"])
def test_what_was_not_measured_stays_not_measured(outcome: str) -> None:
    some_nodes(4)
    silent = probe(outcomes={"gemm": outcome})
    report = judge_sweep(job=measured(all_of(NAMES, gpu_002=silent)))["gpu-002"]
    assert (report.verdict, report.verdict_aside) == ("not_measured", "not_measured")
    assert set(report.findings.filter(check_id="gemm_bf16").values_list("level", flat=True)) == {
        "not_measured"
    }
    assert "gemm_bf16" not in report.scores
    assert not report.measurements.filter(metric="gemm_bf16").exists()


def test_a_node_that_sent_nothing_has_no_report_and_no_verdict() -> None:
    some_nodes(4)
    reports = judge_sweep(job=measured(all_of(NAMES, gpu_004=None)))
    assert "gpu-004" not in reports
    assert Node.objects.get(name="gpu-004").verdict is None


def test_a_check_that_fails_on_many_nodes_blames_none_of_them() -> None:
    some_nodes(8)
    names = [f"gpu-{number:03d}" for number in range(1, 9)]
    adrift = probe(once={"chronyc-tracking": b"0A000001,10.0.0.1,3,1764496800.1,5.0,5.0,5.0,1.2,0.001,0.02,0.0002,0.0005,64.0,Normal\n"})  # fmt: skip
    reports = judge_sweep(job=measured(dict.fromkeys(names, adrift)))
    assert {one.verdict for one in reports.values()} == {"not_measured"}
    assert "a shared cause is likelier" in reports["gpu-001"].reasons[0]
    alone = judge_sweep(job=measured(all_of(names, gpu_001=adrift)))
    assert {name for name, one in alone.items() if one.verdict == "unfit"} == {"gpu-001"}


def test_a_low_collective_belongs_to_the_cluster_and_is_kept_once(team: Team) -> None:
    some_nodes(4)
    order = an_order(team, 4)
    assert order.cluster is not None
    job = measured(
        {name: together(200.0) for name in held(order)[:1]}, order=order, playbook="validate_cluster"
    )
    report = judge_cluster(cluster=order.cluster, job=job)
    assert (report.verdict, report.correct, report.runs) == ("degraded", True, 3)
    assert report.busbw_gbps == pytest.approx(200.0)
    assert report.expected_gbps is not None
    assert report.expected_gbps > 300
    assert judge_cluster(cluster=order.cluster, job=job).pk == report.pk
    assert Event.objects.filter(name="verdict.given", subject=order.cluster.ref).count() == 1
    assert set(Node.objects.values_list("verdict", flat=True)) == {None}


def test_a_collective_that_did_not_run_is_not_measured(team: Team) -> None:
    some_nodes(4)
    order = an_order(team, 4)
    assert order.cluster is not None
    job = measured({held(order)[0]: None}, order=order, playbook="validate_cluster")
    report = judge_cluster(cluster=order.cluster, job=job)
    assert (report.verdict, report.busbw_gbps, report.correct) == ("not_measured", None, None)
