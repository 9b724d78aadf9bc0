"""Does every repeat of a rerun count as one, whatever the node sent?"""

from __future__ import annotations

from typing import Any

import pytest

from provisioning.validation.policy import DEFAULT_POLICY
from provisioning.validation.reruns import split_runs, steady_policy
from tests.provisioning.validation.healthy import probe


def ids(part: object) -> list[str]:
    assert isinstance(part, dict)
    return [row["id"] for row in part["evidence"]]


def test_each_repeat_becomes_a_probe_of_its_own_in_order() -> None:
    parts = split_runs(probe(once=dict.fromkeys(("lspci", "mounts"), None)))
    assert len(parts) == 3
    assert "nvidia-smi-xml" in ids(parts[0])
    assert ids(parts[1]) == ["gemm", "nvbandwidth", "gpu-stream", "nccl-all-reduce"]
    assert all(isinstance(part, dict) and part["schema"] == 1 for part in parts)


def test_repeats_come_in_the_order_of_their_numbers_not_of_their_arrival() -> None:
    told = probe()
    turned = {**told, "evidence": list(reversed(told["evidence"]))}
    assert [sorted(ids(part)) for part in split_runs(turned)] == [
        sorted(ids(part)) for part in split_runs(told)
    ]


@pytest.mark.parametrize("odd", [None, [], "x", {}, {"evidence": None}, {"evidence": {}}])
def test_what_is_no_probe_has_no_repeats(odd: Any) -> None:
    assert split_runs(odd) == []


def test_a_repeat_without_a_number_is_the_first() -> None:
    assert len(split_runs({"evidence": [{"id": "gemm"}, "x", {"id": "gemm", "run": "2"}]})) == 1


def test_a_rerun_needs_one_repeat_and_changes_no_other_line() -> None:
    steady = steady_policy()
    assert steady.min_repeats == 1
    assert (steady.screen_cut, steady.max_spread) == (DEFAULT_POLICY.screen_cut, DEFAULT_POLICY.max_spread)
