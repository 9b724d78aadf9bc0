"""How fast is this node today: what its SKU promises, times its own small differences, times its faults?"""

from __future__ import annotations

from provisioning.simulator import noise

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Spreads among healthy parts: together 0.5 to 0.7 %, repeats 0.3 %; each is cut at 2.5 spreads, so that a healthy GPU
# never lies 3 % below its siblings.
NODE_SPREAD, GPU_SPREAD, REPEAT_SPREAD = 0.0035, 0.0045, 0.003


def promised(state: dict[str, Any], metric: str) -> float | None:
    """What the SKU's file says a healthy node measures."""
    entry = state["sku"]["expected"].get(metric)
    value = entry["value"] if isinstance(entry, dict) else entry
    return _derived(state, metric) if value is None else float(value)


def _derived(state: dict[str, Any], metric: str) -> float | None:
    """A benchmark measures something on every node, also where nobody has written down what it should be."""
    if metric == "cluster_busbw":
        nics = state["sku"]["nics"]
        return 0.9 * float(nics["count"]) * float(nics["rate_gbps"]) / 8
    share = {"nccl_busbw": 0.75, "p2p_bw": 0.9}.get(metric)
    host = promised(state, "h2d_bw") if share is not None else None
    return None if host is None or share is None else host * share


def slowdown(state: dict[str, Any], metric: str, slot: int | None) -> float:
    """What the injected faults leave of a metric, 1.0 when nothing is wrong with that GPU (or with the node)."""
    left = 1.0
    for fault in state["faults"].values():
        share = fault.get("slows", {}).get(metric)
        culprit = fault["params"].get("gpu")
        if share is not None and (slot is None or culprit is None or culprit == slot):
            left *= float(share)
    return left


def standing(state: dict[str, Any], metric: str, slot: int | None = None) -> float:
    """How this node (or one GPU of it) stands to the SKU's figure, before the noise of one run."""
    own = 1.0 + noise.gauss(state["seed"], state["name"], metric, "node", sd=NODE_SPREAD)
    if slot is not None:
        own *= 1.0 + noise.gauss(state["seed"], state["name"], metric, slot, sd=GPU_SPREAD)
    return own * slowdown(state, metric, slot)


def measured(state: dict[str, Any], metric: str, run: int, slot: int | None = None) -> float | None:
    """What run number `run` of a benchmark shows, in the unit of the SKU's file."""
    value = promised(state, metric)
    if value is None:
        return None
    wobble = 1.0 + noise.gauss(state["seed"], state["name"], metric, slot, "run", run, sd=REPEAT_SPREAD)
    return value * standing(state, metric, slot) * wobble


def count_run(state: dict[str, Any], metric: str) -> int:
    """Number this run of a benchmark: the same order of runs always gives the same figures."""
    run = int(state["runs"].get(metric, 0)) + 1
    state["runs"][metric] = run
    return run
