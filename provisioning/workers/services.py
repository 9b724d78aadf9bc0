"""How does a worker say that it is there, and how many jobs can run at once?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.db.models.functions import Now

from provisioning.workers.models import FORGOTTEN_AFTER, Worker
from provisioning.workers.sizing import Machine


def beat(
    *,
    name: str,
    queues: Sequence[str],
    slots: int,
    versions: Mapping[str, str],
    machine: Machine | None = None,
) -> None:
    """A worker is there; said every few seconds."""
    told: dict[str, object] = {"queues": sorted(queues), "slots": slots, "versions": dict(versions)}
    if machine is not None:
        told |= {"cores": machine.cores, "memory_mib": machine.memory_mib, "free_mib": machine.free_mib}
    seen = Worker.objects.filter(name=name, stopped_at=None).update(seen_at=Now(), **told)
    if not seen:
        again = {**told, "started_at": Now(), "seen_at": Now(), "stopped_at": None}
        Worker.objects.update_or_create(name=name, defaults=again)
        Worker.objects.filter(seen_at__lt=Now() - FORGOTTEN_AFTER).delete()


def leave(name: str) -> None:
    """A worker goes."""
    Worker.objects.filter(name=name).update(stopped_at=Now())


def serving_at(queue: str) -> set[str]:
    """Names of living workers that take from a queue; one may take from several."""
    return {worker.name for worker in Worker.objects.all().alive() if queue in worker.queues}


def slots_of(queue: str) -> int | None:
    """How many jobs of a queue can run at once; None when no worker was ever heard of, so nobody knows."""
    if not Worker.objects.exists():
        return None
    alive = Worker.objects.all().alive()
    return sum(worker.slots for worker in alive if queue in worker.queues)
