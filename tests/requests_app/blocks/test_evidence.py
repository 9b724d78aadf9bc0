"""How much of a block is believed: measured, confirmed, claimed; and nobody gains by naming the same people twice."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from requests_app.blocks.evidence import Counted, Evidence, Named, count
from requests_app.priority.scoring import Facts, Policy, impact

evidences = st.builds(
    Evidence,
    people=st.integers(0, 50),
    idle_gpus=st.integers(0, 2000),
    measured_gpus=st.none() | st.integers(0, 2000),
    confirmed=st.booleans(),
    named=st.lists(
        st.builds(Named, confirmed=st.booleans(), half=st.booleans(), named_in=st.integers(1, 5))
    ).map(tuple),
    gpu_part=st.floats(0.1, 1),
    claim_ratio=st.floats(0.5, 1),
)


def counts(evidence: Evidence) -> float:
    """R of the evidence."""
    counted: Counted = count(evidence)
    facts = Facts(
        ready_at=0,
        idle_gpu_hours=counted.idle_gpu_hours,
        people=counted.people,
        dated_loss=counted.dated_loss,
        confidence=counted.confidence,
        people_confidence=counted.people_confidence,
        dated_confidence=counted.dated_confidence,
    )
    return impact(facts, Policy())


def test_claim_counts_half() -> None:
    assert counts(Evidence(idle_gpus=64)) == 768
    assert counts(Evidence(people=2)) == 530


def test_the_desks_word_counts_eighty_percent() -> None:
    assert counts(Evidence(idle_gpus=64, confirmed=True)) == 0.8 * 64 * 24


def test_measurement_counts_in_full_and_beats_the_claim() -> None:
    assert counts(Evidence(idle_gpus=64, measured_gpus=32)) == 32 * 24
    assert counts(Evidence(idle_gpus=64, measured_gpus=0)) == 1


def test_measuring_gpus_measures_no_people() -> None:
    assert counts(Evidence(people=1000, measured_gpus=1)) == 24 + 0.5 * 530 * 1000


def test_worked_example_three_confirmed_people_and_a_measurement() -> None:
    three = tuple(Named(confirmed=True) for _ in range(3))
    assert counts(Evidence(people=3, measured_gpus=32, named=three)) == 768 + 3 * 530


def test_own_click_counts_more_than_a_number() -> None:
    assert counts(Evidence(people=1, named=(Named(confirmed=True),))) == 0.8 * 530
    assert counts(Evidence(people=1, named=(Named(),))) == 0.5 * 530


def test_who_says_no_is_off_the_count() -> None:
    assert counts(Evidence(people=2, named=(Named(refused=True), Named()))) == 0.5 * 530


def test_person_named_in_two_blocks_counts_half_in_each() -> None:
    alone = counts(Evidence(people=1, named=(Named(confirmed=True),)))
    split = counts(Evidence(people=1, named=(Named(confirmed=True, named_in=2),)))
    assert 2 * split == alone


def test_claim_ratio_lowers_claims_and_nothing_else() -> None:
    assert counts(Evidence(idle_gpus=64, claim_ratio=0.5)) == 384
    assert counts(Evidence(idle_gpus=64, confirmed=True, claim_ratio=0.5)) == 0.8 * 64 * 24
    assert counts(Evidence(measured_gpus=64, claim_ratio=0.5)) == 64 * 24


def test_what_a_sponsor_vouches_for_counts_as_confirmed() -> None:
    assert counts(Evidence(dated_loss=1000)) == 800


@given(evidences)
def test_a_word_of_the_desk_never_lowers_what_counts(evidence: Evidence) -> None:
    assert counts(replace(evidence, confirmed=True)) >= counts(replace(evidence, confirmed=False)) - 1e-6


@given(evidences, st.integers(1, 100))
def test_more_people_never_count_less(evidence: Evidence, more: int) -> None:
    assert counts(replace(evidence, people=evidence.people + more)) >= counts(evidence) - 1e-6
