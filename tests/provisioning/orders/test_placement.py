"""Does the placement rule hold whatever the fleet looks like?"""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provisioning.orders.placement import Candidate, Choice, Shortfall, choose


def a_node(
    number: int, rack: str = "r1", *, speed: float | None = 1.0, spare: bool = False, site: str = ""
) -> Candidate:
    return Candidate(name=f"n{number:03d}", rack=rack, site=site, speed=speed, spare=spare)


fleets = st.lists(
    st.builds(
        lambda rack, speed, spare: (rack, speed, spare),
        st.sampled_from(["r1", "r2", "r3", ""]),
        st.sampled_from([None, 1.0, 0.99, 0.9, 0.5]),
        st.booleans(),
    ),
    max_size=12,
).map(lambda rows: [a_node(i, rack, speed=speed, spare=spare) for i, (rack, speed, spare) in enumerate(rows)])
counts = st.integers(min_value=0, max_value=13)
kept = st.none() | st.integers(min_value=0, max_value=5)


@given(fleets, counts, kept)
def test_a_choice_has_exactly_the_nodes_asked_for_and_each_once(
    fleet: list[Candidate], count: int, spares_kept: int | None
) -> None:
    chosen = choose(fleet, count, spares_kept=spares_kept)
    if isinstance(chosen, Choice):
        assert len(chosen.names) == len(set(chosen.names)) == count
        assert set(chosen.names) <= {one.name for one in fleet}


@given(fleets, counts, kept)
def test_spares_stay_back_unless_a_node_is_replaced(
    fleet: list[Candidate], count: int, spares_kept: int | None
) -> None:
    chosen = choose(fleet, count, spares_kept=spares_kept)
    if isinstance(chosen, Choice):
        spares = {one.name for one in fleet if one.spare}
        assert not spares & set(chosen.names)
        assert len(fleet) - count >= max(len(spares), min(spares_kept or 0, len(fleet)))


@given(fleets, counts, kept)
def test_a_refusal_offers_what_would_have_been_a_yes(
    fleet: list[Candidate], count: int, spares_kept: int | None
) -> None:
    refused = choose(fleet, count, spares_kept=spares_kept)
    if isinstance(refused, Shortfall):
        assert refused.nearest_yes < count
        assert isinstance(choose(fleet, refused.nearest_yes, spares_kept=spares_kept), Choice)
        assert isinstance(choose(fleet, refused.nearest_yes + 1, spares_kept=spares_kept), Shortfall)


@given(fleets, counts, st.randoms(use_true_random=False))
def test_the_order_of_candidates_never_matters(
    fleet: list[Candidate], count: int, chance: random.Random
) -> None:
    shuffled = list(fleet)
    chance.shuffle(shuffled)
    assert choose(fleet, count) == choose(shuffled, count)


@given(fleets, counts)
def test_a_known_slow_node_is_taken_only_when_no_other_is_left(fleet: list[Candidate], count: int) -> None:
    chosen = choose(fleet, count)
    if isinstance(chosen, Choice) and chosen.slow:
        left = {one.name for one in fleet if not one.is_slow and not one.spare} - set(chosen.names)
        assert left == set()


@given(fleets, counts)
def test_no_choice_of_steady_nodes_needs_fewer_racks(fleet: list[Candidate], count: int) -> None:
    chosen = choose(fleet, count)
    steady = [one for one in fleet if not one.is_slow and not one.spare]
    if isinstance(chosen, Choice) and 0 < count <= len(steady):
        sizes = sorted(
            (len([n for n in steady if n.rack == rack]) for rack in {n.rack for n in steady}), reverse=True
        )
        fewest = next(i for i, total in enumerate(itertools.accumulate(sizes), start=1) if total >= count)
        assert len(chosen.racks) == fewest


def test_the_rack_that_fits_tightest_is_taken_so_that_large_racks_stay_whole() -> None:
    fleet = [a_node(i, "large") for i in range(6)] + [a_node(i + 10, "small") for i in range(3)]
    chosen = choose(fleet, 3)
    assert isinstance(chosen, Choice)
    assert chosen.racks == ("small",)


def test_a_growing_cluster_gets_nodes_in_its_own_rack() -> None:
    fleet = [a_node(i, "r1") for i in range(4)] + [a_node(i + 10, "r2") for i in range(2)]
    chosen = choose(fleet, 2, near=["r1"])
    assert isinstance(chosen, Choice)
    assert chosen.racks == ("r1",)


