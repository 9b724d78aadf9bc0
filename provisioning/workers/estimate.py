"""About how long until a job that is asked for now would start? From what runs, what waits, and measured run times; pure.

The queue is played through: every slot is free when the job in it has had its usual time, and takes the next one that waits.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from statistics import median

from portal.kernel.units import say_span

MOST_PLAYED = 20_000
"""Waiting jobs that are played through; more would say nothing new."""
OVERDUE = 0.1
"""A job that ran longer than usual is taken to need this share of its usual time yet."""


@dataclass(frozen=True, kw_only=True)
class RunTime:
    """Seconds that the last `runs` of a playbook kept their slots: the middle one, and the one that nine of ten don't exceed."""

    usual: float
    late: float
    runs: int


@dataclass(frozen=True, kw_only=True)
class Line:
    """One queue as an ordinary job finds it. `slots` None: no worker was ever heard of. `kept` are for unblock jobs.

    `running` are (playbook, seconds since its start); `ahead` counts jobs that wait for a slot by playbook.
    """

    slots: int | None
    kept: int = 0
    running: Sequence[tuple[str, float]] = ()
    ahead: Mapping[str, int] = field(default_factory=dict)
    blocked: int = 0


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """Seconds until the start: `usual`, and `late` when every job takes as long as one in ten. None: nobody can tell."""

    usual: float | None
    late: float | None
    says: str


def run_time(seconds: Sequence[float]) -> RunTime:
    """Of at least one measured run."""
    ordered = sorted(seconds)
    return RunTime(
        usual=median(ordered), late=ordered[min(len(ordered) - 1, len(ordered) * 9 // 10)], runs=len(ordered)
    )


def estimate(line: Line, measured: Mapping[str, RunTime]) -> Estimate:
    """When an ordinary job that is asked for now would start, and how that was computed."""
    if line.slots is None:
        return Estimate(usual=None, late=None, says="No worker was ever heard of.")
    if line.slots == 0:
        return Estimate(usual=None, late=None, says="No worker is there, so nothing starts.")
    slots = max(1, line.slots - line.kept)
    if len(line.running) < slots and not any(line.ahead.values()):
        return Estimate(usual=0.0, late=0.0, says="A slot is free and nobody waits for one.")
    if not measured:
        return Estimate(
            usual=None, late=None, says="No job has ended yet, so nobody knows how long one takes."
        )
    usual = _played(line, slots, {name: one.usual for name, one in measured.items()})
    late = _played(line, slots, {name: one.late for name, one in measured.items()})
    return Estimate(usual=usual, late=max(usual, late), says=_say(line, slots, measured))


def _played(line: Line, slots: int, times: Mapping[str, float]) -> float:
    other = median(times.values())
    left = sorted(_left(times.get(name, other), ran) for name, ran in line.running)
    free_at = left[max(0, len(left) - slots) :] + [0.0] * (slots - len(left))
    heapq.heapify(free_at)
    for seconds in _each(line.ahead, times, other):
        heapq.heappush(free_at, heapq.heappop(free_at) + seconds)
    return free_at[0]


def _left(usual: float, ran: float) -> float:
    return max(usual - ran, usual * OVERDUE)


def _each(ahead: Mapping[str, int], times: Mapping[str, float], other: float) -> Iterable[float]:
    played = 0
    for name, count in sorted(ahead.items()):
        for _ in range(min(count, MOST_PLAYED - played)):
            yield times.get(name, other)
        played += min(count, MOST_PLAYED - played)


def _say(line: Line, slots: int, measured: Mapping[str, RunTime]) -> str:
    ahead = sum(line.ahead.values())
    names = sorted({name for name, _ in line.running} | {name for name, count in line.ahead.items() if count})
    known = [f"{name} {_usually(measured[name])}" for name in names if name in measured]
    unknown = [name for name in names if name not in measured]
    parts = [
        f"{len(line.running)} running and {ahead} waiting are played through {slots} slot{'s' * (slots != 1)}",
        *([f"with {', '.join(known)}"] if known else []),
        *(
            [f"{', '.join(unknown)} never ended here and count as the middle of the others"]
            if unknown
            else []
        ),
        *([f"{line.blocked} more wait for nodes and are left out"] if line.blocked else []),
    ]
    return "; ".join(parts) + "."


def _usually(one: RunTime) -> str:
    runs = "its one run" if one.runs == 1 else f"the middle of {one.runs} runs"
    return f"{say_span(timedelta(seconds=one.usual))} ({runs})"
