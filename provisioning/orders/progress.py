"""What does an order do next, given how far each of its nodes is? Pure: stages in, the next step out."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from provisioning.orders.plan import (
    BUILD,
    CONFIRM,
    DRAIN,
    JOIN,
    LEAST_NODES_TO_MEASURE_TOGETHER,
    MEASURE,
    REVALIDATE,
    VALIDATE,
    WIPE,
    Step,
)


class Stage(StrEnum):
    """How far a node is within its order."""

    CHOSEN = "chosen"
    PROVISIONED = "provisioned"
    JOINED = "joined"
    VALIDATED = "validated"
    DRAINED = "drained"
    WIPED = "wiped"
    REVALIDATED = "revalidated"


@dataclass(frozen=True, kw_only=True)
class Standing:
    """A node that the order still works on."""

    name: str
    stage: Stage
    suspected: bool = False


@dataclass(frozen=True, kw_only=True)
class Next:
    """The next step and the order's nodes it is for."""

    step: Step
    names: tuple[str, ...]


def next_when_building(standings: Collection[Standing], *, cluster_size: int) -> Next | None:
    """The next step of a build or a growth; None when the nodes are done and there is nothing to measure together.

    Suspects are confirmed before replacements are built, so that all replacements of a round come together.
    """
    suspects = _names(one for one in standings if one.suspected)
    if suspects:
        return Next(step=CONFIRM, names=suspects)
    for stage, step in ((Stage.CHOSEN, BUILD), (Stage.PROVISIONED, JOIN), (Stage.JOINED, VALIDATE)):
        waiting = _names(one for one in standings if one.stage == stage)
        if waiting:
            return Next(step=step, names=waiting)
    if cluster_size >= LEAST_NODES_TO_MEASURE_TOGETHER:
        return Next(step=MEASURE, names=_names(standings))
    return None


def next_when_giving_back(standings: Collection[Standing], *, drains: bool, rejoins: bool) -> Next | None:
    """The next step of a release, a recheck or a shrink; None when everything is done.

    `drains` is False where no work can be running; `rejoins` when nodes stay behind that must forget the others.
    """
    first = (Stage.CHOSEN, DRAIN if drains else WIPE)
    for stage, step in (first, (Stage.DRAINED, WIPE), (Stage.WIPED, REVALIDATE)):
        waiting = _names(one for one in standings if one.stage == stage)
        if waiting:
            return Next(step=step, names=waiting)
    return Next(step=JOIN, names=()) if rejoins else None


def _names(standings: Iterable[Standing]) -> tuple[str, ...]:
    return tuple(sorted(one.name for one in standings))


_PAST: dict[Stage, frozenset[str]] = {
    Stage.CHOSEN: frozenset(),
    Stage.PROVISIONED: frozenset({BUILD.name}),
    Stage.JOINED: frozenset({BUILD.name, JOIN.name}),
    Stage.VALIDATED: frozenset({BUILD.name, JOIN.name, VALIDATE.name, CONFIRM.name}),
    Stage.DRAINED: frozenset({DRAIN.name}),
    Stage.WIPED: frozenset({DRAIN.name, WIPE.name}),
    Stage.REVALIDATED: frozenset({DRAIN.name, WIPE.name, REVALIDATE.name}),
}
"""Steps that lie behind a node at each stage."""


def count_past(stages: Mapping[str, Stage], step: Step) -> int:
    """How many of these nodes have `step` behind them."""
    return sum(1 for stage in stages.values() if step.name in _PAST[stage])


def share_done(
    stages: Mapping[str, Stage],
    plan: Sequence[Step],
    *,
    step: Step | None = None,
    part: float = 0.0,
    names: Collection[str] = (),
) -> float:
    """How much of the order is done, in [0, 1]: the mean over its nodes of the weights behind each of them.

    `step` runs now for the nodes in `names` and is done to `part`. A replacement begins from nought, so the share may
    fall; it says how much work is left, not how long ago it began.
    """
    total = sum(one.weight for one in plan)
    if not stages or total <= 0:
        return 0.0
    sums = 0.0
    for name, stage in stages.items():
        past = _PAST[stage]
        behind = sum(one.weight for one in plan if one.name in past)
        running = step is not None and step in plan and step.name not in past and name in names
        sums += behind + (part * step.weight if running and step is not None else 0.0)
    return min(1.0, sums / len(stages) / total)
