"""How do the repeats of one rerun count? Each repeat is a rerun of its own, so that two of three can agree."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from provisioning.validation.policy import DEFAULT_POLICY, Policy


def split_runs(probe: object) -> list[object]:
    """One probe a repeat, in order; evidence that was gathered once is in the first."""
    if not isinstance(probe, dict) or not isinstance(probe.get("evidence"), list):
        return []
    by_run: dict[int, list[Any]] = {}
    for row in probe["evidence"]:
        run = row.get("run", 1) if isinstance(row, dict) else 1
        by_run.setdefault(run if isinstance(run, int) else 1, []).append(row)
    return [{**probe, "evidence": rows} for _, rows in sorted(by_run.items())]


def steady_policy(policy: Policy = DEFAULT_POLICY) -> Policy:
    """The policy with one repeat a rerun."""
    return replace(policy, min_repeats=1)
