"""How fast is the desk with a million tickets, and how fast is django-helpdesk beside it? `python bench/queue.py`.

Fills PostgreSQL, starts the portal's production server, and measures over HTTP on loopback from the request's first byte to
the answer's last. Then the same with 100,000 tickets, and with django-helpdesk in an environment of its own.
"""

from __future__ import annotations

import sys

sys.path[0] = sys.path[0].rpartition("/bench")[0]  # this file is called like a module of the standard library

import argparse
import base64
import json
import os
import subprocess
import tempfile
import venv
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from bench.common import ROOT, Browser, child, databases, machine, percentile, postgres, say, serving, table

PEER = ("django-helpdesk", "psycopg[binary]", "uvicorn")
GOAL_MS, GOAL_TIMES = 60.0, 10.0
Take = tuple[str, Callable[[int], Any]]
Figures = dict[str, dict[str, float]]

ROWS = {
    "first": "list, first page",
    "deep": "list, deep page",
    "ticket": "ticket page",
    "position": "position in the queue",
    "search": "search",
    "verdict": "verdict",
}


def measure(browser: Browser, takes: Sequence[Take], times: int) -> Figures:
    """p50 and p95 in milliseconds of each; the first five of each warm caches and don't count."""
    found: Figures = {}
    for name, take in takes:
        took: list[float] = []
        for number in range(times + 5):
            answer = take(number)
            if answer.status not in (200, 302):
                raise SystemExit(f"{name}: {answer.status} {answer.location} {answer.text[:600]}")
            if number >= 5:
                took.append(answer.seconds * 1000)
        found[name] = {"p50": percentile(took, 0.5), "p95": percentile(took, 0.95), "n": float(len(took))}
        say(f"  {ROWS[name]}: p50 {found[name]['p50']:.1f} ms, p95 {found[name]['p95']:.1f} ms")
    return found


def ours(url: str, tickets: int, still_open: int, teams: int, times: int, folder: Path) -> dict[str, Any]:
    """Fill, serve and measure the portal."""
    env = {
        **os.environ,
        "PORTAL_DATABASE_URL": url,
        "PORTAL_VAR_DIR": str(folder),
        "DJANGO_SETTINGS_MODULE": "portal.settings",
    }
    env |= {"PYTHONPATH": str(ROOT), "PORTAL_LOG_LEVEL": "WARNING"}
    say(f"portal with {tickets:,} tickets, {still_open:,} of them open")
    sizes = ["--tickets", str(tickets), "--open", str(still_open), "--teams", str(teams)]
    facts = child([sys.executable, "-W", "ignore", "-m", "bench.filling", *sizes], env)
    with serving(
        [sys.executable, "-m", "portal.embedded.serve", "{fd}", "WARNING"], env, folder / "web.log"
    ) as port:
        browser = Browser(port)
        browser.sign_in("/account/sign-in/", facts["user"], facts["password"])
        figures = measure(browser, _our_takes(browser, facts), times)
    figures["rerank"] = {
        "p50": percentile(facts["rerank"], 0.5) * 1000,
        "p95": max(facts["rerank"]) * 1000,
        "n": float(facts["rerank_tickets"]),
    }
    return {
        "tickets": tickets,
        "open": still_open,
        "page": facts["page"],
        "figures": figures,
        "fill_seconds": facts["fill_seconds"],
    }


def _our_takes(browser: Browser, facts: dict[str, Any]) -> list[Take]:
    refs, decide, words = facts["tickets"], facts["decide"], facts["words"]

    def verdict(number: int) -> Any:
        ref, version = decide[number % len(decide)]
        form = {
            "version": version,
            "reason_code": "capacity",
            "reason": "All nodes are taken.",
            "nearest_yes": "Next week.",
        }
        return browser.post(f"/desk/{ref}/decline", form)

    return [
        ("first", lambda _: browser.get("/desk/?view=queue")),
        ("deep", lambda _: browser.get(f"/desk/?view=queue&cursor={quote(facts['cursor'])}")),
        ("ticket", lambda n: browser.get(f"/tickets/{refs[n % len(refs)]}/")),
        ("position", lambda n: browser.get(f"/tickets/{refs[n % len(refs)]}/rank/")),
        ("search", lambda n: browser.get(f"/search/?q={quote(words[n % len(words)])}")),
        ("verdict", verdict),
    ]


def peers(url: str, tickets: int, still_open: int, times: int, folder: Path) -> dict[str, Any]:
    """The same of django-helpdesk, newest release, in an environment that is made here."""
    from bench.words import WORDS

    python = _environment(folder / "peer")
    env = {**os.environ, "PEER_DATABASE_URL": url, "BENCH_WORDS": json.dumps(WORDS)}
    for name in ("PYTHONPATH", "DJANGO_SETTINGS_MODULE"):
        env.pop(name, None)
    say(f"django-helpdesk with {tickets:,} tickets, {still_open:,} of them open")
    script = [python, "-P", "-W", "ignore", str(ROOT / "bench" / "peer.py")]
    facts = child([*script, "fill", str(tickets), str(still_open)], env)
    with serving([*script, "serve", "{fd}"], env, folder / "peer.log") as port:
        browser = Browser(port)
        browser.sign_in("/login/", facts["user"], facts["password"])
        browser.get(f"/tickets/{facts['tickets'][0]}/")
        figures = measure(browser, _peer_takes(browser, facts), times)
    listed = subprocess.run(
        [python, "-m", "pip", "list", "--format=json"], capture_output=True, text=True, check=True
    )
    versions = {row["name"].lower(): row["version"] for row in json.loads(listed.stdout)}
    return {
        "tickets": tickets,
        "open": still_open,
        "figures": figures,
        "versions": versions,
        "fill_seconds": facts["fill_seconds"],
    }


