"""Which action leads from which state to which? One pure table per machine; buttons, API and docs read it too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

from portal.kernel.errors import IllegalMove

S = TypeVar("S", bound=StrEnum)
A = TypeVar("A", bound=StrEnum)


@dataclass(frozen=True)
class Machine(Generic[S, A]):
    """A state machine: `table[(state, action)]` is the state after; what is not in it can't happen."""

    name: str
    initial: S
    table: Mapping[tuple[S, A], S]

    @property
    def states(self) -> tuple[S, ...]:
        """Every state of the machine's enum, in its order."""
        return tuple(type(self.initial))

    def actions(self, state: str) -> tuple[A, ...]:
        """What can be done in `state`, in the table's order."""
        return tuple(action for (source, action) in self.table if source == state)

    def after(self, state: str, action: A) -> S:
        """The state that `action` leads to; IllegalMove names what is possible instead."""
        for (source, known), target in self.table.items():
            if source == state and known == action:
                return target
        possible = ", ".join(self.actions(state)) or "nothing"
        raise IllegalMove(
            f"A {self.name} that is {state} can't {action}; possible now: {possible}.",
            data={
                "state": str(state),
                "action": str(action),
                "possible": [str(a) for a in self.actions(state)],
            },
        )

    def is_final(self, state: str) -> bool:
        """True when no action leaves `state`."""
        return not self.actions(state)

    def diagram(self) -> str:
        """The machine in Mermaid's state notation, for the docs."""
        lines = ["stateDiagram-v2", f"    [*] --> {self.initial}"]
        lines += [f"    {source} --> {target}: {action}" for (source, action), target in self.table.items()]
        lines += [f"    {state} --> [*]" for state in self.states if self.is_final(state)]
        return "\n".join(lines)
