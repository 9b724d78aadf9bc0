"""Are slow nodes found, healthy ones left alone, and shared causes blamed on no node? Seeded fleets decide."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from provisioning.validation.baselines import NO_BASELINES, Reference, reference
from provisioning.validation.metrics import METRICS
from provisioning.validation.policy import DEFAULT_POLICY, Policy
from provisioning.validation.scores import Score
from provisioning.validation.stragglers import (
    Confirmed,
    Screened,
    Suspicion,
    breaches,
    confirm,
    screen,
    shared_causes,
)
from provisioning.validation.sweep_judge import CROWD
from tests.provisioning.validation.healthy import H100

POLICY = DEFAULT_POLICY
BUDGET = 2.9e-4
"""Published share of healthy nodes confirmed in a sweep of six metrics, where dips do not last into the reruns."""


def scored(value: float, metric: str = "gemm_bf16") -> Score:
    return Score(
        metric=metric,
        value=value,
        unit="TFLOP/s",
        device="gpu:0",
        spread=0.0,
        runs=3,
        by_device=(),
        evidence=(),
    )


def ref(value: float = 100.0, cut: float = 0.03, pass_line: float | None = None) -> Reference:
    return Reference(
        metric="gemm_bf16",
        value=value,
        cut=cut,
        scale=0.01,
        nodes=100,
        provisional=False,
        origin="fleet",
        pass_line=pass_line,
    )


def suspect(value: float = 95.0, against: Reference | None = None) -> Suspicion:
    found = screen("n1", scored(value), against or ref(), policy=POLICY)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (100.0, None),
        (97.01, None),
        (96.9, Screened.SUSPECT),
        (76.0, Screened.SUSPECT),
        (74.9, Screened.GROSS),
    ],
)
def test_the_screen_cuts_at_three_percent_and_calls_a_quarter_gross(
    value: float, found: Screened | None
) -> None:
    made = screen("n1", scored(value), ref(), policy=POLICY)
    assert (made.screened if made is not None else None) == found


def test_a_published_limit_is_breached_even_close_to_the_reference() -> None:
    made = screen("n1", scored(99.0), ref(pass_line=99.5), policy=POLICY)
    assert made is not None
    assert made.below_pass_line
    assert "published limit" in made.words


@given(low=st.floats(min_value=10, max_value=200), more=st.floats(min_value=0, max_value=50))
def test_a_faster_node_is_never_judged_worse(low: float, more: float) -> None:
    against = ref(pass_line=96.0)
    assert breaches(low, against) or not breaches(low + more, against)


@pytest.mark.parametrize(
    ("reruns", "state"),
    [
        ([], Confirmed.RERUN),
        ([95.0], Confirmed.RERUN),
        ([95.0, 95.0], Confirmed.CONFIRMED),
        ([100.0, 100.0], Confirmed.CLEARED),
        ([95.0, 100.0], Confirmed.RERUN),
        ([95.0, 100.0, 95.0], Confirmed.CONFIRMED),
        ([95.0, 100.0, 100.0], Confirmed.CLEARED),
        ([None, None, None], Confirmed.RERUN),
        ([None, 95.0, None, 95.0], Confirmed.CONFIRMED),
    ],
)
def test_two_of_three_reruns_decide_and_agreement_ends_early(
    reruns: list[float | None], state: Confirmed
) -> None:
    assert confirm(suspect(), reruns, policy=POLICY).state is state


def test_a_good_node_that_is_as_slow_makes_it_a_shared_cause() -> None:
    found = confirm(suspect(), [95.0, 95.0], control=[94.0], policy=POLICY)
    assert found.state is Confirmed.SHARED_CAUSE
    assert confirm(suspect(), [95.0, 95.0], control=[100.0], policy=POLICY).state is Confirmed.CONFIRMED


def test_a_larger_fleet_may_ask_for_three_of_four() -> None:
    strict = Policy(confirm_breaches=3, confirm_reruns=4)
    assert confirm(suspect(), [95.0, 95.0], policy=strict).state is Confirmed.RERUN
    assert confirm(suspect(), [95.0, 100.0, 95.0, 95.0], policy=strict).state is Confirmed.CONFIRMED
    assert confirm(suspect(), [100.0, 100.0], policy=strict).state is Confirmed.CLEARED


def test_a_quantised_metric_is_compared_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = dict(METRICS) | {"gemm_bf16": replace(METRICS["gemm_bf16"], quantised=True)}
    monkeypatch.setattr("provisioning.validation.baselines.METRICS", exact)
    against = reference("gemm_bf16", (), H100, baselines=NO_BASELINES, peers=[400.0] * 6, policy=POLICY)
    assert against is not None
    assert not breaches(400.0, replace(against, pass_line=None))
    assert breaches(399.9, replace(against, pass_line=None))


def test_the_guard_starts_at_four_nodes_and_a_fifth_of_the_cohort() -> None:
    cohort = {"versions a": [f"n{i}" for i in range(20)]}
    assert shared_causes({"x": ["n0", "n1", "n2"]}, cohort, policy=POLICY) == ()
    found = shared_causes({"x": ["n3", "n0", "n2", "n1"]}, cohort, policy=POLICY)
    assert [(one.check_id, one.nodes) for one in found] == [("x", ("n0", "n1", "n2", "n3"))]
    wide = {"versions a": [f"n{i}" for i in range(21)]}
    assert shared_causes({"x": ["n3", "n0", "n2", "n1"]}, wide, policy=POLICY) == ()


def test_one_bad_node_of_four_is_still_a_bad_node() -> None:
    assert shared_causes({"x": ["n0"]}, {"a": ["n0", "n1", "n2", "n3"]}, policy=POLICY) == ()


def test_a_slow_rack_in_a_large_sweep_is_seen_by_its_rack() -> None:
    nodes = [f"n{i}" for i in range(64)]
    cohorts = {"versions a": nodes, "rack 3": nodes[24:32]}
    found = shared_causes({"gemm_bf16": nodes[24:32]}, cohorts, policy=POLICY)
    assert [one.cohort for one in found] == ["rack 3"]


@settings(max_examples=30)
@given(order=st.permutations([f"n{i}" for i in range(8)]))
def test_the_guard_does_not_depend_on_order(order: list[str]) -> None:
    cohorts = {"b": order, "a": list(reversed(order))}
    found = shared_causes({"x": order[:5], "w": order}, cohorts, policy=POLICY)
    again = shared_causes(
        {"w": sorted(order), "x": sorted(order[:5])}, {"a": sorted(order), "b": sorted(order)}, policy=POLICY
    )
    assert found == again


# The fleets of validation: node sd 0.6 %, repeat sd 0.8 % with t4 tails, 2 % of measurements dip by 3 to 10 %.


def t4(rng: random.Random) -> float:
    chi = sum(rng.gauss(0, 1) ** 2 for _ in range(4))
    return rng.gauss(0, 1) / math.sqrt(chi / 4) / math.sqrt(2)  # scaled to variance 1


def measure(rng: random.Random, true: float, *, noise: float = 0.008, dip: bool | None = None) -> float:
    low = rng.random() < 0.02 if dip is None else dip
    return true * (1 + noise * t4(rng)) * (1 - rng.uniform(0.03, 0.10) if low else 1.0)


def sweep(
    rng: random.Random,
    count: int,
    *,
    slow: frozenset[int] = frozenset(),
    deficit: float = 0.05,
    noise: float = 0.008,
    persists: float = 0.0,
) -> tuple[set[int], set[int]]:
    """One metric of one sweep: the nodes suspected and, of those, the nodes confirmed."""
    true = [(1 + rng.gauss(0, 0.006)) * (1 - deficit if node in slow else 1) for node in range(count)]
    dips = [rng.random() < 0.02 for _ in range(count)]
    first = [measure(rng, value, noise=noise, dip=dips[node]) for node, value in enumerate(true)]
    suspected: set[int] = set()
    confirmed: set[int] = set()
    crowd = beside(first, None) if count > CROWD else None
    for node, value in enumerate(first):
        against = crowd or beside(first, node)
        found = screen(f"n{node}", scored(value), against, policy=POLICY)
        if found is None:
            continue
        suspected.add(node)
        lasts = dips[node] and rng.random() < persists
        reruns = [measure(rng, true[node], noise=noise, dip=True if lasts else None) for _ in range(3)]
        if confirm(found, reruns, policy=POLICY).state is Confirmed.CONFIRMED:
            confirmed.add(node)
    return suspected, confirmed


def beside(values: list[float], node: int | None) -> Reference:
    """What the sweep compares a node with: the others; in a crowd, everyone."""
    bare = replace(H100, expected={})
    peers = [value for other, value in enumerate(values) if other != node]
    found = reference("gemm_bf16", (), bare, baselines=NO_BASELINES, peers=peers, policy=POLICY)
    assert found is not None
    return found


def rates(count: int, sweeps: int, **kwargs: object) -> tuple[float, float]:
    rng = random.Random(20_261_130 + count)
    totals = [sweep(rng, count, **kwargs) for _ in range(sweeps)]  # type: ignore[arg-type]
    nodes = count * sweeps
    return sum(len(one) for one, _ in totals) / nodes, sum(len(two) for _, two in totals) / nodes


@pytest.mark.parametrize(("count", "sweeps"), [(4, 600), (64, 60), (4096, 2)])
def test_healthy_fleets_stay_within_the_published_budget(count: int, sweeps: int) -> None:
    _, confirmed = rates(count, sweeps)
    per_metric = 1.5 * BUDGET / 6
    allowed = per_metric * count * sweeps
    # With so few expected events, the bound is the 99 % point of a Poisson with that mean.
    assert confirmed * count * sweeps <= allowed + 2.6 * math.sqrt(allowed) + 1


def test_the_screen_alone_suspects_far_more_than_it_confirms() -> None:
    suspected, confirmed = rates(64, 30)
    assert 0.01 < suspected < 0.06
    assert confirmed < suspected / 20


def test_dips_that_last_into_the_reruns_raise_the_rate_of_confirmed_healthy_nodes() -> None:
    _, calm = rates(64, 25)
    _, lasting = rates(64, 25, persists=0.5)
    assert lasting > calm + 0.002


@pytest.mark.parametrize(("count", "sweeps"), [(8, 600), (64, 60)])
def test_a_node_that_is_five_percent_slow_is_found(count: int, sweeps: int) -> None:
    rng = random.Random(7 + count)
    found = sum(1 for _ in range(sweeps) if 0 in sweep(rng, count, slow=frozenset({0}))[1])
    assert found / sweeps >= 0.93


def test_four_nodes_still_find_the_one_bad_one() -> None:
    rng = random.Random(11)
    found = sum(1 for _ in range(300) if 0 in sweep(rng, 4, slow=frozenset({0}))[1])
    assert found / 300 >= 0.80


def test_a_noisier_sku_is_not_suspected_more_than_twice_as_often() -> None:
    quiet, _ = rates(64, 30, noise=0.006)
    noisy, _ = rates(64, 30, noise=0.016)
    assert noisy <= 2 * quiet


@pytest.mark.parametrize("count", [2, 3, 4, 8, 512])
def test_any_number_of_equal_nodes_has_no_suspect(count: int) -> None:
    against: Callable[[float], bool]
    found = reference("gemm_bf16", (), H100, baselines=NO_BASELINES, peers=[769.0] * count, policy=POLICY)
    assert found is not None
    against = lambda value: breaches(value, found)  # noqa: E731
    assert not against(769.0)
    assert against(700.0)


def test_a_permuted_sweep_suspects_the_same_nodes() -> None:
    rng = random.Random(3)
    values = [measure(rng, 769.0) for _ in range(64)] + [700.0]
    first = reference("gemm_bf16", (), H100, baselines=NO_BASELINES, peers=values, policy=POLICY)
    rng.shuffle(values)
    assert reference("gemm_bf16", (), H100, baselines=NO_BASELINES, peers=values, policy=POLICY) == first
