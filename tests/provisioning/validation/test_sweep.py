"""Judged together: is the slow node found, re-measured, confirmed, and a slow rack or a broken check blamed on no node?"""

from __future__ import annotations

import random
from functools import cache
from typing import Any

import pytest

from provisioning.contracts import VerdictValue
from provisioning.validation.baselines import BaselineSet, ScoreRow, build_baselines
from provisioning.validation.expectation import Expectation, ExpectedMount
from provisioning.validation.judge import judge_confirmation, judge_node, judge_sweep, settle
from provisioning.validation.report import SweepReport
from provisioning.validation.stragglers import Confirmed
from tests.provisioning.validation import healthy
from tests.provisioning.validation.healthy import H100, probe, repeats


@cache
def node(gemm: float = 1.0, *, memory: float = 1.0, nccl: float = 1.0, driver: str = "") -> dict[str, Any]:
    """The probe of a node whose figures are shares of the usual ones."""
    return probe(
        once={"nvidia-smi-xml": healthy.smi_xml(driver=driver)},
        repeated={
            "gemm": repeats(healthy.gemm_text, dict.fromkeys(range(8), 769.0 * gemm)),
            "gpu-stream": repeats(healthy.stream_text, dict.fromkeys(range(8), 3015.0 * memory)),
            "nccl-all-reduce": repeats(healthy.nccl_text, 450.0 * nccl),
        },
    )


def fleet(count: int, slow: dict[int, dict[str, Any]] | None = None) -> dict[str, dict[str, Any]]:
    return {f"gpu-{i:03d}": node(**(slow or {}).get(i, {})) for i in range(count)}


def values(report: SweepReport) -> dict[str, str]:
    return {name: one.verdict.value.value for name, one in report.nodes.items()}


@cache
def learned() -> BaselineSet:
    """A fleet of 200 healthy nodes of the usual figures and versions."""
    stratum = judge_node(node(), H100).stratum
    usual = judge_node(node(), H100).scores
    rows = [
        ScoreRow(node=f"old-{i}", stratum=stratum, metric=metric, value=one.value)
        for metric, one in usual.items()
        for i in range(200)
    ]
    return build_baselines(rows)


def test_equal_healthy_nodes_are_all_fit_at_full_speed() -> None:
    report = judge_sweep(fleet(4), H100)
    assert set(values(report).values()) == {"fit"}
    assert report.value is VerdictValue.FIT
    assert report.speed is not None
    assert report.speed.speed == pytest.approx(1.0)
    assert report.speed.gpus == 32


@pytest.mark.parametrize("count", [3, 4, 8])
def test_a_node_six_percent_slow_is_suspected_and_its_metric_named(count: int) -> None:
    report = judge_sweep(fleet(count, {1: {"gemm": 0.94}}), H100)
    assert report.remeasure == {"gpu-001": ("gemm_bf16",)}
    assert values(report)["gpu-001"] == "not_measured"
    assert [value for name, value in values(report).items() if name != "gpu-001"] == ["fit"] * (count - 1)
    assert report.speed is not None
    assert report.speed.slowest_node == "gpu-001"
    assert report.speed.gpu_hours_lost_per_day == pytest.approx(0.06 * count * 8 * 24, rel=0.02)


def test_two_nodes_are_compared_with_the_sku_and_say_provisional() -> None:
    report = judge_sweep(fleet(2, {1: {"gemm": 0.93}}), H100)
    assert report.remeasure == {"gpu-001": ("gemm_bf16",)}
    assert all(one.verdict.provisional for one in report.nodes.values())


def test_a_confirmed_slow_node_is_degraded_and_a_cleared_one_is_fit() -> None:
    report = judge_sweep(fleet(4, {1: {"gemm": 0.94}}), H100).nodes["gpu-001"]
    (suspicion,) = report.suspicions
    slow = judge_confirmation(suspicion, [node(0.94), node(0.94)], control=[node()], gpu_count=8)
    assert slow.state is Confirmed.CONFIRMED
    settled = settle(report, [slow])
    assert settled.verdict.value is VerdictValue.DEGRADED
    assert "confirmed" in settled.verdict.reasons[0]
    assert settled.remeasure == ()
    fine = judge_confirmation(suspicion, [node(), node()], gpu_count=8)
    assert settle(report, [fine]).verdict.value is VerdictValue.FIT


def test_a_rerun_that_did_not_measure_decides_nothing() -> None:
    report = judge_sweep(fleet(4, {1: {"gemm": 0.94}}), H100).nodes["gpu-001"]
    broken = probe(outcomes={"gemm": "timed_out"})
    found = judge_confirmation(report.suspicions[0], [broken, node(0.94)], gpu_count=8)
    assert (found.state, found.values[0]) == (Confirmed.RERUN, None)
    assert settle(report, [found]).verdict.value is VerdictValue.NOT_MEASURED


def test_a_good_node_that_is_slow_too_keeps_the_suspect_in_service() -> None:
    report = judge_sweep(fleet(4, {1: {"gemm": 0.94}}), H100).nodes["gpu-001"]
    found = judge_confirmation(report.suspicions[0], [node(0.94)] * 2, control=[node(0.94)], gpu_count=8)
    assert found.state is Confirmed.SHARED_CAUSE
    assert settle(report, [found]).verdict.value is VerdictValue.FIT


