"""Does the fleet learn from what healthy nodes reached, and from nothing else?"""

from __future__ import annotations

from datetime import timedelta

import pytest

from provisioning.validation import history
from provisioning.validation.baselines import NO_BASELINES
from provisioning.validation.history import baseline_now
from provisioning.validation.models import Baseline, Kind, Report
from provisioning.validation.services import judge_reruns, judge_sweep
from tests.provisioning.builders import a_sku, some_nodes
from tests.provisioning.validation.stored import all_of, measured, rerun, sent

pytestmark = pytest.mark.django_db
SKU = "h100-sxm5-80g"
NAMES = [f"gpu-{number:03d}" for number in range(1, 7)]


def test_before_there_is_history_the_baseline_is_the_empty_one() -> None:
    a_sku()
    assert history.read(baseline_now(SKU)) == NO_BASELINES


def test_the_same_content_is_the_same_row() -> None:
    some_nodes(6)
    judge_sweep(job=measured(all_of(NAMES)))
    first = baseline_now(SKU)
    assert baseline_now(SKU).pk == first.pk
    judge_sweep(job=measured(all_of(NAMES)))
    assert baseline_now(SKU).pk == first.pk  # the same nodes reached the same
    assert Baseline.objects.count() == 2  # the empty one and this


def test_a_lone_spare_is_held_against_what_the_fleet_reached() -> None:
    some_nodes(7)
    judge_sweep(job=measured(all_of(NAMES)))
    spare = judge_sweep(job=measured({"gpu-007": sent(0.94)}))["gpu-007"]
    assert spare.references["gemm_bf16"]["origin"] == "fleet"
    assert spare.references["gemm_bf16"]["nodes"] == 6
    assert spare.suspected_of == ["gemm_bf16"]
    assert judge_sweep(job=measured({"gpu-007": sent()}))["gpu-007"].verdict == "fit"


def test_without_history_a_lone_spare_is_held_against_its_sku() -> None:
    some_nodes(1)
    report = judge_sweep(job=measured({"gpu-001": sent()}))["gpu-001"]
    assert {one["origin"] for one in report.references.values()} == {"sku"}
    assert all(one["provisional"] for one in report.references.values())


def test_suspects_degraded_nodes_and_reruns_teach_nothing() -> None:
    some_nodes(6)
    judge_sweep(job=measured(all_of(NAMES, gpu_002=sent(0.94))))
    known = history.read(baseline_now(SKU))
    assert max(level.nodes for level in known.levels) == 5
    judge_reruns(job=measured({"gpu-002": rerun()}), control="")  # cleared, and only a rerun
    assert Report.objects.filter(kind=Kind.CONFIRM, verdict="fit").exists()
    assert history.read(baseline_now(SKU)) == known


def test_what_is_older_than_memory_is_forgotten() -> None:
    some_nodes(6)
    judge_sweep(job=measured(all_of(NAMES)))
    for report in Report.objects.all():
        report.judged_at -= history.MEMORY + timedelta(minutes=1)
        report.save(update_fields=["judged_at"])
    assert history.read(baseline_now(SKU)) == NO_BASELINES


def test_another_sku_teaches_nothing() -> None:
    some_nodes(6)
    judge_sweep(job=measured(all_of(NAMES)))
    a_sku("h200-sxm-141g")
    assert history.read(baseline_now("h200-sxm-141g")) == NO_BASELINES


def test_a_rerun_is_judged_by_the_baseline_of_its_sweep() -> None:
    some_nodes(7)
    judge_sweep(job=measured(all_of(NAMES)))
    suspected = judge_sweep(job=measured({"gpu-002": sent(0.94)}))["gpu-002"]
    judge_sweep(job=measured({"gpu-007": sent()}))  # the fleet knows one node more since
    ended = judge_reruns(job=measured({"gpu-002": rerun(0.94)}), control="")["gpu-002"]
    assert baseline_now(SKU).pk != suspected.baseline_id
    assert ended.baseline_id == suspected.baseline_id
    assert ended.references == suspected.references
