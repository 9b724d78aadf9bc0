"""What do jobs cost? `python bench/jobs.py`: time beside plain Ansible, events stored a second, and memory of a long job.

On a throw-away database: the same playbook on 1 to 200 simulated hosts by `ansible-playbook`, by `ansible_runner.run`, and
by a claimed job of ours to its final state, at equal forks and settings; over real sshds with and without Mitogen; ten
checks of a node in one round trip beside ten tasks; COPY beside bulk_create, and the whole way from spool to table.
"""

from __future__ import annotations

import sys

sys.path[0] = sys.path[0].rpartition("/bench")[
    0
]  # files here are called like modules of the standard library

import argparse
import json
import os
import subprocess
import tempfile
from dataclasses import dataclass
from importlib import metadata, util
from pathlib import Path
from typing import Any

from bench.common import ROOT, child, databases, machine, postgres, say, table

STORED_GOAL, OURS_GOAL, TRIPS_GOAL = 20_000.0, 1.10, 5.0
PROGRAM = "bench.inside"


@dataclass(frozen=True, kw_only=True)
class Size:
    """How much is measured. `few` hosts are run `times` times each way, more of them once."""

    hosts: tuple[int, ...] = (1, 10, 50, 200)
    few: int = 50
    times: int = 3
    events: int = 200_000
    stored: int = 100_000
    large: int = 10
    queued: int = 2_000
    many: int = 1_000
    trips: int = 8
    ssh: int = 8


SMALL = Size(hosts=(1,), times=0, events=2_000, stored=500, large=1, queued=20, many=20, trips=0, ssh=0)


def inside(url: str, folder: Path, *words: object) -> Any:
    """Run a part in a process that has Django, the database and a folder of its own."""
    env = {
        **{name: value for name, value in os.environ.items() if not name.startswith("PORTAL_")},
        "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]),
        "PORTAL_DATABASE_URL": url,
        "PORTAL_VAR_DIR": str(folder / "var"),
        "PORTAL_LOG_LEVEL": "ERROR",
        "PORTAL_JOB_LEASE_SECONDS": "120",
        "DJANGO_SETTINGS_MODULE": "portal.settings",
    }
    return child([sys.executable, "-m", PROGRAM, *map(str, words)], env)


def versions() -> dict[str, str]:
    """What was measured."""
    names = ["ansible-core", "ansible-runner", "celery", "django", "psycopg"]
    names += ["mitogen"] if util.find_spec("mitogen") else []
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return {**{name: metadata.version(name) for name in names}, "commit": commit.stdout.strip()}


def measure(url: str, folder: Path, size: Size, book: str) -> dict[str, Any]:
    """All parts."""
    with databases(url, ["jobs"]) as made:

        def part(name: str, *words: object) -> Any:
            say(" ".join(map(str, (name, *words))))
            return inside(made["jobs"], folder, name, *words)

        inside(made["jobs"], folder, "prepare")
        found: dict[str, Any] = {
            "stored": part("store", size.stored),
            "path": part("memory", size.events),
            "large": part("large", size.large),
            "queued": part("queued", size.queued),
            "many": part("many", size.many),
        }
        found["runs"] = [
            part("run", count, size.times if count <= size.few else 1, book) for count in size.hosts
        ]
        found["trips"] = part("trips", size.trips, size.times) if size.trips else None
        found["ssh"] = part("ssh", size.ssh, size.times, book) if size.ssh else None
    return {**found, "load": os.getloadavg()[0]}


def of_events(found: dict[str, Any]) -> str:
    """Events stored a second, and what else was asked of the database."""
    stored, path = found["stored"], found["path"]
    goal = f">= {STORED_GOAL:,.0f}"
    return table(
        ["events stored", "a second", "CPU us each", "goal"],
        [
            ["COPY alone", f"{stored['copy']:,.0f}", "", goal],
            ["bulk_create alone", f"{stored['bulk_create']:,.0f}", "", ""],
            [
                f"whole path, {path['events']:,} of {path['bytes']:,.0f} bytes",
                f"{path['events'] / path['seconds']:,.0f}",
                f"{path['cpu'] / path['events'] * 1e6:.0f}",
                goal,
            ],
        ],
    )


