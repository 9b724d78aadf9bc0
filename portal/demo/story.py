"""The main job as an API client sees it: ask, decide, watch, and read what happened. Everything goes over HTTP."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from portal.demo.cast import SKU, TEAM, Login
from portal.demo.client import Client

NODES = 4
LOOK_EVERY = 1.0
PATIENCE = 1500.0
FINAL = frozenset({"ready", "closed", "declined", "withdrawn", "returned"})

Say = Callable[[str], None]


class NotDelivered(Exception):
    """The cluster did not come; the message says where it ended and why."""


@dataclass(frozen=True)
class Outcome:
    """What the client has at the end: JSON as the API gave it, and seconds from filing to ready."""

    ticket: dict[str, Any]
    order: dict[str, Any]
    cluster: dict[str, Any]
    seconds: float


def run(base_url: str, logins: dict[str, Login], *, name: str, say: Say) -> Outcome:
    """File a request for a cluster called `name`, approve it, and watch until it is ready or has failed."""
    requester = Client(base_url, logins["requester"].token)
    triager = Client(base_url, logins["triager"].token)
    began = time.monotonic()
    ticket = requester.post("tickets", _ask(name), key=f"demonstration-{name}")
    say(f"{ticket['ref']} filed: {ticket['title']}")
    ticket = _decided(triager, ticket["ref"], say)
    if ticket["state"] == "submitted":
        triager.post(
            f"tickets/{ticket['ref']}/approve", {"version": ticket["version"], "note": "All of it, now."}
        )
        say(f"{ticket['ref']} approved by the triager")
    ticket = _watch(requester, ticket["ref"], say)
    if ticket["state"] != "ready":
        raise NotDelivered(f"{ticket['ref']} ended as {ticket['state']}: {ticket['story']['detail']}")
    order = requester.get(f"orders/{ticket['lines'][0]['order']}")
    cluster = requester.get(f"clusters/{order['cluster']}")
    return Outcome(ticket=ticket, order=order, cluster=cluster, seconds=time.monotonic() - began)


def _ask(name: str) -> dict[str, Any]:
    return {
        "offering": "gpu-cluster",
        "team": TEAM,
        "answers": {
            "purpose": "Train the next vision model.",
            "sku": SKU,
            "nodes": NODES,
            "cluster_name": name,
            "lease": "fixed",
            "lease_days": 14,
            "driver": "standard",
            "storage": True,
            "storage_mounts": [{"source": "nas-1:/exports/vision", "path": "/data/vision", "fstype": "nfs4"}],
        },
    }


def _decided(client: Client, ref: str, say: Say) -> dict[str, Any]:
    """Wait until the policy has looked at the ticket; it may approve or leave it to a person."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        ticket = client.get(f"tickets/{ref}")
        said = [entry["title"] for entry in ticket["timeline"] if entry["kind"] == "policy.decided"]
        if said or ticket["state"] != "submitted":
            for sentence in said:
                say(f"{ref} {sentence}")
            return ticket
        time.sleep(LOOK_EVERY / 4)
    raise NotDelivered(f"No worker has looked at {ref} for a minute; is one running?")


def _watch(client: Client, ref: str, say: Say) -> dict[str, Any]:
    """Say every new sentence of the order until the ticket is final."""
    deadline, last = time.monotonic() + PATIENCE, ""
    while time.monotonic() < deadline:
        ticket = client.get(f"tickets/{ref}")
        line = ticket["lines"][0]["order"]
        order = client.get(f"orders/{line}") if line else {"progress": 0.0, "now": ticket["state"]}
        told = f"{order['progress']:4.0%}  {order['now']}"
        if told != last:
            say(told)
            last = told
        if ticket["state"] in FINAL:
            return ticket
        time.sleep(LOOK_EVERY)
    raise NotDelivered(f"{ref} was not ready after {PATIENCE:.0f} s; the last word was: {last}")
