"""What of a block counts, and how much of it is believed? Measured 1, confirmed 0.8, claimed 0.5 times the team's claim ratio.

Only GPUs can be measured. A person counts as claimed until they say it themselves, and then at least as confirmed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from requests_app.blocks.arithmetic import part_of_a_person

MEASURED = 1.0
CONFIRMED = 0.8
CLAIMED = 0.5
HOURS_A_DAY = 24
PERSON_DAY = 530.0
"""GPU-hours that a blocked person stands for when losses of several requests are weighed; the usual policy's own figure."""


@dataclass(frozen=True, kw_only=True)
class Named:
    """A person whom the team named: what they said, and in how many open blocks they are named."""

    confirmed: bool = False
    refused: bool = False
    half: bool = False
    named_in: int = 1


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """All that speaks for a block now.

    `people` and `idle_gpus` as claimed; `measured_gpus` the latest measurement, None without one; `gpu_part` the block's part
    in [0, 1] of what several blocks claim of one resource; `dated_loss` GPU-hours a day of commitments that count now.
    """

    people: int = 0
    idle_gpus: int = 0
    measured_gpus: int | None = None
    confirmed: bool = False
    named: tuple[Named, ...] = ()
    gpu_part: float = 1.0
    dated_loss: float = 0.0
    claim_ratio: float = 1.0


@dataclass(frozen=True, kw_only=True)
class Counted:
    """What enters the rank: G and X in GPU-hours a day, P in people, each with how much of it is believed."""

    idle_gpu_hours: float = 0.0
    confidence: float = CLAIMED
    people: float = 0.0
    people_confidence: float = CLAIMED
    dated_loss: float = 0.0
    dated_confidence: float = CONFIRMED

    @property
    def weight(self) -> float:
        """What is lost a day, in GPU-hours."""
        return self.idle_gpu_hours + self.people * PERSON_DAY + self.dated_loss


def count(evidence: Evidence) -> Counted:
    """Weigh the evidence. A claim alone counts half, times the claim ratio of its team."""
    is_measured = evidence.measured_gpus is not None
    word = CONFIRMED if evidence.confirmed else CLAIMED * evidence.claim_ratio
    gpus = evidence.idle_gpus if evidence.measured_gpus is None else evidence.measured_gpus
    own_word = MEASURED if is_measured else CONFIRMED
    weighed = [*_named(evidence, word, own_word), (_unnamed(evidence), word)]
    people = sum(part for part, _ in weighed)
    return Counted(
        idle_gpu_hours=gpus * HOURS_A_DAY * evidence.gpu_part,
        confidence=MEASURED if is_measured else word,
        people=people,
        people_confidence=sum(part * trust for part, trust in weighed) / people if people else word,
        dated_loss=evidence.dated_loss,
        dated_confidence=MEASURED if is_measured else CONFIRMED,
    )


def together(losses: Sequence[tuple[Counted, float]]) -> tuple[Counted, float]:
    """Several blocks of one request, its own first, as one: what is lost adds up, and each is believed as much as before.

    The second of each pair is what remains of that loss after its workaround; all together it remains in proportion.
    """
    if len(losses) == 1:
        return losses[0]
    counted = [each for each, _ in losses]
    believed = _mean((each.idle_gpu_hours, each.confidence) for each in counted)
    of_people = _mean((each.people, each.people_confidence) for each in counted)
    of_dates = _mean((each.dated_loss, each.dated_confidence) for each in counted)
    remains = _mean((each.weight, share) for each, share in losses)
    own = counted[0]
    whole = Counted(
        idle_gpu_hours=sum(each.idle_gpu_hours for each in counted),
        confidence=own.confidence if believed is None else believed,
        people=sum(each.people for each in counted),
        people_confidence=own.people_confidence if of_people is None else of_people,
        dated_loss=sum(each.dated_loss for each in counted),
        dated_confidence=own.dated_confidence if of_dates is None else of_dates,
    )
    return whole, losses[0][1] if remains is None else remains


def _mean(pairs: Iterable[tuple[float, float]]) -> float | None:
    """The mean of the second, weighed by the first; None where nothing has weight."""
    found = list(pairs)
    weight = sum(each for each, _ in found)
    return sum(each * value for each, value in found) / weight if weight else None


def _named(evidence: Evidence, word: float, own_word: float) -> list[tuple[float, float]]:
    return [
        (
            part_of_a_person(half=person.half, named_in=person.named_in),
            own_word if person.confirmed else word,
        )
        for person in evidence.named
        if not person.refused
    ]


def _unnamed(evidence: Evidence) -> float:
    """People who were only counted. Who was named and says no is taken off the count."""
    return float(max(0, evidence.people - len(evidence.named)))
