"""How are nodes cut into waves and shards, and what follows when a part has ended? Pure: no rows, no clock.

- The canary is the first nodes as they were named. Percentages are of all nodes, cumulative, rounded up: at 10, 50 of 45 nodes
  the first 5 are done, then the first 23; the last wave is always the rest. A wave that would be empty is left out.
- A budget is how many nodes of a wave may end not ok, whatever the reason. A percentage is of the wave's nodes, rounded
  down, so 5 % of 30 is 1. Exactly as many as the budget are allowed; one more and it is spent.
- A spent budget takes back what has not begun. When what runs has ended, the job pauses, and holds no node.
- A wave that is resumed has its budget again: whoever resumes has looked at what failed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

_BUDGET = re.compile(r"([0-9]{1,6})\s*(%?)")
MOST_STEPS = 20


@dataclass(frozen=True, kw_only=True)
class Budget:
    """How many nodes of a wave may fail: a number of nodes, or a percentage of them."""

    count: int
    is_percent: bool = False

    @classmethod
    def read(cls, told: object) -> Budget:
        """From `2`, `"2"` or `"5%"`; ValueError with a sentence for anything else."""
        found = _BUDGET.fullmatch(str(told).strip()) if isinstance(told, str | int) else None
        if found is None or isinstance(told, bool):
            raise ValueError("Use a number of nodes like 2, or a percentage like 5%.")
        budget = cls(count=int(found[1]), is_percent=bool(found[2]))
        if budget.is_percent and budget.count > 100:
            raise ValueError("A percentage is at most 100%.")
        return budget

    def of(self, nodes: int) -> int:
        """How many of `nodes` may fail; a percentage is rounded down."""
        return nodes * self.count // 100 if self.is_percent else self.count

    def __str__(self) -> str:
        return f"{self.count}%" if self.is_percent else str(self.count)


NONE_MAY_FAIL = Budget(count=0)


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What an operator wants: a canary of so many nodes, cumulative percentages, and what may fail in each."""

    canary: int = 0
    canary_budget: Budget = NONE_MAY_FAIL
    percentages: tuple[int, ...] = ()
    budget: Budget = NONE_MAY_FAIL

    def __post_init__(self) -> None:
        if self.canary < 0:
            raise ValueError("A canary has 0 nodes or more.")
        if len(self.percentages) > MOST_STEPS:
            raise ValueError(f"At most {MOST_STEPS} percentages.")
        if any(not 1 <= percent <= 100 for percent in self.percentages):
            raise ValueError("Percentages are whole numbers from 1 to 100.")
        if list(self.percentages) != sorted(set(self.percentages)):
            raise ValueError("Percentages are of all nodes together, so each is more than the one before.")

    def as_data(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "canary": self.canary,
            "canary_budget": str(self.canary_budget),
            "percentages": list(self.percentages),
            "budget": str(self.budget),
        }

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Asked:
        """Back from `as_data`."""
        return cls(
            canary=data["canary"],
            canary_budget=Budget.read(data["canary_budget"]),
            percentages=tuple(data["percentages"]),
            budget=Budget.read(data["budget"]),
        )


