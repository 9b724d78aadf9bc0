"""Why is somebody ahead of me, and what would change my place? Words for a rank, from the same numbers that made it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from requests_app.priority.scoring import Facts, Policy, lost, rank

CONFIRMED, MEASURED = 0.8, 1.0

BECAUSE = {
    "filed": "was filed earlier",
    "paused": "waited less for answers of its team",
    "impact": "loses more GPU-hours a day",
    "confidence": "has its loss confirmed or measured",
    "workaround": "has no workaround, or one that is overdue",
    "fairness": "comes from a team that had less of its share lately",
    "effort": "needs fewer infra-hours to first relief",
    "usual": "was ranked by another version of the policy",
    "limit": "is kept within the limits",
    "pin": "was pinned by the desk, with a reason",
}
BECAUSE_MANY = {
    "filed": "were filed earlier",
    "paused": "waited less for answers of their teams",
    "impact": "lose more GPU-hours a day",
    "confidence": "have their loss confirmed or measured",
    "workaround": "have no workaround, or one that is overdue",
    "fairness": "come from teams that had less of their share lately",
    "effort": "need fewer infra-hours to first relief",
    "usual": "were ranked by another version of the policy",
    "limit": "are kept within the limits",
    "pin": "were pinned by the desk, with a reason",
}


@dataclass(frozen=True, kw_only=True)
class Change:
    """Something that would move a ticket: by `seconds` forward, back when negative."""

    name: str
    says: str
    seconds: int


def what_would_change(facts: Facts, policy: Policy) -> tuple[Change, ...]:
    """What the team or the desk could do, with what it would move; what moves nothing is left out."""
    now = rank(facts, policy).key
    tries = [
        ("double", "Twice the loss", _scaled(facts, 2.0)),
        ("confirm_people", "Those who are blocked confirm it, one click each", _people_confirmed(facts)),
        ("confirm", "The desk looks and confirms your claim", _confirmed(facts)),
        ("measure", "A measurement of idle GPUs in place of a claim", _measured(facts)),
        ("workaround", "A workaround that takes 70 % of the loss away", _relieved(facts)),
    ]
    changes = (
        Change(name=name, says=says, seconds=now - rank(other, policy).key)
        for name, says, other in tries
        if other is not None and (name != "double" or lost(facts, policy) > 0)
    )
    return tuple(change for change in changes if change.seconds)


def _scaled(facts: Facts, by: float) -> Facts:
    return replace(
        facts,
        idle_gpu_hours=facts.idle_gpu_hours * by,
        people=facts.people * by,
        dated_loss=facts.dated_loss * by,
    )


def _of_people(facts: Facts) -> float:
    return facts.confidence if facts.people_confidence is None else facts.people_confidence


def _people_confirmed(facts: Facts) -> Facts | None:
    if not facts.people or _of_people(facts) >= CONFIRMED:
        return None
    return replace(facts, people_confidence=CONFIRMED)


def _confirmed(facts: Facts) -> Facts | None:
    if facts.confidence >= CONFIRMED or not lost(facts, Policy()):
        return None
    return replace(facts, confidence=CONFIRMED, people_confidence=max(CONFIRMED, _of_people(facts)))


def _measured(facts: Facts) -> Facts | None:
    if facts.confidence >= MEASURED or not facts.idle_gpu_hours:
        return None
    return replace(facts, confidence=MEASURED, people_confidence=_of_people(facts))


def _relieved(facts: Facts) -> Facts | None:
    return replace(facts, residual=0.3) if facts.residual >= 1.0 and lost(facts, Policy()) else None


@dataclass(frozen=True, kw_only=True)
class Standing:
    """What a comparison needs of a ranked ticket: when it became ready, its pauses, and its bars by name."""

    ready_at: int
    paused: int
    bars: Mapping[str, int]


def standing(facts: Mapping[str, Any], explanation: Mapping[str, Any]) -> Standing:
    """From what is stored beside the key."""
    bars: dict[str, int] = {}
    for bar in explanation.get("bars", ()):
        bars[bar["name"]] = bars.get(bar["name"], 0) + int(bar["seconds"])
    return Standing(ready_at=int(facts.get("ready_at", 0)), paused=int(facts.get("paused", 0)), bars=bars)


def differences(mine: Standing, theirs: Standing) -> dict[str, int]:
    """Seconds by which `theirs` is ahead of `mine`, by reason; together exactly the difference of the keys."""
    found = {"filed": mine.ready_at - theirs.ready_at, "paused": mine.paused - theirs.paused}
    for name in {*mine.bars, *theirs.bars}:
        found[name] = theirs.bars.get(name, 0) - mine.bars.get(name, 0)
    return found


def main_reason(mine: Standing, theirs: Standing) -> str:
    """The reason that puts `theirs` ahead more than any other does."""
    found = differences(mine, theirs)
    return max(sorted(found), key=lambda name: found[name])


def because(mine: Standing, ahead: Iterable[Standing]) -> tuple[tuple[str, int], ...]:
    """Kinds of reasons and how many are ahead by each, most frequent first. Kinds say nothing about whose tickets they are."""
    counted = Counter(main_reason(mine, theirs) for theirs in ahead)
    return tuple(sorted(counted.items(), key=lambda item: (-item[1], item[0])))


def in_words(reasons: Sequence[tuple[str, int]]) -> tuple[str, ...]:
    """`3 lose more GPU-hours a day`, `1 was filed earlier`."""
    return tuple(
        f"{count} {(BECAUSE if count == 1 else BECAUSE_MANY).get(name, 'is ahead')}"
        for name, count in reasons
    )


def ordinal(number: int) -> str:
    """`1st`, `2nd`, `3rd`, `12th`, `101st`."""
    if number % 100 in (11, 12, 13):
        return f"{number}th"
    return f"{number}{({1: 'st', 2: 'nd', 3: 'rd'}).get(number % 10, 'th')}"
