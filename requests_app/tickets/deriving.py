"""Where does a ticket stand, given what became of each of its lines? And which moves lead there?

Who has to act decides: the desk before the team, people before machines, and a promise only when nothing else is left to do.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from requests_app.tickets.states import FINAL, MACHINE, WITH_TEAM, TicketAction, TicketState


@dataclass(frozen=True, kw_only=True)
class LineFacts:
    """What is known of one line. Quantities are in the line's unit; what is granted and none of the others waits for hands.

    `awaits_team` is true while an open offer waits for the team's word on it, `returned` while it is pending, or its rest is
    missing, because its order came to nothing.
    """

    verdict: str
    granted: int = 0
    ordered: int = 0
    promised: int = 0
    delivered: int = 0
    given_up: int = 0
    awaits_team: bool = False
    returned: bool = False

    @property
    def by_hand(self) -> int:
        """What people have to hand over, now."""
        return max(0, self.granted - self.ordered - self.promised - self.delivered - self.given_up)


def derive(lines: Iterable[LineFacts], *, asked_back: bool = False) -> TicketState | None:
    """The state that follows from the lines; None for a ticket without any.

    `asked_back` says that the desk waits for an answer. Precedence: the desk has to decide, the team has to say something,
    people are at work, an order runs, something is promised, all is delivered, nothing was granted.
    """
    lines = list(lines)
    if not lines:
        return None
    pending = [line for line in lines if line.verdict == "pending"]
    if pending:
        return _undecided(pending, asked_back=asked_back)
    granted = [line for line in lines if line.verdict == "granted"]
    if any(line.returned and line.by_hand for line in granted):
        return TicketState.RETURNED
    if any(line.by_hand for line in granted):
        return TicketState.APPROVED
    if any(line.ordered for line in granted):
        return TicketState.PROVISIONING
    if any(line.promised for line in granted):
        return TicketState.PROMISED
    if granted:
        return TicketState.READY
    dropped = all(line.verdict == "dropped" for line in lines)
    return TicketState.WITHDRAWN if dropped else TicketState.DECLINED


def _undecided(pending: Sequence[LineFacts], *, asked_back: bool) -> TicketState:
    if asked_back:
        return TicketState.WAITING
    with_desk = [line for line in pending if not line.awaits_team]
    if not with_desk:
        return TicketState.OFFERED
    return TicketState.RETURNED if any(line.returned for line in with_desk) else TicketState.SUBMITTED


def way(source: str, target: str) -> tuple[TicketAction, ...]:
    """The fewest actions that lead from `source` to `target` without passing an end or the team's hands; () when it is there.

    Raises ValueError when no way leads there, which the lines never ask for.
    """
    if source == target:
        return ()
    seen: set[str] = {source}
    queue: deque[tuple[TicketState, tuple[TicketAction, ...]]] = deque([(TicketState(source), ())])
    while queue:
        state, taken = queue.popleft()
        for action in MACHINE.actions(state):
            after = MACHINE.after(state, action)
            if after == target:
                return (*taken, action)
            if after in seen or after in FINAL or after in WITH_TEAM:
                continue
            seen.add(after)
            queue.append((after, (*taken, action)))
    raise ValueError(f"no way leads from {source} to {target}")
