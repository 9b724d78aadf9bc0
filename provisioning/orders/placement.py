"""Which nodes does an order get? Healthy ones of one site, in few racks, spares kept back, known slow ones last.

The same candidates always give the same choice: names break every tie.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from provisioning.fleet.capacity import kept_back
from provisioning.fleet.sites import say_site

SLOW_BELOW = 0.97
"""A node below this share of its peers' speed is known slow: design.md 1.3, a cluster runs at its slowest node."""


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A node that could be given away: free, no hold open, wiped. `speed` None: never measured."""

    name: str
    rack: str
    site: str = ""
    speed: float | None = None
    spare: bool = False
    degraded: bool = False

    @property
    def is_slow(self) -> bool:
        """True when a measurement said so; an unmeasured node is not accused."""
        return self.degraded or (self.speed is not None and self.speed < SLOW_BELOW)


@dataclass(frozen=True, kw_only=True)
class Choice:
    """The chosen nodes, fastest tier first within few racks, and the sentence that says why these."""

    names: tuple[str, ...]
    racks: tuple[str, ...]
    slow: tuple[str, ...]
    why: str


@dataclass(frozen=True, kw_only=True)
class Shortfall:
    """Why there are not enough: `asked`, what is `available` at one site, and what is `kept_back` there for replacements.

    `sites` says how many each site has, when there are several.
    """

    asked: int
    available: int
    kept_back: int
    sites: Mapping[str, int] = field(default_factory=dict)

    @property
    def nearest_yes(self) -> int:
        """The largest number of nodes that can be had now."""
        return self.available

    def say(self, sku: str) -> str:
        """One sentence with the numbers."""
        spares = f"; {_nodes(self.kept_back)} more kept back as spares" if self.kept_back else ""
        verb = "is" if self.available == 1 else "are"
        offer = (
            f" {_nodes(self.available)} can be had now." if self.available else " None can be had right now."
        )
        where = f" at one site ({self._each()})" if len(self.sites) > 1 else ""
        return f"{_nodes(self.asked)} of {sku} were asked for and {self.available} {verb} free{where}{spares}.{offer}"

    def _each(self) -> str:
        return ", ".join(f"{site or 'no name'} {count}" for site, count in sorted(self.sites.items()))


def choose(
    candidates: Collection[Candidate],
    count: int,
    *,
    spares_kept: int | None = None,
    near: Iterable[str] = (),
    use_spares: bool = False,
    site: str | None = None,
) -> Choice | Shortfall:
    """`count` nodes of one site, preferring racks in `near`, then as few racks as can be.

    Spares stay back unless `use_spares`, which only the replacement of an unfit node sets: it takes marked spares
    first, so that unmarked nodes stay for new orders. `spares_kept` None keeps those marked as spare; a number counts at
    each site, since a spare replaces nothing elsewhere. `site` None: whichever site serves best, that is without slow
    nodes, in the fewest racks, and leaving larger sites alone.
    """
    if count < 0:
        raise ValueError(f"{count} nodes can't be chosen")
    sites = _by_site(candidates, site)
    told = {"spares_kept": spares_kept, "near": tuple(near), "use_spares": use_spares}
    answers = {name: _choose_at(here, count, **told) for name, here in sites.items()}  # type: ignore[arg-type]
    choices = [
        (len(answer.slow), len(answer.racks), len(sites[name]), name, answer)
        for name, answer in answers.items()
        if isinstance(answer, Choice)
    ]
    if choices:
        return min(choices, key=lambda each: each[:4])[4]
    lacking = {name: answer for name, answer in answers.items() if isinstance(answer, Shortfall)}
    best = max(lacking.values(), key=lambda each: each.available)
    each = {name: answer.available for name, answer in lacking.items()}
    return Shortfall(asked=count, available=best.available, kept_back=best.kept_back, sites=each)


def _by_site(candidates: Iterable[Candidate], site: str | None) -> dict[str, list[Candidate]]:
    sites: dict[str, list[Candidate]] = {}
    for one in candidates:
        if site is None or one.site == site:
            sites.setdefault(one.site, []).append(one)
    return sites or {site or "": []}


def _choose_at(
    candidates: Sequence[Candidate],
    count: int,
    *,
    spares_kept: int | None,
    near: tuple[str, ...],
    use_spares: bool,
) -> Choice | Shortfall:
    marked = [one for one in candidates if one.spare]
    unmarked = [one for one in candidates if not one.spare]
    kept = (
        0 if use_spares else kept_back(free=len(candidates), free_spares=len(marked), spares_kept=spares_kept)
    )
    available = len(candidates) - kept
    if count > available:
        return Shortfall(asked=count, available=available, kept_back=kept)
    chosen = _replacements(marked, unmarked, count, near) if use_spares else _fill(unmarked, count, near)
    return _explained(chosen, kept, unmarked)


def _replacements(
    marked: Sequence[Candidate], unmarked: Sequence[Candidate], count: int, near: tuple[str, ...]
) -> list[Candidate]:
    """Healthy spares first, then healthy others, then slow ones."""

    def place(one: Candidate) -> tuple[bool, bool, bool, float, str]:
        return (one.is_slow, not one.spare, one.rack not in near, -(one.speed or 1.0), one.name)

    return sorted([*marked, *unmarked], key=place)[:count]


def _fill(candidates: Sequence[Candidate], count: int, near: tuple[str, ...]) -> list[Candidate]:
    steady = [one for one in candidates if not one.is_slow]
    chosen = _from_few_racks(steady, min(count, len(steady)), near)
    if len(chosen) == count:
        return chosen
    used = {one.rack for one in chosen} | set(near)
    slow = sorted(
        (one for one in candidates if one.is_slow),
        key=lambda one: (one.rack not in used, -(one.speed or 0.0), one.name),
    )
    return chosen + slow[: count - len(chosen)]


def _from_few_racks(candidates: Sequence[Candidate], count: int, near: tuple[str, ...]) -> list[Candidate]:
    """Near racks first; then the fullest ones, and for the rest the rack that it fits best."""
    racks: dict[str, list[Candidate]] = defaultdict(list)
    for one in sorted(candidates, key=lambda one: one.name):
        racks[one.rack].append(one)
    chosen: list[Candidate] = []
    while len(chosen) < count:
        wanted = count - len(chosen)
        rack = min(racks, key=lambda name: _rack_place(name, len(racks[name]), wanted, near))
        chosen += racks.pop(rack)[:wanted]
    return chosen


def _rack_place(name: str, size: int, wanted: int, near: tuple[str, ...]) -> tuple[int, int, int, str]:
    """Order of racks: near ones; one that holds all that is wanted, the tighter the better; else the fullest."""
    fits = size >= wanted
    return (0 if name in near else 1, 0 if fits else 1, size if fits else -size, name)


def _explained(chosen: Sequence[Candidate], kept: int, unmarked: Sequence[Candidate]) -> Choice:
    racks = tuple(sorted({one.rack for one in chosen}))
    slow = tuple(one.name for one in chosen if one.is_slow)
    where = f"in rack {racks[0] or 'unknown'}" if len(racks) == 1 else f"in {len(racks)} racks"
    if chosen and chosen[0].site:
        where += f" of {say_site(chosen[0].site)}"
    parts = [f"{_nodes(len(chosen))} {where}"]
    if kept:
        parts.append(f"{_nodes(kept)} kept back as spares")
    if slow:
        parts.append(f"known slow, because nothing faster is free: {', '.join(slow)}")
    else:
        left_out = sum(1 for one in unmarked if one.is_slow)
        if left_out:
            parts.append(f"{_nodes(left_out)} left out as known slow")
    return Choice(names=tuple(one.name for one in chosen), racks=racks, slow=slow, why="; ".join(parts))


def _nodes(count: int) -> str:
    return "1 node" if count == 1 else f"{count} nodes"
