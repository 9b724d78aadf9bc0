"""Does a verdict follow from its findings alone, never better for a worse finding, and fit only when all was measured?"""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from provisioning.contracts import VerdictValue
from provisioning.validation.baselines import Reference
from provisioning.validation.finding import Finding, FindingLevel, Severity
from provisioning.validation.stragglers import Confirmation, Confirmed, Screened, SharedCause, Suspicion
from provisioning.validation.verdict import Case, NodeVerdict, Waiver, decide

SEVERITIES = {
    "a": Severity.UNFIT,
    "b": Severity.DEGRADED,
    "c": Severity.UNFIT,
    "gemm_bf16": Severity.DEGRADED,
}
LEVELS = list(FindingLevel)
BADNESS = {VerdictValue.FIT: 0, VerdictValue.NOT_MEASURED: 1, VerdictValue.DEGRADED: 2, VerdictValue.UNFIT: 3}


def finding(check_id: str, level: FindingLevel, device: str = "node") -> Finding:
    return Finding(
        check_id=check_id, level=level, message=f"{check_id} on {device} {level.value}", device=device
    )


def verdict(
    *findings: Finding, required: frozenset[str] = frozenset({"a", "b"}), **kwargs: object
) -> NodeVerdict:
    case = Case(findings=findings, severities=SEVERITIES, required=required, **kwargs)  # type: ignore[arg-type]
    return decide(case, policy_version="p1", baseline_id="b1", provisional=False)


SUSPICION = Suspicion(
    node="n1", metric="gemm_bf16", device="gpu:3", value=95.0, deficit=0.05, below_pass_line=False, screened=Screened.SUSPECT,
    reference=Reference(metric="gemm_bf16", value=100.0, cut=0.03, scale=0.01, nodes=9, provisional=False, origin="fleet"),
)  # fmt: skip


def ended(state: Confirmed) -> tuple[Confirmation, ...]:
    return (
        Confirmation(
            suspicion=SUSPICION, state=state, values=(), control_values=(), words=f"gemm {state.value}"
        ),
    )


GOOD = (finding("a", FindingLevel.PASS), finding("b", FindingLevel.PASS))


def test_all_required_passed_is_fit() -> None:
    assert verdict(*GOOD).value is VerdictValue.FIT


def test_a_required_check_without_any_finding_is_not_fit() -> None:
    found = verdict(finding("a", FindingLevel.PASS))
    assert (found.value, found.required_missing) == (VerdictValue.NOT_MEASURED, ("b",))


def test_a_required_check_that_one_device_did_not_measure_is_not_fit() -> None:
    found = verdict(*GOOD, finding("a", FindingLevel.NOT_MEASURED, "gpu:3"))
    assert (found.value, found.required_missing) == (VerdictValue.NOT_MEASURED, ("a",))


def test_an_unmeasured_check_that_nobody_requires_does_not_matter() -> None:
    assert verdict(*GOOD, finding("c", FindingLevel.NOT_MEASURED)).value is VerdictValue.FIT


def test_a_warning_is_a_note_on_a_fit_node() -> None:
    found = verdict(*GOOD, finding("c", FindingLevel.WARN))
    assert (found.value, found.reasons) == (VerdictValue.FIT, ("c on node warn",))


def test_severity_decides_between_unfit_and_degraded() -> None:
    assert verdict(*GOOD, finding("b", FindingLevel.FAIL)).value is VerdictValue.DEGRADED
    assert (
        verdict(*GOOD, finding("b", FindingLevel.FAIL), finding("a", FindingLevel.FAIL)).value
        is VerdictValue.UNFIT
    )


def test_a_failure_of_an_unknown_check_is_unfit() -> None:
    assert verdict(*GOOD, finding("zzz", FindingLevel.FAIL)).value is VerdictValue.UNFIT


def test_the_deciding_reason_comes_first() -> None:
    found = verdict(finding("a", FindingLevel.FAIL), finding("c", FindingLevel.WARN))
    assert found.reasons == ("a on node fail", "b was not measured", "c on node warn")


def test_the_same_sentence_about_many_devices_is_said_once() -> None:
    found = verdict(*GOOD, *(finding("a", FindingLevel.FAIL, f"gpu:{gpu}") for gpu in range(8)))
    assert found.reasons == ("a on gpu:0, gpu:1 and 6 more fail",)


