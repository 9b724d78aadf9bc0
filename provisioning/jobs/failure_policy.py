"""Is a job done, partly done or failed, when its nodes ended like this? One policy for each playbook; pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from provisioning.jobs.states import Ending


class Outcome(StrEnum):
    """What a job came to."""

    SUCCEEDED = "succeeded"
    PARTIAL = "partial"
    FAILED = "failed"


@dataclass(frozen=True, kw_only=True)
class FailurePolicy:
    """`least_ok`: percent of the nodes that have to be ok for the job to count for those that are.

    Below it the job has failed, whatever some nodes came to. A job without an ok node has always failed.
    """

    least_ok: int

    def __post_init__(self) -> None:
        if not 0 <= self.least_ok <= 100:
            raise ValueError("least_ok is a percentage from 0 to 100.")

    def outcome(self, counts: Mapping[str, int]) -> Outcome:
        """The outcome of nodes counted by ending; no nodes at all is a failure."""
        total, ok = sum(counts.values()), counts.get(Ending.OK, 0)
        if not ok:
            return Outcome.FAILED
        if ok == total:
            return Outcome.SUCCEEDED
        return Outcome.PARTIAL if ok * 100 >= self.least_ok * total else Outcome.FAILED

    @property
    def says(self) -> str:
        """What it asks for, as people read it; empty when every node counts by itself."""
        if self.least_ok == 0:
            return ""
        if self.least_ok == 100:
            return "It counts only when every node is ok."
        return f"It counts only when {self.least_ok} % of the nodes are ok."


PER_NODE = FailurePolicy(least_ok=0)
"""Each node counts by itself: what was measured or done on one stays true when another fails."""
ALL_OR_NOTHING = FailurePolicy(least_ok=100)
"""The nodes are one thing: without one of them it is not there."""
