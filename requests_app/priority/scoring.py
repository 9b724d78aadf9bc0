"""Who comes next? A ticket's rank is one stored second, smaller first, and explains itself as a sum of hours.

`rank_key = t_ready + paused − H·log2(x)`, `x = clamp((R·w·φ/E)/x0, 2^-4, 2^8)`, `R = max(1, c·(G + κ·P + X))`.
All tickets age alike, so the order never changes by itself and can be indexed. Source: the design's section on rank,
simulated against FIFO and WSJF there. A pin is a person's override in seconds, added outside the limits as a bar of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log2

FEWEST_DOUBLINGS = -4.0
MOST_DOUBLINGS = 8.0
SECONDS_PER_HOUR = 3600
SMALLEST_RESIDUAL = 0.01
LEAST_EFFORT, MOST_EFFORT = 0.25, 80.0
LEAST_FAIRNESS, MOST_FAIRNESS = 0.25, 4.0


@dataclass(frozen=True, kw_only=True)
class Policy:
    """The constants of one policy version.

    `half_life_hours` (H) is the head start one doubling of impact buys, `person_day` (κ) the GPU-hours a blocked person
    costs a day, `median_ratio` (x0) last quarter's median of R·w·φ/E.
    """

    version: int = 1
    half_life_hours: float = 24.0
    person_day: float = 530.0
    median_ratio: float = 60.0


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What is known of a ticket when it is ranked.

    `ready_at` seconds since the epoch; `paused` seconds spent waiting for the requester; `idle_gpu_hours` (G) GPU-hours
    lost a day; `people` (P) blocked; `dated_loss` (X) GPU-hours a day; `confidence` (c) 1.0 measured, 0.8 confirmed,
    0.5 claimed, of G and, where they have none of their own, of P and X; `residual` (w) what remains after a workaround;
    `fairness` (φ) 1.0 at a team's fair share; `effort_hours` (E) infra-hours to first relief; `pin` seconds of override.
    """

    ready_at: int
    paused: int = 0
    idle_gpu_hours: float = 0.0
    people: float = 0.0
    dated_loss: float = 0.0
    confidence: float = 0.5
    people_confidence: float | None = None
    dated_confidence: float | None = None
    residual: float = 1.0
    fairness: float = 1.0
    effort_hours: float = 2.0
    pin: int = 0


@dataclass(frozen=True, kw_only=True)
class Bar:
    """One signed part of the head start, in seconds: positive moves the ticket forward."""

    name: str
    says: str
    seconds: int


@dataclass(frozen=True, kw_only=True)
class Rank:
    """The stored key and the bars whose sum is exactly the head start. `ratio` is R·w·φ/E, from which x0 is learned."""

    key: int
    head_start: int
    bars: tuple[Bar, ...]
    policy_version: int
    ratio: float = 1.0


def clamp(value: float, low: float, high: float) -> float:
    """`value` kept within [low, high]."""
    return max(low, min(high, value))


def lost(facts: Facts, policy: Policy) -> float:
    """G + κ·P + X as they are told, in GPU-hours a day."""
    return facts.idle_gpu_hours + policy.person_day * facts.people + facts.dated_loss


def impact(facts: Facts, policy: Policy) -> float:
    """R: GPU-hour-equivalents lost a day that count, at least 1."""
    c = facts.confidence
    of_people = c if facts.people_confidence is None else facts.people_confidence
    of_dates = c if facts.dated_confidence is None else facts.dated_confidence
    people = of_people * policy.person_day * facts.people
    return max(1.0, c * facts.idle_gpu_hours + people + of_dates * facts.dated_loss)


def terms(facts: Facts, policy: Policy) -> list[tuple[str, str, float]]:
    """Name, words and doublings of every term of log2(R·w·φ/E / x0)."""
    told, counts = max(1.0, lost(facts, policy)), impact(facts, policy)
    effort = clamp(facts.effort_hours, LEAST_EFFORT, MOST_EFFORT)
    fairness = clamp(facts.fairness, LEAST_FAIRNESS, MOST_FAIRNESS)
    return [
        ("impact", f"{told:.0f} GPU-hours a day are lost", log2(told)),
        ("confidence", f"{counts / told:.0%} of that counts until it is confirmed", log2(counts / told)),
        (
            "workaround",
            f"{facts.residual:.0%} of that remains",
            log2(max(facts.residual, SMALLEST_RESIDUAL)),
        ),
        ("fairness", "the team's share of what was granted lately", log2(fairness)),
        ("effort", f"{effort:g} infra-{'hour' if effort == 1 else 'hours'} to first relief", -log2(effort)),
        ("usual", "compared with the usual ticket", -log2(policy.median_ratio)),
    ]


def rank(facts: Facts, policy: Policy) -> Rank:
    """The key and its explanation. Bars add up to the head start to the second: the last of the terms takes the rounding."""
    parts = terms(facts, policy)
    doublings = sum(value for _, _, value in parts)
    kept = clamp(doublings, FEWEST_DOUBLINGS, MOST_DOUBLINGS)
    doubling = policy.half_life_hours * SECONDS_PER_HOUR
    earned, whole = round(kept * doubling), round(doublings * doubling)
    bars = [Bar(name=name, says=says, seconds=round(value * doubling)) for name, says, value in parts[:-1]]
    name, says, _ = parts[-1]
    bars.append(Bar(name=name, says=says, seconds=whole - sum(bar.seconds for bar in bars)))
    if earned != whole:
        bars.append(Bar(name="limit", says="kept within the limits", seconds=earned - whole))
    if facts.pin:
        bars.append(Bar(name="pin", says="pinned by a person", seconds=facts.pin))
    head_start = earned + facts.pin
    return Rank(
        key=facts.ready_at + facts.paused - head_start,
        head_start=head_start,
        bars=tuple(bars),
        policy_version=policy.version,
        ratio=2.0**doublings * policy.median_ratio,
    )
