"""What does each order of the queue cost? The same simulated desk under first come, classes, WSJF and the portal's own rule.

Eight servers, requests that arrive at random, impact from 1 to e^10 GPU-hours a day spread evenly over its logarithm,
infra-hours that are log-normal. The portal's rule is the portal's own module, not a copy. The cost of an order is the
waiting weighed by impact, in hours; every figure is the median over the seeds.
"""

from __future__ import annotations

import sys

sys.path[0] = sys.path[0].rpartition("/bench")[
    0
]  # a neighbor is called like a module of the standard library

import argparse
import heapq
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import mean, median

from bench.common import machine, percentile, table
from requests_app.priority.scoring import Facts, Policy, rank

SERVERS = 8
MEAN_HOURS, SPREAD = 4.0, 1.0
LARGEST_EXPONENT = 10.0
CLASSES = 5
SECONDS = 3600


@dataclass(frozen=True)
class Request:
    """One request: when it came, what it loses a day, and how long it takes; hours."""

    came: float
    impact: float
    effort: float


Key = Callable[[Request], float]


def arrivals(seed: int, count: int, load: float) -> list[Request]:
    """Requests in the order they come, at `load` times what the servers can do."""
    dice, clock = Random(seed), 0.0
    rate = load * SERVERS / MEAN_HOURS
    centre = math.log(MEAN_HOURS) - SPREAD**2 / 2
    found = []
    for _ in range(count):
        clock += dice.expovariate(rate)
        impact = math.exp(dice.uniform(0, LARGEST_EXPONENT))
        found.append(Request(clock, impact, dice.lognormvariate(centre, SPREAD)))
    return found


def orders(requests: Sequence[Request]) -> dict[str, Key]:
    """Each order of the queue as a key, smaller first."""
    usual = median(request.impact / request.effort for request in requests)

    def ours(half_life: float) -> Key:
        policy = Policy(half_life_hours=half_life, median_ratio=usual)

        def key(request: Request) -> float:
            facts = Facts(
                ready_at=round(request.came * SECONDS),
                idle_gpu_hours=request.impact,
                confidence=1.0,
                effort_hours=request.effort,
            )
            return rank(facts, policy).key

        return key

    wide = LARGEST_EXPONENT / CLASSES
    return {
        "first come": lambda request: request.came,
        f"{CLASSES} classes": lambda request: (
            (CLASSES - 1 - int(math.log(request.impact) / wide)) * 1e9 + request.came
        ),
        "WSJF": lambda request: -request.impact / request.effort,
        "virtual start, H=6": ours(6),
        "virtual start, H=24": ours(24),
        "virtual start, H=48": ours(48),
        "virtual start, H=72": ours(72),
    }


def waits(requests: Sequence[Request], key: Key) -> list[float]:
    """Hours each request waits when the servers always take the smallest key that is there."""
    keys = [key(request) for request in requests]
    free, queue, found, nxt = [0.0] * SERVERS, [], [0.0] * len(requests), 0
    heapq.heapify(free)
    while nxt < len(requests) or queue:
        now = free[0]
        if not queue:
            now = max(now, requests[nxt].came)
        while nxt < len(requests) and requests[nxt].came <= now:
            heapq.heappush(queue, (keys[nxt], nxt))
            nxt += 1
        _, taken = heapq.heappop(queue)
        heapq.heapreplace(free, now + requests[taken].effort)
        found[taken] = now - requests[taken].came
    return found


def figures(requests: Sequence[Request], found: Sequence[float]) -> dict[str, float]:
    """What an order costs: by impact, at the far end, and for the least and the most urgent tenth."""
    by_impact = sorted(range(len(requests)), key=lambda number: requests[number].impact)
    tenth = max(1, len(requests) // 10)
    return {
        "cost": mean(r.impact * w for r, w in zip(requests, found, strict=True))
        / mean(r.impact for r in requests),
        "p99": percentile(found, 0.99),
        "worst": max(found),
        "low p99": percentile([found[number] for number in by_impact[:tenth]], 0.99),
        "top p99": percentile([found[number] for number in by_impact[-tenth:]], 0.99),
    }


def measure(load: float, *, seeds: int, count: int) -> dict[str, dict[str, float]]:
    """Every order at one load, medians over the seeds."""
    all_of: dict[str, list[dict[str, float]]] = {}
    for seed in range(1, seeds + 1):
        requests = arrivals(seed, count, load)
        for name, key in orders(requests).items():
            all_of.setdefault(name, []).append(figures(requests, waits(requests, key)))
    return {
        name: {figure: median(run[figure] for run in runs) for figure in runs[0]}
        for name, runs in all_of.items()
    }


def main() -> None:
    """Simulate, print the table, and write the figures when asked."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--seeds", type=int, default=5)
    words.add_argument("--requests", type=int, default=30_000)
    words.add_argument("--json", type=Path)
    given = words.parse_args()
    measured = {load: measure(load, seeds=given.seeds, count=given.requests) for load in (0.97, 1.03)}
    head = ["order", "load", "cost h", "p99 h", "worst h", "low p99 h", "top p99 h"]
    rows = [
        [
            name,
            f"{load:.0%}",
            *(f"{value:.{2 if figure == 'cost' else 0}f}" for figure, value in found.items()),
        ]
        for load, orders_of in measured.items()
        for name, found in orders_of.items()
    ]
    print(table(head, rows))
    about = {**machine(), "seeds": str(given.seeds), "requests": str(given.requests)}
    print("\n" + "; ".join(f"{name}: {value}" for name, value in about.items()))
    if given.json:
        figures_of = {f"{load:.2f}": orders_of for load, orders_of in measured.items()}
        given.json.write_text(json.dumps({"about": about, "figures": figures_of}, indent=1))


if __name__ == "__main__":
    main()
