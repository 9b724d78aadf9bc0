"""Is a cluster as fast as its slowest node, and is the loss the closed form?"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provisioning.validation.speed import cluster_speed, lost_per_day, node_speed


def ratios(*gemm: float) -> dict[str, dict[str, float]]:
    return {f"n{i}": {"gemm_bf16": value} for i, value in enumerate(gemm)}


def test_the_slowest_node_is_the_clusters_speed() -> None:
    found = cluster_speed(ratios(1.0, 1.01, 0.94, 1.0), gpus=32)
    assert found is not None
    assert (found.slowest_node, found.speed, found.metric) == ("n2", 0.94, "gemm_bf16")
    assert found.gpu_hours_lost_per_day == pytest.approx(0.06 * 32 * 24)
    assert "n2 is its slowest node" in found.words
    assert "46.1 of 768 GPU-hours a day" in found.words


def test_a_week_of_five_percent_of_1024_gpus_is_8602_gpu_hours() -> None:
    assert lost_per_day(0.95, 1.0, 1024) * 7 == pytest.approx(8601.6)


def test_equal_nodes_lose_nothing_and_the_sentence_says_so() -> None:
    found = cluster_speed(ratios(0.99, 0.99), gpus=16)
    assert found is not None
    assert found.gpu_hours_lost_per_day == 0
    assert "no slower than the others" in found.words


def test_the_metric_with_the_slowest_node_binds() -> None:
    told = {"a": {"gemm_bf16": 0.99, "mem_bw": 1.0}, "b": {"gemm_bf16": 1.0, "mem_bw": 0.93}}
    found = cluster_speed(told, gpus=16)
    assert found is not None
    assert (found.metric, found.slowest_node) == ("mem_bw", "b")


def test_copies_from_the_host_do_not_bind_a_synchronised_job() -> None:
    assert node_speed({"h2d_bw": 0.5, "gemm_bf16": 0.99}) == 0.99
    assert cluster_speed({"a": {"h2d_bw": 0.5}}, gpus=8) is None


def test_nothing_measured_has_no_speed() -> None:
    assert node_speed({}) is None
    assert cluster_speed({}, gpus=0) is None


@given(values=st.lists(st.floats(min_value=0.1, max_value=1.2), min_size=1, max_size=30))
def test_the_loss_is_never_negative_nor_more_than_the_day(values: list[float]) -> None:
    found = cluster_speed(ratios(*values), gpus=8 * len(values))
    assert found is not None
    assert 0 <= found.gpu_hours_lost_per_day <= 8 * len(values) * 24


@given(values=st.lists(st.floats(min_value=0.5, max_value=1.2), min_size=2, max_size=12, unique=True))
def test_the_order_of_nodes_changes_nothing(values: list[float]) -> None:
    told = ratios(*values)
    assert cluster_speed(told, gpus=8) == cluster_speed(dict(reversed(list(told.items()))), gpus=8)
