"""How does the ledger read to people, for nodes, clusters and orders? Events in, entries of a timeline out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.urls import reverse

from portal.accounts.models import User
from portal.ledger.models import Event
from portal.ledger.queries import timeline

Payload = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One line of a timeline, as templates/parts/timeline.html takes it."""

    at: datetime
    actor: User | None
    title: str
    tone: str = ""
    body: str = ""
    url: str = ""
    url_title: str = ""


def _now(payload: Payload) -> str:
    return str(payload.get("now", ""))


def _placed(payload: Payload) -> str:
    what = {"build": "A cluster of", "resize": "Resize to", "release": "Release", "recheck": "Recheck"}
    kind = str(payload.get("kind", ""))
    nodes = payload.get("nodes", 0)
    return (
        f"{what.get(kind, kind)} {nodes} nodes of {payload.get('sku', '')}" if nodes else what.get(kind, kind)
    )


def _swapped(payload: Payload) -> str:
    return f"{payload.get('reason', '')}. {payload.get('new', '')} takes its place."


def _reason(payload: Payload) -> str:
    return str(payload.get("reason", ""))


def _reasons(payload: Payload) -> str:
    return "; ".join(str(reason) for reason in payload.get("reasons", []))


def _note(payload: Payload) -> str:
    return str(payload.get("note", ""))


def _quiet(payload: Payload) -> str:
    if payload.get("how") == "declared":
        return f"Declared by hand: {payload.get('reason', '')}"
    ended = payload.get("ended", 0)
    return f"{ended} processes of it were ended." if ended else "Nothing of it ran any more."


_TOLD: dict[str, tuple[Callable[[Payload], str], str, Callable[[Payload], str]]] = {
    "order.placed": (lambda p: "Order placed", "info", _placed),
    "nodes.reserved": (lambda p: "Nodes reserved", "info", _now),
    "order.moved": (lambda p: str(p.get("title") or str(p.get("status", "")).capitalize()), "active", _now),
    "node.swapped": (lambda p: f"{p.get('old')} replaced by {p.get('new')}", "warn", _swapped),
    "node.kept": (lambda p: f"{p.get('node')} stays, though degraded", "warn", _reason),
    "verdict.given": (lambda p: f"Judged {str(p.get('verdict', '')).replace('_', ' ')}", "info", _reasons),
    "order.ready": (lambda p: "Ready", "ok", _now),
    "order.released": (lambda p: "Given back", "quiet", _now),
    "order.failed": (lambda p: "A person has to look", "danger", _reason),
    "order.cancelled": (lambda p: "Cancelled", "quiet", _now),
    "node.quiet": (lambda p: "Quiet after a stopped job", "info", _quiet),
    "node.quarantined": (lambda p: "Taken out of the pool", "danger", _reason),
    "node.changed": (lambda p: f"Now {str(p.get('status', '')).replace('_', ' ')}", "info", _note),
    "cluster.lease_changed": (lambda p: "Lease changed", "info", _now),
    "cluster.lease_ending": (lambda p: "The lease ends", "warn", _now),
}


def entry_of(event: Event) -> Entry:
    """One event in words; one that this house has no words for shows its name."""
    title, tone, body = _TOLD.get(event.name, (lambda p: event.name, "", lambda p: ""))
    job = str(event.payload.get("job", ""))
    return Entry(
        at=event.at,
        actor=event.actor,
        title=title(event.payload),
        tone=tone,
        body=body(event.payload),
        url=reverse("jobs:detail", args=[job]) if job.startswith("J-") else "",
        url_title=job,
    )


def story(subjects: Iterable[str]) -> list[Entry]:
    """The timeline of subjects that the reader may see, oldest first."""
    return [entry_of(event) for event in timeline(subjects)]
