"""Is a baseline the same from the same rows, does it lean on its parents, and does a new SKU say that it is provisional?"""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from provisioning.fleet.sku_data import FigureKind
from provisioning.validation.baselines import (
    NO_BASELINES,
    BaselineSet,
    Reference,
    ScoreRow,
    Stratum,
    build_baselines,
    reference,
)
from provisioning.validation.policy import DEFAULT_POLICY
from tests.provisioning.validation.healthy import H100

KEY: Stratum = ("h100-sxm5-80g", "delivery", "570.172.08", "96.00.89.00.01", "6.8.0-60-generic", "")
NEW_DRIVER: Stratum = (*KEY[:2], "580.65.06", *KEY[3:])


def rows(
    count: int, value: float, *, key: Stratum = KEY, metric: str = "gemm_bf16", prefix: str = "n"
) -> list[ScoreRow]:
    return [ScoreRow(node=f"{prefix}{i}", stratum=key, metric=metric, value=value) for i in range(count)]


def against(
    baselines: BaselineSet, *, key: Stratum = KEY, metric: str = "gemm_bf16", peers: tuple[float, ...] = ()
) -> Reference:
    found = reference(metric, key, H100, baselines=baselines, peers=peers, policy=DEFAULT_POLICY)
    assert found is not None
    return found


@settings(max_examples=40)
@given(
    values=st.lists(st.floats(min_value=700, max_value=800), min_size=1, max_size=12),
    order=st.randoms(use_true_random=False),
)
def test_the_same_rows_in_any_order_have_the_same_id(values: list[float], order: object) -> None:
    made = [
        ScoreRow(node=f"n{i % 5}", stratum=KEY, metric="gemm_bf16", value=value)
        for i, value in enumerate(values)
    ]
    assert build_baselines(made).id == build_baselines(list(reversed(made))).id


def test_another_value_has_another_id() -> None:
    assert build_baselines(rows(5, 760.0)).id != build_baselines(rows(5, 760.1)).id


def test_a_baseline_survives_being_stored() -> None:
    made = build_baselines([*rows(6, 760.0), *rows(6, 3000.0, metric="mem_bw")])
    again = BaselineSet.from_dict(json.loads(json.dumps(made.to_dict())))
    assert again == made
    assert again.id == made.id


def test_an_unknown_schema_is_refused() -> None:
    with pytest.raises(ValueError, match="schema"):
        BaselineSet.from_dict({"schema": 9, "levels": []})


def test_a_node_measured_often_counts_once() -> None:
    often = [ScoreRow(node="n0", stratum=KEY, metric="gemm_bf16", value=700.0) for _ in range(50)]
    made = build_baselines([*often, *rows(4, 760.0, prefix="m")])
    assert made.chain(KEY, "gemm_bf16")[-1].nodes == 5
    assert math.exp(made.chain(KEY, "gemm_bf16")[-1].log_median) == pytest.approx(760.0)


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf])
def test_a_score_that_is_no_measurement_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match="can't be in a baseline"):
        build_baselines(rows(1, value))


def test_a_new_sku_with_one_node_is_provisional_and_uses_the_skus_figure_with_more_room() -> None:
    found = against(build_baselines(rows(1, 700.0)))
    assert (found.provisional, found.origin, found.value) == (True, "sku", 769.0)
    assert found.cut == pytest.approx(0.05)


def test_five_nodes_are_the_fleets_own_word() -> None:
    found = against(build_baselines(rows(5, 760.0)))
    assert (found.provisional, found.origin) == (False, "fleet")


def test_few_nodes_lean_on_the_sku_by_n_over_n_plus_ten() -> None:
    found = against(build_baselines(rows(10, 700.0)))
    assert found.value == pytest.approx(math.exp((math.log(700) + math.log(769)) / 2))


def test_many_nodes_are_their_own_baseline() -> None:
    assert against(build_baselines(rows(1000, 700.0))).value == pytest.approx(700, rel=0.002)


def test_an_estimated_sku_figure_yields_sooner_than_a_measured_one() -> None:
    assert H100.expected["mem_bw"].kind is FigureKind.ESTIMATE
    found = against(build_baselines(rows(8, 2700.0, metric="mem_bw")), metric="mem_bw")
    assert found.value == pytest.approx(math.exp(0.8 * math.log(2700) + 0.2 * math.log(3015)))


def test_a_new_driver_leans_on_the_nodes_of_the_same_sku() -> None:
    known = build_baselines([*rows(200, 760.0), *rows(2, 700.0, key=NEW_DRIVER, prefix="m")])
    found = against(known, key=NEW_DRIVER)
    assert not found.provisional
    assert 745 < found.value < 760


def test_a_level_that_adds_no_node_is_not_counted_twice() -> None:
    assert len(build_baselines(rows(8, 760.0)).chain(KEY, "gemm_bf16")) == 1


def test_peers_speak_where_the_fleet_has_not_yet() -> None:
    found = against(NO_BASELINES, peers=(740.0, 742.0, 741.0, 600.0))
    assert (found.origin, found.provisional) == ("peers", True)
    assert found.value == pytest.approx(740.5, abs=0.5)
    assert found.cut == pytest.approx(0.03, abs=0.005)


def test_one_other_node_is_no_peer_group() -> None:
    assert against(NO_BASELINES, peers=(740.0,)).origin == "sku"
    assert against(NO_BASELINES, peers=(740.0, 742.0)).origin == "peers"


def test_the_fleet_outranks_the_peers_so_that_a_slow_rack_is_seen() -> None:
    known = build_baselines(rows(200, 760.0))
    assert against(known, peers=(700.0,) * 8).origin == "fleet"


def test_a_metric_without_any_figure_has_no_reference() -> None:
    bare = replace(H100, expected={})
    assert reference("gemm_bf16", KEY, bare, baselines=NO_BASELINES, policy=DEFAULT_POLICY) is None


def test_a_noisy_stratum_gets_a_wider_cut_and_a_quiet_one_does_not() -> None:
    noisy = [
        ScoreRow(node=f"n{i}", stratum=KEY, metric="gemm_bf16", value=760 * (1 + (-1) ** i * 0.03))
        for i in range(100)
    ]
    assert against(build_baselines(noisy)).cut > 0.08
    assert against(build_baselines(rows(100, 760.0))).cut == pytest.approx(0.03)
