"""How is the demonstration told on a terminal? The timeline, the cluster, and who may sign in."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from portal.demo.cast import Login
from portal.demo.story import Outcome

RULE = "─" * 78


def timeline(outcome: Outcome) -> list[str]:
    """What happened, one line an event, with the seconds since the request was filed."""
    entries = outcome.ticket["timeline"]
    start = datetime.fromisoformat(entries[0]["at"])
    lines = ["", RULE, f"What happened to {outcome.ticket['ref']}", RULE]
    for entry in entries:
        seconds = (datetime.fromisoformat(entry["at"]) - start).total_seconds()
        lines.append(f"  {seconds:7.1f} s  {entry['by'] or 'the portal':12} {entry['title']}")
    return lines


def result(outcome: Outcome) -> list[str]:
    """The cluster, the node that was replaced, and how fast the rest is."""
    cluster = outcome.cluster
    lines = ["", RULE, f"{cluster['ref']} {cluster['name']} is {cluster['state']}", RULE]
    lines.append(
        f"  nodes    {', '.join(member['name'] for member in cluster['members'])} ({cluster['gpus']} GPUs)"
    )
    lines += [
        f"  swapped  {swap['old']} for {swap['new']}: {swap['reason']}" for swap in outcome.order["swaps"]
    ]
    lines.append(
        f"  verdict  {cluster['verdict']}, measured as one: {_figure(cluster['busbw_gbps'], 'GB/s')}"
    )
    lines.append(
        f"  speed    {_figure(cluster['speed'], 'of a healthy cluster')}, held by {cluster['slowest_node']}; "
        f"{_figure(cluster['gpu_hours_lost_per_day'], 'GPU-hours a day lost to it')}"
    )
    lines += [f"  connect  {line}" for line in cluster["connect"]]
    lines.append(f"  from filing to ready: {outcome.seconds:.0f} s")
    return lines


def sign_in(base_url: str, logins: Iterable[Login]) -> list[str]:
    """Where the portal is and who may come in."""
    lines = ["", RULE, f"The portal is at {base_url}", RULE]
    lines += [f"  {login.name:10} {login.password:16} {login.says}" for login in logins]
    return lines


def figures(outcome: Outcome) -> dict[str, Any]:
    """For `--json`: everything a machine may want to compare."""
    return {
        "ticket": outcome.ticket["ref"],
        "order": outcome.order["ref"],
        "cluster": outcome.cluster["ref"],
        "state": outcome.cluster["state"],
        "nodes": [member["name"] for member in outcome.cluster["members"]],
        "swaps": outcome.order["swaps"],
        "verdict": outcome.cluster["verdict"],
        "speed": outcome.cluster["speed"],
        "slowest_node": outcome.cluster["slowest_node"],
        "busbw_gbps": outcome.cluster["busbw_gbps"],
        "gpu_hours_lost_per_day": outcome.cluster["gpu_hours_lost_per_day"],
        "seconds": round(outcome.seconds, 1),
        "steps": outcome.order["steps"],
        "timeline": outcome.ticket["timeline"],
    }


def _figure(value: float | None, unit: str) -> str:
    return "not measured" if value is None else f"{value:.4g} {unit}"
