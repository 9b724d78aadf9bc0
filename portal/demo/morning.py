"""What lies on the desk when somebody looks in? A team that is blocked, an offer, a workaround: filed as clients would.

Every call has a key of its own, so that one that is sent again does nothing twice.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from portal.demo.cast import SKU, TEAM, Login
from portal.demo.client import ApiRefusal, Client

Say = Callable[[str], None]


def set_out(base_url: str, logins: dict[str, Login], *, say: Say) -> None:
    """File what a morning brings. What the portal refuses is said and left out: it is decoration."""
    requester = Client(base_url, logins["requester"].token)
    triager = Client(base_url, logins["triager"].token)
    for begin in (_blocked, _worked_around, _offered, _waiting):
        try:
            say(begin(requester, triager))
        except ApiRefusal as refusal:
            say(f"left out of the demonstration: {refusal}")


def _file(client: Client, name: str, offering: str, answers: dict[str, Any], **more: Any) -> dict[str, Any]:
    body = {"offering": offering, "team": TEAM, "answers": answers, **more}
    return client.post("tickets", body, key=f"demonstration-morning-{name}")


def _block(hours: int, people: int, gpus: int, what: str) -> dict[str, Any]:
    # on a whole hour, so that the same request comes with the same words when it is sent again
    since = datetime.now(UTC).replace(minute=0, second=0, microsecond=0) - timedelta(hours=hours)
    return {"since": since.isoformat(), "people": people, "idle_gpus": gpus, "what": what}


def _happened(client: Client, ticket: dict[str, Any], event: str) -> bool:
    """True when the ticket's story has it already."""
    story = client.get(f"tickets/{ticket['ref']}")["timeline"]
    return any(entry["kind"] == event for entry in story)


def _blocked(requester: Client, _triager: Client) -> str:
    answers = {
        "headline": "Jobs hang when they read the shared file system",
        "details": "Since this morning every read of more than a gigabyte waits for ever.",
        "area": "unknown",
    }
    block = _block(3, 4, 32, "No job can read its data.")
    ticket = _file(requester, "blocked", "unblock", answers, blocked=block)
    return f"{ticket['ref']} says that a team is blocked: {ticket['title']}"


def _worked_around(requester: Client, triager: Client) -> str:
    answers = {
        "headline": "The image set is too far from the cluster",
        "details": "A pass over the data takes a day; on local disks it took two hours.",
        "area": "storage",
    }
    ticket = _file(requester, "far", "unblock", answers, blocked=_block(20, 2, 16, "GPUs wait for data."))
    if not _happened(requester, ticket, "workaround.granted"):
        terms = {
            "version": requester.get(f"tickets/{ticket['ref']}")["version"],
            "kind": "manual",
            "params": {"steps": "Copy the newest shards to the local disks; delete the copies afterwards."},
            "summary": "The newest shards on local disks",
            "closure_test": "A read from the share is faster than 5 GB/s",
            "days": 21,
            "interest_hours": "2.5",
            "risk": "medium",
            "risk_words": "A new shard is missing until somebody copies it.",
        }
        triager.post(f"tickets/{ticket['ref']}/workarounds", terms)
    return f"{ticket['ref']} has a workaround, and a project that will replace it"


def _offered(requester: Client, triager: Client) -> str:
    answers = {
        "project": "Segmentation",
        "purpose": "A model that finds edges in satellite images.",
        "cluster_sku": SKU,
        "nodes": 3,
        "cluster_name": "segment",
        "more_quota": True,
        "quota_sku": SKU,
        "gpus": 16,
        "storage": True,
        "size_tb": 20,
        "data": True,
        "dataset": "Satellite images",
        "dashboard": True,
        "headline": "Where is time lost?",
    }
    ticket = _file(requester, "project", "project-start", answers)
    if not _happened(requester, ticket, "offer.proposed"):
        later = (datetime.now(UTC) + timedelta(days=12)).date().isoformat()
        lines = [
            {"position": 1, "kind": "part", "now_qty": 2, "later_qty": 1, "later_on": later},
            *({"position": position, "kind": "now"} for position in (2, 3, 4)),
            {
                "position": 5,
                "kind": "no",
                "reason_code": "focus",
                "reason": "Dashboards are built by the metrics team.",
                "nearest_yes": "A copy of one that another team has, tomorrow.",
            },
        ]
        seen = requester.get(f"tickets/{ticket['ref']}")
        offer = {
            "version": seen["version"],
            "lines": lines,
            "note": "Two nodes now, the third in twelve days.",
        }
        triager.post(f"tickets/{ticket['ref']}/offers", offer, key="demonstration-morning-offer")
    return f"{ticket['ref']} has an offer: two of three nodes now, the third on a day"


def _waiting(requester: Client, _triager: Client) -> str:
    answers = {
        "repository": "https://git.example.org/vision/segment",
        "runners": 4,
        "gpu": False,
        "debug_access": False,
    }
    ticket = _file(requester, "runners", "ci-runner-pool", answers)
    return f"{ticket['ref']} waits on the desk: {ticket['title']}"