def test_a_replacement_is_a_steady_spare_before_anything_else() -> None:
    fleet = [a_node(1), a_node(2, spare=True, speed=0.8), a_node(3, spare=True)]
    chosen = choose(fleet, 1, use_spares=True)
    assert isinstance(chosen, Choice)
    assert chosen.names == ("n003",)


def test_no_spares_are_kept_when_the_number_is_nought_but_marked_ones_are() -> None:
    fleet = [a_node(1), a_node(2), a_node(3, spare=True)]
    assert isinstance(choose(fleet, 2, spares_kept=0), Choice)
    assert isinstance(choose(fleet, 2, spares_kept=2), Shortfall)
    assert isinstance(choose(fleet, 2, spares_kept=None), Choice)


def test_a_choice_and_a_refusal_say_why() -> None:
    fleet = [a_node(1), a_node(2, speed=0.5), a_node(3, spare=True)]
    chosen, refused = choose(fleet, 1), choose(fleet, 5)
    assert isinstance(chosen, Choice)
    assert isinstance(refused, Shortfall)
    assert chosen.why == "1 node in rack r1; 1 node kept back as spares; 1 node left out as known slow"
    assert refused.say("h100") == (
        "5 nodes of h100 were asked for and 2 are free; 1 node more kept back as spares. 2 nodes can be had now."
    )


def a_site(name: str, count: int, *, start: int, **more: Any) -> list[Candidate]:
    return [a_node(start + number, f"{name}-r1", site=name, **more) for number in range(count)]


spread = st.lists(
    st.tuples(st.sampled_from(["", "north", "south"]), st.sampled_from([None, 1.0, 0.9]), st.booleans()),
    max_size=12,
).map(
    lambda rows: [
        a_node(number, f"{site}-r{number % 2}", site=site, speed=speed, spare=spare)
        for number, (site, speed, spare) in enumerate(rows)
    ]
)


@given(spread, counts, kept, st.sampled_from([None, "north", "elsewhere"]), st.booleans())
def test_all_nodes_of_a_choice_stand_at_one_site_and_each_site_keeps_its_spares(
    fleet: list[Candidate], count: int, spares_kept: int | None, site: str | None, use_spares: bool
) -> None:
    chosen = choose(fleet, count, spares_kept=spares_kept, site=site, use_spares=use_spares)
    if isinstance(chosen, Choice):
        sites = {one.site for one in fleet if one.name in chosen.names}
        assert len(sites) <= 1
        assert site is None or sites <= {site}
        here = [one for one in fleet if one.site in sites]
        assert use_spares or not here or len(here) - count >= sum(one.spare for one in here)
    else:
        again = choose(fleet, chosen.nearest_yes, spares_kept=spares_kept, site=site, use_spares=use_spares)
        assert isinstance(again, Choice)


def test_a_site_without_slow_nodes_is_taken_and_of_two_the_smaller() -> None:
    slow = a_site("east", 3, start=0, speed=0.5)
    fleet = [*slow, *a_site("north", 5, start=10), *a_site("south", 4, start=20)]
    chosen = choose(fleet, 3)
    assert isinstance(chosen, Choice)
    assert chosen.names == ("n020", "n021", "n022")
    assert chosen.why == "3 nodes in rack south-r1 of site south"


def test_a_cluster_that_no_site_can_hold_is_refused_with_what_each_has() -> None:
    refused = choose([*a_site("north", 4, start=0), *a_site("south", 3, start=10)], 6)
    assert isinstance(refused, Shortfall)
    assert refused.nearest_yes == 4
    assert refused.say("h100") == (
        "6 nodes of h100 were asked for and 4 are free at one site (north 4, south 3). 4 nodes can be had now."
    )


def test_a_replacement_comes_from_the_site_of_its_cluster() -> None:
    fleet = [*a_site("north", 1, start=0, spare=True), *a_site("south", 2, start=10)]
    chosen = choose(fleet, 1, site="south", use_spares=True)
    assert isinstance(chosen, Choice)
    assert chosen.names == ("n010",)
    assert isinstance(choose(fleet, 1, site="east", use_spares=True), Shortfall)


def test_a_number_below_nought_is_an_error() -> None:
    with pytest.raises(ValueError, match="-1"):
        choose([], -1)
