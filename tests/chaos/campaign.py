"""Does any job lie or get lost when everything goes wrong? `make chaos`, or `make chaos ARGS="--faults 1000 --minutes 90 --pace 1"`.

Real PostgreSQL and broker, real workers and web server, real ansible-playbook over real sshd nodes, and faults by a seeded die: once on
the embedded servers and once on a stand-alone PostgreSQL and RabbitMQ, where these can be started. It ends with a table, and with 1
when a job was lost, ran twice, ended untruthfully or left anything behind. A recovery of more than two leases is told, and with --in-time
it fails, too: how long one takes says as much of the machine as of the portal.
"""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.chaos import report, servers

SHORT_MINUTES = 10.0
"""Of faults; with what it takes to start and to come to rest, a quarter of an hour."""
MANY = 100_000


def told(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="make chaos", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--minutes",
        type=float,
        default=SHORT_MINUTES,
        help="how long faults are injected, in sum (default 10)",
    )
    parser.add_argument("--faults", type=int, default=MANY, help="end after so many faults, in sum")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--lease", type=float, default=30.0, help="seconds (default 30, as the portal's own)")
    parser.add_argument("--pace", type=float, default=2.0, help="seconds between two faults (default 2)")
    parser.add_argument("--nodes", type=int, default=8, help="behind an sshd each (default 8)")
    parser.add_argument("--workers", type=int, default=3, help="with two slots each (default 3)")
    parser.add_argument(
        "--servers",
        default="",
        help="embedded, debian or both, separated by a comma; both must start then. Empty: those that can",
    )
    parser.add_argument("--broker", default="", help="URL of a broker that nothing happens to")
    parser.add_argument("--database", default="", help="URL of an empty PostgreSQL database; as above")
    parser.add_argument("--only", default="", help="names of faults, separated by commas")
    parser.add_argument("--in-time", action="store_true", help="a recovery over two leases is a failure, too")
    parser.add_argument("--json", default="", help="write the figures to this file")
    parser.add_argument("--keep", action="store_true", help="keep the folder with all logs")
    parser.add_argument("--one", default="", help=argparse.SUPPRESS)
    return parser.parse_args(words)


def chosen(options: argparse.Namespace) -> list[str]:
    """The pairs of servers to play on; says which are left out, and refuses those that were named and can't be."""
    if options.database or options.broker:
        if not (options.database and options.broker):
            raise SystemExit("--database and --broker belong together")
        return [servers.GIVEN]
    named = [name.strip() for name in options.servers.split(",") if name.strip()]
    if unknown := set(named) - set(servers.PAIRS):
        raise SystemExit(
            f"there are no servers {', '.join(sorted(unknown))}: use {' or '.join(servers.PAIRS)}"
        )
    pairs = []
    for pair in named or servers.PAIRS:
        reason = servers.why_not(pair)
        if reason and named:
            raise SystemExit(f"the campaign can't run on {pair} servers: {reason}")
        if reason:
            print(f"Left out: {pair} servers ({reason})")  # noqa: T201
        else:
            pairs.append(pair)
    return pairs


def run_one(options: argparse.Namespace) -> int:
    """One run in this process, figures into --json."""
    from tests.chaos import run

    home = Path(tempfile.mkdtemp(prefix="qmx-", dir="/tmp"))
    pair = (
        servers.given(options.database, options.broker)
        if options.one == servers.GIVEN
        else servers.make(options.one, home)
    )
    run.prepare(home, pair, options)
    try:
        figures = run.perform(home, pair, options)
    finally:
        if options.keep:
            print(f"All logs are in {home}")  # noqa: T201
        else:
            shutil.rmtree(home, ignore_errors=True)
    Path(options.json).write_text(json.dumps(figures, indent=2), encoding="utf-8")
    return 0


def run_all(words: Sequence[str], options: argparse.Namespace) -> list[dict[str, Any]]:
    """Each pair in a process of its own, since settings are read once; the figures of all."""
    pairs, runs = chosen(options), []
    for number, pair in enumerate(pairs):
        with tempfile.TemporaryDirectory(prefix="qmx-figures-") as folder:
            file = Path(folder) / "figures.json"
            share = ["--minutes", str(options.minutes / len(pairs)), "--seed", str(options.seed + number)]
            share += ["--faults", str(-(-options.faults // len(pairs))), "--one", pair, "--json", str(file)]
            print(f"== {pair} servers, seed {options.seed + number}", flush=True)  # noqa: T201
            if follow([sys.executable, "-m", "tests.chaos.campaign", *words, *share]) or not file.exists():
                raise SystemExit(f"the run on {pair} servers broke off")
            runs.append(json.loads(file.read_text(encoding="utf-8")))
    return runs


def follow(command: Sequence[str]) -> int:
    """Run it to its end; where this process is told to go it goes first, so that nothing is left of what it started."""
    process = subprocess.Popen(command)
    try:
        return process.wait()
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()


def leave(number: int, _frame: object) -> None:
    """A polite kill clears the stage."""
    raise SystemExit(128 + number)


def main(words: Sequence[str]) -> int:
    options = told(words)
    signal.signal(signal.SIGTERM, leave)
    if options.one:
        return run_one(options)
    from tests.ssh import sshd

    if reason := sshd.why_not():
        print(f"There can be no campaign here: {reason}")  # noqa: T201
        return 2
    runs = run_all(words, options)
    print(f"\n{report.table(runs)}\n\nseed {options.seed}, {runs[0]['versions']}")  # noqa: T201
    for each in runs:
        for kind, words_of in report.KINDS.items():
            for sentence in each["findings"][kind]:
                print(f"{words_of}, {each['servers']}: {sentence}")  # noqa: T201
    if options.json:
        Path(options.json).write_text(json.dumps(runs, indent=2), encoding="utf-8")
    return 0 if report.is_clean(runs, in_time=options.in_time) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
