"""What do orders do when something happened? Both look at the rows, not at the event's age, so twice is once."""

from __future__ import annotations

from portal.kernel.refs import parse_ref
from portal.ledger.models import Event
from provisioning.orders.advancing import advance


def start_order(event: Event) -> None:
    """`order.placed`: begin the first step."""
    advance(order_id=parse_ref(event.payload["order"], "O"))


def advance_after_job(event: Event) -> None:
    """`job.finished`: the order that waits for this job goes on; a job without an order concerns nobody here."""
    ref = event.payload.get("order", "")
    if ref:
        advance(order_id=parse_ref(ref, "O"))