def _environment(folder: Path) -> str:
    python = folder / "bin" / "python"
    say("installing django-helpdesk")
    venv.create(folder, with_pip=True)
    subprocess.run(
        [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *PEER],
        check=True,
        stderr=subprocess.DEVNULL,
    )
    return str(python)


def _peer_takes(browser: Browser, facts: dict[str, Any]) -> list[Take]:
    """What its pages ask for: its list is a page whose rows come by a second request, and the rows alone are timed."""
    refs, decide = facts["tickets"], facts["decide"]

    def rows(start: int, words: str = "") -> Any:
        asked = {
            "filtering": {"status__in": [1, 2]},
            "sorting": "created",
            "search_string": words,
            "sortreverse": False,
        }
        query = base64.b64encode(json.dumps(asked).encode()).decode()
        return browser.get(f"/datatables_ticket_list/{query}?draw=1&start={start}&length=50")

    def verdict(number: int) -> Any:
        form = {
            "comment": "All nodes are taken.",
            "new_status": 3,
            "public": 1,
            "title": "Taken",
            "priority": 3,
            "queue": 1,
            "owner": 0,
        }
        return browser.post(f"/tickets/{decide[number % len(decide)]}/update/", form)

    from bench.words import pairs

    words = pairs(60)
    return [
        ("first", lambda _: rows(0)),
        ("deep", lambda _: rows(min(499 * 50, max(0, facts["open"] - 60)))),
        ("ticket", lambda n: browser.get(f"/tickets/{refs[n % len(refs)]}/")),
        ("search", lambda n: rows(0, words[n % len(words)])),
        ("verdict", verdict),
    ]


def report(found: dict[str, Any]) -> str:
    """The table, and what the goals say."""
    big, small, peer = found["million"], found["equal"], found.get("peer")
    head = ["milliseconds, p50 / p95", f"portal, {big['tickets']:,}", f"portal, {small['tickets']:,}"]
    head += [f"django-helpdesk, {peer['tickets']:,}", "times"] if peer else []
    lines = []
    for name, title in {
        **ROWS,
        "rerank": f"re-rank a team's {big['figures']['rerank']['n']:.0f} tickets",
    }.items():
        cells = [title, *(_cell(house["figures"].get(name)) for house in (big, small))]
        if peer:
            one, other = small["figures"].get(name), peer["figures"].get(name)
            cells += [_cell(other), f"{other['p50'] / one['p50']:.1f} ×" if one and other else "–"]
        lines.append(cells)
    said = [table(head, lines), "", *_goals(found)]
    versions = [
        f"portal on Django {found['versions']['django']}",
        f"PostgreSQL {found['versions']['postgresql']}",
    ]
    if peer:
        versions.append(
            f"django-helpdesk {peer['versions']['django-helpdesk']} on Django {peer['versions']['django']}"
        )
    return "\n".join([*said, "; ".join(versions), "; ".join(found["machine"].values())])


def _cell(figure: dict[str, float] | None) -> str:
    return "–" if figure is None else f"{figure['p50']:.1f} / {figure['p95']:.1f}"


def _goals(found: dict[str, Any]) -> list[str]:
    big, small, peer = found["million"]["figures"], found["equal"]["figures"], found.get("peer")
    first, deep = big["first"]["p95"], big["deep"]["p95"]
    lines = [
        f"list at {found['million']['tickets']:,}: p95 {first:.1f} ms, page {found['million']['page']} {deep:.1f} ms;"
        f" goal under {GOAL_MS:.0f} ms whatever the depth: {'met' if max(first, deep) < GOAL_MS else 'MISSED'}"
    ]
    if peer:
        times = peer["figures"]["first"]["p50"] / small["first"]["p50"]
        lines.append(
            f"list beside the peer at equal size: {times:.1f} times; goal {GOAL_TIMES:.0f}: {'met' if times >= GOAL_TIMES else 'MISSED'}"
        )
    return lines


def versions_of(url: str) -> dict[str, str]:
    """Of the portal's Django and of the database."""
    import django
    import psycopg

    with psycopg.connect(url) as server:
        row = server.execute("SHOW server_version").fetchone()
    return {"django": django.get_version(), "postgresql": str(row[0]) if row else "?"}


def main() -> None:
    """Run it all; see `--help`."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    parser.add_argument(
        "--small", action="store_true", help="a quick look: 4,000 and 2,000 tickets, few requests"
    )
    parser.add_argument("--no-peer", action="store_true", help="leave django-helpdesk away")
    asked = parser.parse_args()
    sizes = (
        ((4_000, 1_500, 50), (2_000, 750, 50))
        if asked.small
        else ((1_000_000, 50_000, 2_000), (100_000, 50_000, 2_000))
    )
    times = 10 if asked.small else 100
    with tempfile.TemporaryDirectory(prefix="qm-bench-") as name, postgres(Path(name)) as server:
        folder = Path(name)
        found: dict[str, Any] = {"machine": machine(), "versions": versions_of(server)}
        for house, size in zip(("million", "equal"), sizes, strict=True):
            with databases(server, [house]) as made:
                found[house] = ours(made[house], *size, times, folder)
        if not asked.no_peer:
            with databases(server, ["peer"]) as made:
                found["peer"] = peers(made["peer"], *sizes[1][:2], times, folder)
    if asked.json:
        asked.json.write_text(json.dumps(found, indent=1) + "\n")
    print(report(found))


if __name__ == "__main__":
    main()
