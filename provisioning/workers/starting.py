"""How is a worker started? The words for Celery, from kinds of work, sites and slots; pure."""

from __future__ import annotations

from collections.abc import Collection

from provisioning.workers.routing import Work, queues_of
from provisioning.workers.sizing import Machine, slots_for

SHORT_SLOTS = 2
"""Short tasks that one worker does at once."""


def celery_words(
    works: Collection[Work], *, sites: Collection[str], slots: int | None, machine: Machine
) -> tuple[str, ...]:
    """Words behind `celery -A portal`. ValueError for kinds of work that one worker can't do together."""
    queues = queues_of(works, sites)
    if slots is None:
        slots = slots_for(machine) if Work.JOBS in works else SHORT_SLOTS
    name = "-".join(sorted(work.value for work in works))
    return (
        *("worker", "-n", f"{name}@%h", "-Q", ",".join(queues), "-c", str(slots)),
        *("--without-gossip", "--without-mingle"),
    )
