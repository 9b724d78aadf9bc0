"""Does the collective over all nodes of a cluster reach what its network should carry?"""

from __future__ import annotations

from statistics import median

from provisioning.contracts import VerdictValue
from provisioning.fleet.sku_data import Sku
from provisioning.validation.evidence import read_probe
from provisioning.validation.parsers.nccl_tests import CLUSTER_ID
from provisioning.validation.policy import DEFAULT_POLICY, Policy
from provisioning.validation.readings import Gathered, gather
from provisioning.validation.report import CollectiveReport
from provisioning.validation.robust import relative_spread

METRIC = "cluster_busbw"


def judge_collective(
    probe: object, sku: Sku, *, gpus: int, expected_gbps: float | None = None, policy: Policy = DEFAULT_POLICY
) -> CollectiveReport:
    """The collective's bandwidth (GB/s) over `gpus` ranks against what earlier clusters reached (`expected_gbps`).

    Before there are any, against the SKU's figure, by the provisional cut. A low collective blames no node.
    """
    gathered = gather(read_probe(probe))
    readings = gathered.readings
    numbers = [number for number in readings.numbers(METRIC) if number > 0]
    figure = sku.expected.get(METRIC)
    wanted = expected_gbps if expected_gbps is not None else figure.value if figure is not None else None
    wrong = readings.numbers(f"{METRIC}_wrong")
    spread = relative_spread(numbers) if numbers else None
    value, reason = _value(gathered, numbers, wrong, spread, wanted, gpus, policy)
    return CollectiveReport(
        busbw_gbps=median(numbers) if numbers else None,
        expected_gbps=wanted,
        runs=len(numbers),
        spread=spread,
        correct=not any(wrong) if wrong else None,
        value=value,
        reasons=(reason,),
        readings=tuple(readings),
    )


def _value(
    gathered: Gathered,
    numbers: list[float],
    wrong: tuple[float, ...],
    spread: float | None,
    wanted: float | None,
    gpus: int,
    policy: Policy,
) -> tuple[VerdictValue, str]:
    if any(wrong):
        return VerdictValue.UNFIT, f"the collective returned {sum(wrong):g} wrong values"
    unknown = _unknown(gathered, numbers, wrong, spread, gpus, policy)
    if unknown:
        return VerdictValue.NOT_MEASURED, unknown
    reached = median(numbers)
    if wanted is None:
        return VerdictValue.FIT, f"the collective reaches {reached:.4g} GB/s; nothing to compare it with yet"
    if reached < wanted * (1 - policy.provisional_cut):
        behind = 1 - reached / wanted
        return (
            VerdictValue.DEGRADED,
            f"the collective reaches {reached:.4g} GB/s, {behind:.1%} below {wanted:.4g} GB/s",
        )
    return VerdictValue.FIT, f"the collective reaches {reached:.4g} of {wanted:.4g} GB/s"


def _unknown(
    gathered: Gathered,
    numbers: list[float],
    wrong: tuple[float, ...],
    spread: float | None,
    gpus: int,
    policy: Policy,
) -> str:
    """Why the collective can't be judged; empty where it can."""
    if not numbers:
        why = gathered.silent.get(CLUSTER_ID) or next(iter(gathered.problems), "it was not asked")
        return f"the collective was not measured: {CLUSTER_ID} {why}"
    if not wrong:
        return "the collective's results were not checked"
    ranks = [number for number in gathered.readings.numbers(f"{METRIC}_ranks") if number != gpus]
    if ranks:
        return f"the collective ran on {ranks[0]:g} of {gpus} GPUs"
    if spread is not None and spread > policy.max_spread:
        return f"the collective is noisy: repeats spread by {spread:.1%}"
    return ""