def test_a_waiver_lets_a_failure_pass_and_is_shown() -> None:
    waiver = Waiver(check_id="a", device="gpu:3", reason="board is ordered")
    found = verdict(*GOOD, finding("a", FindingLevel.FAIL, "gpu:3"), waivers=(waiver,))
    assert found.value is VerdictValue.FIT
    assert found.waived == ("a on gpu:3 fail (waived: board is ordered)",)


def test_a_waiver_of_one_device_does_not_cover_another() -> None:
    waiver = Waiver(check_id="a", device="gpu:3", reason="x")
    assert (
        verdict(*GOOD, finding("a", FindingLevel.FAIL, "gpu:4"), waivers=(waiver,)).value
        is VerdictValue.UNFIT
    )


def test_a_waiver_covers_a_check_that_nobody_can_measure() -> None:
    waiver = Waiver(check_id="b", reason="no tool on this image")
    assert verdict(finding("a", FindingLevel.PASS), waivers=(waiver,)).value is VerdictValue.FIT


def test_a_suspicion_holds_the_verdict_back() -> None:
    assert verdict(*GOOD, suspicions=(SUSPICION,)).value is VerdictValue.NOT_MEASURED


def test_the_end_of_a_suspicion_decides() -> None:
    ends = {
        Confirmed.CONFIRMED: VerdictValue.DEGRADED,
        Confirmed.CLEARED: VerdictValue.FIT,
        Confirmed.SHARED_CAUSE: VerdictValue.FIT,
        Confirmed.RERUN: VerdictValue.NOT_MEASURED,
    }
    for state, value in ends.items():
        assert verdict(*GOOD, suspicions=(SUSPICION,), confirmations=ended(state)).value is value, state


def shared(*, within: bool) -> tuple[SharedCause, ...]:
    return (SharedCause(check_id="a", cohort="rack 3", nodes=("n1",), cohort_size=8, compared_within=within),)


def test_a_check_that_fails_on_many_nodes_is_held_and_blames_none() -> None:
    found = verdict(*GOOD, finding("a", FindingLevel.FAIL), shared=shared(within=False))
    assert found.value is VerdictValue.NOT_MEASURED
    assert "shared cause" in found.reasons[0]


def test_a_node_in_a_slow_rack_is_fit_with_a_note() -> None:
    found = verdict(*GOOD, shared=shared(within=True))
    assert found.value is VerdictValue.FIT
    assert "rack 3" in found.reasons[0]


def test_an_unreadable_probe_is_not_fit() -> None:
    assert verdict(*GOOD, problems=("nothing can be judged",)).value is VerdictValue.NOT_MEASURED


findings_strategy = st.lists(
    st.builds(
        finding,
        st.sampled_from(["a", "b", "c", "zzz"]),
        st.sampled_from(LEVELS),
        st.sampled_from(["node", "gpu:0", "gpu:1"]),
    ),
    max_size=8,
)


@settings(max_examples=100)
@given(
    findings=findings_strategy,
    index=st.integers(0, 7),
    worse=st.sampled_from([FindingLevel.NOT_MEASURED, FindingLevel.FAIL]),
)
def test_a_worse_finding_never_makes_a_better_verdict(
    findings: list[Finding], index: int, worse: FindingLevel
) -> None:
    if index >= len(findings) or findings[index].level is not FindingLevel.PASS:
        return
    before = verdict(*findings)
    broken = [
        *findings[:index],
        finding(findings[index].check_id, worse, findings[index].device),
        *findings[index + 1 :],
    ]
    assert BADNESS[verdict(*broken).value] >= BADNESS[before.value]


@settings(max_examples=60)
@given(findings=findings_strategy)
def test_fit_means_that_every_required_check_answered_for_every_device(findings: list[Finding]) -> None:
    found = verdict(*findings)
    if found.value is VerdictValue.FIT:
        for check_id in ("a", "b"):
            levels = {one.level for one in findings if one.check_id == check_id}
            assert levels
            assert levels <= {FindingLevel.PASS, FindingLevel.WARN}


@settings(max_examples=100)
@given(findings=findings_strategy, order=st.randoms(use_true_random=False))
def test_the_value_does_not_depend_on_the_order_of_findings(findings: list[Finding], order: object) -> None:
    assert verdict(*findings).value is verdict(*reversed(findings)).value
