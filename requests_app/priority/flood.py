"""Who is next when one team files ten? Each further ticket of a team steps back a little, when work is picked and nowhere else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

FIRST_ROWS = 200


@dataclass(frozen=True, kw_only=True)
class Waiting:
    """One row of the head of the queue."""

    ticket: int
    team: int
    key: int


def spread(rows: Sequence[Waiting], *, shift: int) -> list[Waiting]:
    """`rows` (in rank order) as they are picked: the n-th further ticket of a team counts n·`shift` seconds later.

    Stored keys don't change; what a row's `key` says is still its rank.
    """
    seen: Counter[int] = Counter()
    shifted: list[tuple[int, int, Waiting]] = []
    for row in rows:
        shifted.append((row.key + seen[row.team] * shift, row.ticket, row))
        seen[row.team] += 1
    return [row for _, _, row in sorted(shifted, key=lambda each: each[:2])]