@dataclass(frozen=True, kw_only=True)
class Wave:
    """Ids of nodes that are done before the next ones begin. `budget` None: whatever fails, it goes on."""

    title: str
    nodes: tuple[int, ...]
    budget: Budget | None = None

    @property
    def may_fail(self) -> int | None:
        """How many of its nodes may fail."""
        return None if self.budget is None else self.budget.of(len(self.nodes))


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The waves of a whole, in order. `asked` None: it was only cut into shards."""

    waves: tuple[Wave, ...]
    asked: Asked | None = None

    def as_data(self) -> dict[str, Any]:
        """As JSON, for the row."""
        waves = [
            {
                "title": wave.title,
                "nodes": list(wave.nodes),
                "budget": None if wave.budget is None else str(wave.budget),
            }
            for wave in self.waves
        ]
        return {"waves": waves, "asked": None if self.asked is None else self.asked.as_data()}

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Plan:
        """Back from `as_data`."""
        waves = tuple(
            Wave(
                title=each["title"],
                nodes=tuple(each["nodes"]),
                budget=None if each["budget"] is None else Budget.read(each["budget"]),
            )
            for each in data["waves"]
        )
        return cls(waves=waves, asked=None if data["asked"] is None else Asked.from_data(data["asked"]))

    def wave(self, number: int) -> Wave:
        """The wave with this number; they count from 1."""
        return self.waves[number - 1]

    def after(self, number: int) -> int:
        """How many nodes come after wave `number`."""
        return sum(len(wave.nodes) for wave in self.waves[number:])

    def resumed(self, number: int, *, again: Sequence[int], rest: Sequence[int]) -> Plan:
        """With what follows wave `number` when it is resumed: nodes that failed once more, the rest of it, then as before."""
        wave = self.wave(number)
        more = [
            replace(wave, title=title, nodes=tuple(nodes))
            for title, nodes in (("what failed, again", again), (f"the rest of {wave.title}", rest))
            if nodes
        ]
        return replace(self, waves=(*self.waves[:number], *more, *self.waves[number:]))


def plan(nodes: Sequence[int], asked: Asked | None) -> Plan:
    """Cut `nodes` into waves, in their order."""
    if asked is None:
        return Plan(waves=(Wave(title="all", nodes=tuple(nodes)),))
    total = len(nodes)
    ends = [("the canary", min(asked.canary, total), asked.canary_budget)]
    ends += [(f"up to {each} %", -(-total * each // 100), asked.budget) for each in asked.percentages]
    ends += [("the rest", total, asked.budget)]
    waves, begin = [], 0
    for title, end, budget in ends:
        if end > begin:
            waves.append(Wave(title=title, nodes=tuple(nodes[begin:end]), budget=budget))
            begin = end
    if len(waves) == 1:
        waves = [replace(waves[0], title="all")]
    return Plan(waves=tuple(waves), asked=asked)


def shards(nodes: Sequence[int], *, size: int | None) -> list[tuple[int, ...]]:
    """Neighbours stay together, at most `size` in a shard, none more than one larger than another."""
    if not nodes:
        return []
    count = 1 if size is None else -(-len(nodes) // size)
    least, more = divmod(len(nodes), count)
    found, begin = [], 0
    for number in range(count):
        end = begin + least + (number < more)
        found.append(tuple(nodes[begin:end]))
        begin = end
    return found


class Step(StrEnum):
    """What follows."""

    WAIT = "wait"
    TAKE_BACK = "take back"
    FILL = "fill"
    NEXT = "next"
    PAUSE = "pause"
    CONCLUDE = "conclude"


@dataclass(frozen=True, kw_only=True)
class Standing:
    """Nodes of the present wave by where they are, and those of `later` waves.

    `unbegun` are in no open shard and have no ending: taken back, or never given one. `may_fail` None: no budget.
    """

    ok: int = 0
    bad: int = 0
    running: int = 0
    queued: int = 0
    unbegun: int = 0
    later: int = 0
    may_fail: int | None = None
    stopping: bool = False

    @property
    def is_spent(self) -> bool:
        """True when more failed than may."""
        return self.may_fail is not None and self.bad > self.may_fail

    @property
    def remaining(self) -> int:
        """Nodes that a pause leaves for later."""
        return self.unbegun + self.later


def decide(at: Standing) -> Step:
    """What follows from where the nodes of the present wave are."""
    if at.stopping:
        return Step.WAIT if at.running or at.queued else Step.CONCLUDE
    if at.is_spent and at.queued:
        return Step.TAKE_BACK
    if at.running or at.queued:
        return Step.WAIT if at.is_spent or not at.unbegun else Step.FILL
    if not at.remaining:
        return Step.CONCLUDE
    if at.is_spent:
        return Step.PAUSE
    return Step.FILL if at.unbegun else Step.NEXT


def say_pause(at: Standing, *, number: int, waves: int) -> str:
    """`3 of 40 nodes failed, the budget of wave 2 of 4 is 2; resume runs the 57 that remain, stop ends it here.`"""
    done = at.ok + at.bad
    return (
        f"{at.bad} of {done} node{_s(done)} failed, the budget of wave {number} of {waves} is {at.may_fail}; "
        f"resume runs the {at.remaining} that remain{_s(at.remaining, one='s', many='')}, stop ends it here."
    )


def say_progress(at: Standing, *, number: int, waves: int, title: str) -> str:
    """One sentence about a whole that runs."""
    total = at.ok + at.bad + at.running + at.queued + at.unbegun
    failed = f", {at.bad} of them not ok" if at.bad else ""
    done = f"{at.ok + at.bad} of {total} node{_s(total)} {'is' if total == 1 else 'are'} done{failed}"
    where = f"Wave {number} of {waves}, {title}: " if waves > 1 else ""
    ending = "; its budget is spent, so it pauses when what runs has ended" if at.is_spent else ""
    return f"{where}{done}{ending}."


def _s(count: int, *, one: str = "", many: str = "s") -> str:
    return one if count == 1 else many
