"""kill -9 of the worker in the middle of provision_node: its child goes on, no node is lost or used twice, nothing is left."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from portal.demo.client import Client
from tests.flows.conftest import Portal

pytestmark = [pytest.mark.flow, pytest.mark.ansible]
TWO_MINUTES = 120


def wait_for(what: str, seen: Callable[[], Any], seconds: float, portal: Portal) -> Any:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := seen():
            return found
        time.sleep(0.5)
    pytest.fail(f"{what} did not happen in {seconds:.0f} s\n{portal.log()[-4000:]}")


def descendants(pid: int) -> list[int]:
    listed = subprocess.run(["ps", "-eo", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    children: dict[int, list[int]] = {}
    for line in listed.splitlines():
        child, parent = map(int, line.split())
        children.setdefault(parent, []).append(child)
    found, queue = [], [pid]
    while queue:
        found += (mine := children.get(queue.pop(), []))
        queue += mine
    return found


def words(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
    except OSError:
        return ""


def worker_of(portal: Portal) -> int:
    """The main process of the jobs worker that the supervisor runs now; 0 while there is none."""
    mine = [
        pid for pid in descendants(portal.process.pid) if "jobs@" in words(pid) and "celery" in words(pid)
    ]
    return min(mine, default=0)


def playbooks_of(portal: Portal) -> set[int]:
    """Every ansible-playbook on this machine that works for this portal."""
    marker = str(portal.var_dir).encode()
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            told = (folder / "cmdline").read_bytes()
            if b"ansible-playbook" in told and marker in (folder / "environ").read_bytes() + told:
                found.add(int(folder.name))
        except OSError:
            continue
    return found


def rows(portal: Portal, query: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(portal.environment["PORTAL_DATABASE_URL"]) as connection:
        return connection.execute(query.encode()).fetchall()


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="reads /proc to see what is left")
def test_killed_worker_loses_no_job_and_leaves_nothing(portal: Portal) -> None:
    requester = Client(portal.url, portal.tokens["requester"])
    ticket = requester.post(
        "tickets",
        {
            "offering": "gpu-cluster",
            "team": "vision",
            "answers": {
                "purpose": "Outlive a worker.", "sku": "h100-sxm5-80g", "nodes": 1, "cluster_name": "survivor",
                "lease": "fixed", "lease_days": 1, "driver": "standard", "storage": False,
            },
        },
    )  # fmt: skip

    def provisioning() -> bool:
        return bool(
            rows(
                portal,
                "select 1 from provisioning_job j join provisioning_jobevent e on e.job_id = j.id "
                "where j.playbook = 'provision_node' and j.status = 'running' limit 1",
            )
        )

    wait_for("provision_node", provisioning, TWO_MINUTES, portal)
    victim = worker_of(portal)
    assert victim
    for pid in [victim, *descendants(victim)]:
        if "celery" in words(pid):
            os.kill(pid, signal.SIGKILL)

    def settled() -> str:
        ((status, attempt, adoptions),) = rows(
            portal,
            "select status, attempt, adoptions from provisioning_job "
            "where playbook = 'provision_node' order by id limit 1",
        )
        goes_on = attempt + adoptions > 1 and status in {"claimed", "running", "succeeded", "partial"}
        return status if goes_on or status in {"failed", "lost", "timed_out"} else ""

    outcome = wait_for("the job in other hands, or its end", settled, TWO_MINUTES, portal)
    ticket = wait_for(
        "the end of the ticket",
        lambda: (
            (found := requester.get(f"tickets/{ticket['ref']}"))["state"] in {"ready", "returned"} and found
        ),
        900,
        portal,
    )
    assert ticket["state"] == "ready", (outcome, ticket["story"])
    twice = rows(
        portal,
        "select node_id from provisioning_nodelease where released_at is null group by node_id having count(*) > 1",
    )
    assert twice == []
    overlapping = rows(
        portal,
        "select a.node_id from provisioning_reservation a join provisioning_reservation b "
        "on a.node_id = b.node_id and a.id < b.id and a.period && b.period",
    )
    assert overlapping == []
    assert playbooks_of(portal) == set()
    left = [folder.name for folder in (portal.var_dir / "jobs").glob("j*")]
    assert left == []
