"""What a job came to, by the policy of its playbook."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provisioning.jobs.endings import conclude
from provisioning.jobs.failure_policy import ALL_OR_NOTHING, PER_NODE, FailurePolicy, Outcome
from provisioning.jobs.playbooks import REGISTRY
from provisioning.jobs.states import FINAL_ENDINGS, Ending

COUNTS = st.dictionaries(
    st.sampled_from(sorted(FINAL_ENDINGS)), st.integers(min_value=0, max_value=40), max_size=5
)
POLICIES = st.integers(min_value=0, max_value=100).map(lambda least: FailurePolicy(least_ok=least))
RANK = {Outcome.FAILED: 0, Outcome.PARTIAL: 1, Outcome.SUCCEEDED: 2}


@given(counts=COUNTS, policy=POLICIES)
def test_all_ok_alone_succeeds_and_none_ok_always_fails(
    counts: dict[str, int], policy: FailurePolicy
) -> None:
    ok, total = counts.get(Ending.OK, 0), sum(counts.values())
    found = policy.outcome(counts)
    assert (found is Outcome.SUCCEEDED) == (0 < ok == total)
    assert found is Outcome.FAILED or ok


@given(counts=COUNTS, policy=POLICIES, ending=st.sampled_from(sorted(FINAL_ENDINGS - {Ending.OK})))
def test_one_node_more_that_is_ok_never_makes_it_worse(
    counts: dict[str, int], policy: FailurePolicy, ending: Ending
) -> None:
    counts = {**counts, ending: counts.get(ending, 0) + 1}
    better = {**counts, ending: counts[ending] - 1, Ending.OK: counts.get(Ending.OK, 0) + 1}
    assert RANK[policy.outcome(better)] >= RANK[policy.outcome(counts)]


@given(counts=COUNTS)
def test_all_or_nothing_is_never_partial_and_per_node_counts_every_ok(counts: dict[str, int]) -> None:
    assert ALL_OR_NOTHING.outcome(counts) is not Outcome.PARTIAL
    assert (PER_NODE.outcome(counts) is Outcome.FAILED) == (not counts.get(Ending.OK))


@pytest.mark.parametrize(("ok", "found"), [(4, "failed"), (5, "partial"), (9, "partial"), (10, "succeeded")])
def test_half_is_enough_when_half_is_asked_for(ok: int, found: str) -> None:
    counts = {Ending.OK: ok, Ending.FAILED: 10 - ok}
    assert FailurePolicy(least_ok=50).outcome(counts) == found


@pytest.mark.parametrize("least", [-1, 101])
def test_least_ok_is_a_percentage(least: int) -> None:
    with pytest.raises(ValueError, match="percentage"):
        FailurePolicy(least_ok=least)


def test_joining_three_of_four_nodes_has_failed_and_says_why() -> None:
    found = conclude({Ending.OK: 3, Ending.FAILED: 1}, no_hosts=False, policy=REGISTRY["join_cluster"].policy)
    assert (found.action, found.reason) == ("fail", "hosts_failed")
    assert found.text == "Of 4 nodes 3 are ok, 1 failed. It counts only when every node is ok."


def test_validating_three_of_four_nodes_counts_for_the_three() -> None:
    policy = REGISTRY["validate_node"].policy
    found = conclude({Ending.OK: 3, Ending.UNREACHABLE: 1}, no_hosts=False, policy=policy)
    assert (found.action, found.reason) == ("succeed partly", "unreachable")


def test_nodes_that_are_measured_together_are_one_run() -> None:
    assert {name for name, book in REGISTRY.items() if book.shard_nodes is None} == {"validate_cluster"}
    assert {name for name, book in REGISTRY.items() if book.policy is ALL_OR_NOTHING} == {
        "join_cluster",
        "validate_cluster",
    }