def test_a_rack_four_percent_slow_is_a_shared_cause_and_holds_no_node() -> None:
    slow = {i: {"gemm": 0.96} for i in range(4)}
    racks = {f"gpu-{i:03d}": f"r{i // 4}" for i in range(16)}
    report = judge_sweep(fleet(16, slow), H100, baseline_set=learned(), domains=racks)
    assert set(values(report).values()) == {"fit"}
    assert report.remeasure == {}
    assert "rack r0" in {cause.cohort for cause in report.shared}
    assert report.speed is not None
    assert report.speed.speed == pytest.approx(0.96, abs=0.005)
    assert any("shared cause" in reason for reason in report.reasons)


def test_all_nodes_of_a_driver_three_and_a_half_percent_slow_hold_no_node() -> None:
    slow = {i: {"gemm": 0.96, "driver": "580.65.06"} for i in range(6)}
    report = judge_sweep(fleet(12, slow), H100, baseline_set=learned())
    assert {cause.check_id for cause in report.shared} == {"gemm_bf16"}
    assert set(values(report).values()) == {"fit"}


def test_a_new_driver_without_history_is_not_measured_by_the_old_ones_peers_alone() -> None:
    slow = {i: {"gemm": 0.96, "driver": "580.65.06"} for i in range(6)}
    report = judge_sweep(fleet(12, slow), H100)
    assert set(values(report).values()) == {"fit"}


def test_one_bad_node_in_a_slow_rack_is_still_found() -> None:
    slow = {i: {"gemm": 0.96} for i in range(8)} | {3: {"gemm": 0.88}}
    racks = {f"gpu-{i:03d}": f"r{i // 8}" for i in range(16)}
    report = judge_sweep(fleet(16, slow), H100, baseline_set=learned(), domains=racks)
    assert report.remeasure == {"gpu-003": ("gemm_bf16",)}


def test_a_check_that_fails_everywhere_is_held_and_the_rest_is_still_collected() -> None:
    wanted = Expectation(mounts=(ExpectedMount(path="/not-there"),))
    report = judge_sweep(fleet(5), H100, expectations=wanted)
    assert set(values(report).values()) == {"not_measured"}
    assert {cause.check_id for cause in report.shared} == {"mounts"}
    assert all(one.scores for one in report.nodes.values())


def test_a_check_that_fails_on_three_nodes_of_five_is_three_bad_nodes() -> None:
    wanted = {f"gpu-{i:03d}": Expectation(mounts=(ExpectedMount(path="/not-there"),)) for i in range(3)}
    report = judge_sweep(fleet(5), H100, expectations=wanted)
    assert sorted(values(report).values()) == ["fit", "fit", "unfit", "unfit", "unfit"]


def test_a_fleet_of_four_with_one_bad_node_can_still_hold_it() -> None:
    bad = fleet(4)
    bad["gpu-002"] = probe(once={"nvidia-smi-xml": healthy.smi_xml({1: {"gpu_recovery_action": "Reset"}})})
    report = judge_sweep(bad, H100)
    assert values(report)["gpu-002"] == "unfit"
    assert report.shared == ()
    assert report.value is VerdictValue.UNFIT


def test_the_order_of_nodes_and_of_arrival_changes_nothing() -> None:
    nodes = fleet(9, {2: {"gemm": 0.94}, 5: {"memory": 0.93}})
    first = judge_sweep(nodes, H100)
    names = list(nodes)
    random.Random(5).shuffle(names)
    again = judge_sweep({name: nodes[name] for name in names}, H100)
    assert {name: one.verdict for name, one in again.nodes.items()} == {
        name: one.verdict for name, one in first.nodes.items()
    }
    assert again.speed == first.speed
    assert again.reasons == first.reasons


def test_a_faster_peer_does_not_make_a_usual_node_suspect() -> None:
    report = judge_sweep(fleet(5, {0: {"gemm": 1.08}}), H100)
    assert report.remeasure == {}


def test_a_node_that_sent_nonsense_does_not_harm_its_peers() -> None:
    nodes: dict[str, Any] = fleet(4)
    nodes["gpu-004"] = {"schema": 99}
    nodes["gpu-005"] = None
    report = judge_sweep(nodes, H100)
    assert values(report)["gpu-004"] == values(report)["gpu-005"] == "not_measured"
    assert list(values(report).values()).count("fit") == 4


def test_an_unknown_sku_is_not_validated_and_says_so_loudly() -> None:
    for report in (judge_node(probe(), None), judge_sweep(fleet(1), None).nodes["gpu-000"]):
        assert report.verdict.value is VerdictValue.NOT_MEASURED
        assert "NOT VALIDATED" in report.verdict.reasons[0]
        assert report.readings


def test_a_sweep_of_nothing_measured_nothing() -> None:
    report = judge_sweep({}, H100)
    assert (report.value, report.speed) == (VerdictValue.NOT_MEASURED, None)


def test_a_verdict_keeps_the_baseline_and_the_policy_it_was_given_by() -> None:
    report = judge_node(node(), H100, baseline_set=learned())
    assert report.verdict.baseline_id == learned().id
    assert report.verdict.policy_version.startswith("policy-")
    assert not report.verdict.provisional


def test_peers_may_be_given_to_a_lone_node() -> None:
    peers = {"gemm_bf16": [769.0, 770.0, 768.0]}
    report = judge_node(node(0.955), H100, sweep_peers=peers)
    assert report.remeasure == ("gemm_bf16",)
    assert judge_node(node(0.955), H100).remeasure == ()


def test_versions_and_speed_are_told_with_the_report() -> None:
    report = judge_node(node(), H100, baseline_set=learned())
    assert (report.versions.driver, report.versions.kernel) == ("570.172.08", "6.8.0-60-generic")
    assert report.speed == pytest.approx(1.0, abs=0.01)
