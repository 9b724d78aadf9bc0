"""How is an event written? In the caller's transaction, with the deliveries it owes; the bell rings on commit."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from django.db import connection, transaction

from portal.ledger import tasks
from portal.ledger.dispatch import reactions_to
from portal.ledger.models import Delivery, Event

if TYPE_CHECKING:
    from portal.accounts.models import User

logger = logging.getLogger(__name__)


def record(name: str, *, subject: str, payload: Mapping[str, Any] | None = None, by: User | None) -> Event:
    """Write that `name` happened to `subject`; `by` is None when the system did it."""
    event = Event.objects.create(name=name, subject=subject, payload=dict(payload or {}), actor=by)
    owed = [Delivery(event=event, reaction=reaction) for reaction in reactions_to(name)]
    if owed:
        Delivery.objects.bulk_create(owed)
        _ring_at_the_end()
    return event


def _ring_at_the_end() -> None:
    """Once for a transaction, however much it says: what waits to ring is lost only with an undo that takes this event along."""
    if not any(waiting[1] is ring for waiting in connection.run_on_commit):
        transaction.on_commit(ring)


def ring() -> None:
    """Ask a worker to deliver now. Without a broker nothing is lost: the sweep delivers a little later."""
    try:
        tasks.deliver.apply_async(retry=False, ignore_result=True)
    except Exception as problem:  # noqa: BLE001 - a broker may fail in any way; the row is the truth
        logger.warning("the broker can't be reached (%s); the sweep will deliver", problem)
