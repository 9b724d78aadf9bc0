"""How long may an answer, a decision or an unblock take? By offering, else by kind, else the house's own figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum


class ClockName(StrEnum):
    """What is timed."""

    ANSWER = "answer"
    DECISION = "decision"
    PROMISE = "promise"
    UNBLOCK = "unblock"


@dataclass(frozen=True, kw_only=True)
class Goal:
    """So many hours: of the team's working time, or of all time."""

    hours: float
    business: bool = True

    @property
    def span(self) -> timedelta:
        """The hours as a duration."""
        return timedelta(hours=self.hours)


Scope = tuple[str, str]
"""(`offering` or `kind`, its name), or ("", "") for everything."""

HOUSE: Mapping[tuple[Scope, ClockName], Goal] = {
    (("kind", "unblock"), ClockName.ANSWER): Goal(hours=1),
    (("kind", "unblock"), ClockName.DECISION): Goal(hours=4),
    (("", ""), ClockName.ANSWER): Goal(hours=4),
    (("", ""), ClockName.DECISION): Goal(hours=8),
    (("", ""), ClockName.UNBLOCK): Goal(hours=24, business=False),
}
"""What holds until an admin says otherwise."""


def goal_for(
    clock: ClockName, *, offering: str, kind: str, said: Mapping[tuple[Scope, ClockName], Goal]
) -> Goal | None:
    """The nearest goal: what an admin said comes before the house's figure of the same scope."""
    for scope in (("offering", offering), ("kind", kind), ("", "")):
        for table in (said, HOUSE):
            if (scope, clock) in table:
                return table[(scope, clock)]
    return None