def of_size(found: dict[str, Any]) -> str:
    """What grows must not grow far."""
    large, queued, many = found["large"], found["queued"], found["many"]
    rows = [[f"worker after {count:,} events", f"{mb:.1f} MB", ""] for count, mb in found["path"]["marks"]]
    rows.append(
        [f"an event of {large['mb']} MB", f"{large['seconds']:.2f} s", f"{large['more_mb']:.0f} MB more"]
    )
    for name, what in (("next", "the next of"), ("claim", "claiming one of")):
        took = queued[name]
        rows.append(
            [
                f"{what} {queued['jobs']:,} queued",
                f"{took['seconds'] * 1000:.0f} ms",
                f"{took['statements']} statements",
            ]
        )
    rows.append(
        [
            f"news of {many['hosts']:,} hosts",
            f"{many['seconds'] * 1000:.0f} ms",
            f"{many['statements']} statements",
        ]
    )
    return table(["what", "took", "and"], rows)


def of_ways(run: dict[str, Any], ways: tuple[str, ...], base: str = "raw") -> list[list[str]]:
    """A row for each way."""
    return [
        [
            str(run["hosts"]),
            way,
            f"{run[way]['wall']:.2f}",
            f"{run[way]['cpu']:.2f}",
            f"{run[way]['wall'] / run[base]['wall']:.2f}" if run[base]["wall"] else "-",
            f"{run[way]['wall'] - run[base]['wall']:+.2f}",
        ]
        for way in ways
    ]


def of_trips(trips: dict[str, Any]) -> str:
    """One round trip beside ten, with what starting costs and without."""
    start, one = trips["start, ours"]["wall"], trips["one, ours"]["wall"]
    rows = []
    for way in ("one, ours", "ten, ours", "ten, Mitogen", "ten, default"):
        if way not in trips:
            continue
        wall = trips[way]["wall"]
        alone = (wall - start) / (one - start) if one > start else 0.0
        rows.append([way, f"{wall:.2f}", f"{trips[way]['cpu']:.2f}", f"{wall / one:.1f}", f"{alone:.1f}"])
    where = " behind sshd" if not trips["why_not"] else " without SSH"
    return table(
        [
            f"{trips['checks']} checks of {trips['hosts']} nodes{where}",
            "wall s",
            "CPU s",
            "of one",
            "without the start",
        ],
        rows,
    )


def show(found: dict[str, Any]) -> str:
    """The tables."""
    parts = [of_events(found), of_size(found)]
    runs = [run for run in found["runs"] if run["raw"]["wall"]]
    head = ["hosts", "how", "wall s", "CPU s", "of raw", "s more"]
    rows = [row for run in runs for row in of_ways(run, ("raw", "runner", "ours"))]
    parts.append(table(head, rows))
    if found["trips"]:
        parts.append(of_trips(found["trips"]))
    if found["ssh"]:
        ssh, ways = found["ssh"], ("raw", "ours", "raw, Mitogen", "ours, Mitogen")
        parts.append(ssh["why_not"] or table(["behind sshd", *head[1:]], of_ways(ssh, ways)))
    forks = runs[0]["forks"] if runs else "-"
    parts.append(
        f"goals: ours <= {OURS_GOAL:.2f} of raw wall, >= {STORED_GOAL:,.0f} events a second, one round trip >= {TRIPS_GOAL:.0f} x "
        f"faster; forks from {forks}, medians; load {found['load']:.1f} at the end"
    )
    return "\n\n".join(parts)


def main() -> None:
    """Measure, print, keep."""
    read = argparse.ArgumentParser(description=__doc__)
    read.add_argument("--json", type=Path, help="write the figures to this file")
    read.add_argument("--small", action="store_true", help="a quick look, for a test")
    read.add_argument("--hosts", type=int, nargs="*", help="how many simulated hosts")
    read.add_argument("--times", type=int, help="runs of each kind; the median counts")
    read.add_argument("--events", type=int, help="events of the long job")
    read.add_argument(
        "--playbook",
        choices=("drain_node", "provision_node"),
        default="drain_node",
        help="what runs on the hosts",
    )
    told = read.parse_args()
    size = SMALL if told.small else Size()
    given = {"hosts": told.hosts and tuple(told.hosts), "times": told.times, "events": told.events}
    size = Size(**{**vars(size), **{name: value for name, value in given.items() if value is not None}})
    with tempfile.TemporaryDirectory(prefix="qm-bench-") as name, postgres(Path(name)) as url:
        found = measure(url, Path(name), size, told.playbook)
    found = {"machine": machine(), "versions": versions(), **found}
    print("; ".join(f"{name} {value}" for name, value in {**found["machine"], **found["versions"]}.items()))
    print()
    print(show(found))
    if told.json:
        told.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
