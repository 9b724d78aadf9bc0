"""Who reacts to what, and has it been done? At least once, each in its own transaction, with backoff."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from datetime import timedelta

from django.db import transaction
from django.utils.module_loading import import_string

from portal.kernel.clock import now
from portal.ledger.models import Delivery, DeliveryStatus, Event

logger = logging.getLogger(__name__)

MAX_ATTEMPTS = 12
LONGEST_WAIT = timedelta(minutes=30)

_table: dict[str, tuple[str, ...]] = {}


def install(table: Mapping[str, Sequence[str]]) -> None:
    """Take the wiring: event name -> dotted names of `reaction(event) -> None`."""
    _table.clear()
    _table.update({name: tuple(reactions) for name, reactions in table.items()})


def reactions_to(name: str) -> tuple[str, ...]:
    """Dotted names of what follows an event called `name`."""
    return _table.get(name, ())


def deliver_pending(limit: int = 200) -> int:
    """Deliver what is due, oldest first; returns how many deliveries were tried."""
    tried = 0
    while tried < limit and _deliver_one():
        tried += 1
    return tried


def deliver_all() -> int:
    """Deliver until nothing is due, reactions of reactions included."""
    total = 0
    while tried := deliver_pending():
        total += tried
    return total


def _deliver_one() -> bool:
    with transaction.atomic():
        delivery = (
            Delivery.objects.select_for_update(skip_locked=True, of=("self",))
            .select_related("event")
            .filter(state=DeliveryStatus.PENDING, due_at__lte=now())
            .order_by("due_at", "id")
            .first()
        )
        if delivery is None:
            return False
        delivery.attempts += 1
        try:
            with transaction.atomic():
                react(delivery.reaction, delivery.event)
        except Exception as problem:  # noqa: BLE001 - a reaction of any room may fail in any way; none may stop the rest
            _put_off(delivery, problem)
        else:
            delivery.state = DeliveryStatus.DONE
            delivery.last_error = ""
        delivery.save(update_fields=["state", "attempts", "due_at", "last_error"])
    return True


def react(reaction: str, event: Event) -> None:
    """Run one reaction by its dotted name."""
    import_string(reaction)(event)


def _put_off(delivery: Delivery, problem: Exception) -> None:
    logger.error("reaction %s to event %s failed", delivery.reaction, delivery.event_id, exc_info=problem)
    delivery.last_error = f"{type(problem).__name__}: {problem}"[:2000]
    if delivery.attempts >= MAX_ATTEMPTS:
        delivery.state = DeliveryStatus.DEAD
        return
    delivery.due_at = now() + min(timedelta(seconds=2**delivery.attempts), LONGEST_WAIT)
