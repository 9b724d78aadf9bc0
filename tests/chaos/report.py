"""What does a campaign print? One table from the figures of one or more runs, which are plain numbers and words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

SLOW = "slow"
KINDS = {
    "lost": "lost",
    "duplicated": "duplicated",
    "wrong": "wrong verdicts",
    "left": "left behind",
    SLOW: "recoveries over two leases",
}
SUMS = ("jobs", "attempts", "children taken over", "nodes that drained", "events", "questions to the web")

Figures = Mapping[str, Any]


def is_clean(runs: Sequence[Figures], *, in_time: bool) -> bool:
    """True when every run found nothing; slow recoveries count only where they are to be `in_time`."""
    return not any(run["findings"][kind] for run in runs for kind in KINDS if in_time or kind != SLOW)


def table(runs: Sequence[Figures]) -> str:
    """Faults by kind with their worst recovery, then a column for each run and one for their sum."""
    return "\n".join([*_faults(runs), "", *_figures(runs)])


def _faults(runs: Sequence[Figures]) -> list[str]:
    counted: Counter[str] = Counter()
    worst: dict[str, float] = {}
    for run in runs:
        counted.update(run["faults"])
        for name, seconds in run["recovery"].items():
            worst[name] = max(worst.get(name, 0.0), seconds / run["lease"])
    lines = ["| fault | times | worst recovery, leases |", "|---|---:|---:|"]
    names = [*counted, *(name for name in worst if name not in counted)]
    for name in sorted(names, key=lambda each: (-counted[each], each)):
        said = f"{worst[name]:.1f}" if name in worst else ""
        lines.append(f"| {name} | {counted[name]} | {said} |")
    return lines


def _figures(runs: Sequence[Figures]) -> list[str]:
    columns = [*runs, None] if len(runs) > 1 else [*runs]
    heads = [run["servers"] for run in runs] + (["in sum"] if len(runs) > 1 else [])
    lines = [f"| what | {' | '.join(heads)} |", f"|---|{'---:|' * len(columns)}"]
    for name, value in _rows().items():
        cells = [value([run]) if run is not None else value(runs) for run in columns]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def _rows() -> dict[str, Any]:
    def summed(name: str) -> Any:
        return lambda runs: str(sum(run["figures"][name] for run in runs))

    def found(kind: str) -> Any:
        return lambda runs: str(sum(len(run["findings"][kind]) for run in runs))

    return {
        "seconds": lambda runs: f"{sum(run['seconds'] for run in runs):.0f}",
        "faults": lambda runs: str(sum(sum(run["faults"].values()) for run in runs)),
        **{name: summed(name) for name in SUMS},
        "jobs by state": lambda runs: _by(runs, "states"),
        "messages handled": lambda runs: _by(runs, "messages"),
        **{words: found(kind) for kind, words in KINDS.items()},
        "worst recovery": _worst,
        "load of the machine": lambda runs: f"{max(run['load'] for run in runs):.1f}",
    }


def _by(runs: Sequence[Figures], what: str) -> str:
    counted: Counter[str] = Counter()
    for run in runs:
        counted.update(run[what])
    return ", ".join(f"{count} {name}" for name, count in sorted(counted.items())) or "none"


def _worst(runs: Sequence[Figures]) -> str:
    seconds, lease = max(
        ((max(run["recovery"].values(), default=0.0), run["lease"]) for run in runs),
        key=lambda each: each[0] / each[1],
    )
    return f"{seconds:.1f} s, {seconds / lease:.1f} leases of {lease:g} s"
