"""Is a cluster's collective judged as the cluster's, and not measured where it did not run as asked?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from provisioning.contracts import VerdictValue
from provisioning.validation.judge import judge_collective
from tests.provisioning.validation.healthy import H100, NOISE, evidence, nccl_text

ID = "nccl-all-reduce-cluster"


def sent(*runs: bytes) -> dict[str, Any]:
    return {
        "schema": 1,
        "node": "gpu-001",
        "evidence": [evidence(ID, raw, run=n) for n, raw in enumerate(runs, start=1)],
    }


def runs(busbw: float, **kwargs: Any) -> dict[str, Any]:
    return sent(*(nccl_text(busbw, factor=factor, nodes=4, **kwargs) for factor in NOISE))


@pytest.mark.parametrize(
    ("busbw", "value"), [(365.0, VerdictValue.FIT), (343.0, VerdictValue.FIT), (300.0, VerdictValue.DEGRADED)]
)
def test_a_low_collective_degrades_the_cluster(busbw: float, value: VerdictValue) -> None:
    report = judge_collective(runs(busbw), H100, gpus=32)
    assert (report.value, report.busbw_gbps, report.correct) == (value, busbw, True)


def test_what_earlier_clusters_reached_outranks_the_skus_figure() -> None:
    report = judge_collective(runs(365.0), H100, gpus=32, expected_gbps=400.0)
    assert report.value is VerdictValue.DEGRADED
    assert "8.8% below 400" in report.reasons[0]


def test_wrong_results_are_unfit_at_any_speed() -> None:
    assert judge_collective(runs(380.0, wrong="2"), H100, gpus=32).value is VerdictValue.UNFIT


def test_unchecked_results_are_not_measured() -> None:
    assert judge_collective(runs(380.0, wrong="N/A"), H100, gpus=32).value is VerdictValue.NOT_MEASURED


def test_a_run_over_fewer_gpus_is_not_this_clusters_collective() -> None:
    report = judge_collective(runs(380.0), H100, gpus=64)
    assert report.value is VerdictValue.NOT_MEASURED
    assert "32 of 64" in report.reasons[0]


def test_a_launcher_that_failed_is_not_measured(captures: Path) -> None:
    raw = (captures / "nccl-tests/mpirun-not-enough-slots.txt").read_bytes()
    report = judge_collective(sent(raw), H100, gpus=32)
    assert report.value is VerdictValue.NOT_MEASURED
    assert "not enough slots" in report.reasons[0]


def test_noise_is_not_measured() -> None:
    report = judge_collective(
        sent(*(nccl_text(busbw, nodes=4) for busbw in (380.0, 340.0, 300.0))), H100, gpus=32
    )
    assert report.value is VerdictValue.NOT_MEASURED


def test_nothing_at_all_is_not_measured() -> None:
    assert judge_collective(None, H100, gpus=32).value is VerdictValue.NOT_MEASURED
