"""What was done to whom, and when? A verdict that a fault explains needs one that was there at that time."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

LATE = 45.0
"""Seconds after its end for which a fault may still show: ssh gives a silent peer up after so long, and a task its limit."""


@dataclass
class Fault:
    """One that was injected. `until` is None while it lasts; one that is over at once ends as it begins.

    `jobs` are those it struck, `everybody` when that is all of them; `node` is where it struck.
    """

    name: str
    at: float = field(default_factory=time.time)
    until: float | None = None
    node: str = ""
    jobs: frozenset[int] = frozenset()
    everybody: bool = False

    def over(self) -> None:
        self.until = time.time()

    def touches(self, begin: float, end: float, *, late: float = LATE) -> bool:
        """True when it was there, or may have shown, between these moments."""
        return self.at <= end and (self.until is None or self.until + late >= begin)

    def struck(self, job: int) -> bool:
        return self.everybody or job in self.jobs


@dataclass(frozen=True)
class Asked:
    """A job as it was asked for: what it has to come to without a fault."""

    nodes: tuple[str, ...]
    fails: tuple[str, ...]


@dataclass
class Evidence:
    """All faults of a campaign, all jobs that were asked for, and the cancels that were promised."""

    faults: list[Fault] = field(default_factory=list)
    asked: dict[str, Asked] = field(default_factory=dict)
    cancelled: set[str] = field(default_factory=set)
    handled: dict[str, int] = field(default_factory=dict)
    """Messages by what became of them."""

    def at(self, begin: float, end: float, *, late: float = LATE) -> Iterable[Fault]:
        return (fault for fault in self.faults if fault.touches(begin, end, late=late))

    def of_node(self, node: str, begin: float, end: float) -> bool:
        """Was something wrong with this node then?"""
        return any(fault.node == node for fault in self.at(begin, end))

    def named(self, names: Collection[str], begin: float, end: float, *, late: float = LATE) -> bool:
        """Was a fault of one of these names there then?"""
        return any(fault.name in names for fault in self.at(begin, end, late=late))

    def last_that_struck(self, job: int, before: float) -> str:
        """The fault to which a job's trouble is put down; "no fault" when there was none."""
        names = [fault.name for fault in self.faults if fault.at <= before and fault.struck(job)]
        return names[-1] if names else "no fault"
