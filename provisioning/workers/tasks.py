"""Celery shell of workers: each writes its row when it comes, every few seconds, and when it goes."""

from __future__ import annotations

import logging
import os
import threading
from typing import Any

from celery.signals import celeryd_after_setup, worker_ready, worker_shutting_down
from django.db import connection

from provisioning.workers.machine import machine_name, this_machine
from provisioning.workers.routing import Work, queue_of

logger = logging.getLogger(__name__)

BEAT_EVERY = 5.0
_going = threading.Event()


def own_name() -> str:
    """`machine:pid`: the part of a lease's owner before the slash."""
    return f"{machine_name()}:{os.getpid()}"


@celeryd_after_setup.connect
def look_too(instance: Any, **_: Any) -> None:
    """Whoever does the portal's short work looks at the draining nodes of the site without a name as well."""
    served = instance.app.amqp.queues
    if Work.DOORBELL.value in served.consume_from:
        name = queue_of(Work.LOOKS)
        served.select_add(name, exchange=name, routing_key=name)


@worker_ready.connect
def come(sender: Any, **_: Any) -> None:
    """Begin to beat."""
    queues = [queue.name for queue in sender.task_consumer.queues]
    slots = int(sender.pool.num_processes)

    def beat() -> None:
        from provisioning.jobs.containment import describe  # noqa: PLC0415 - as below
        from provisioning.jobs.preparation import versions  # noqa: PLC0415 - models are not ready when Celery looks for tasks
        from provisioning.workers import services  # noqa: PLC0415 - as above

        if _going.is_set():
            return  # the timer goes on for a while after the goodbye
        try:
            services.beat(
                name=own_name(),
                queues=queues,
                slots=slots,
                versions={**dict(versions()), "containment": describe()},
                machine=this_machine(),
            )
        except Exception as problem:  # noqa: BLE001 - whatever it is, the next beat comes
            logger.warning("this worker could not say that it is there (%s)", problem)
        finally:
            connection.close()

    sender.timer.call_repeatedly(BEAT_EVERY, beat)
    beat()


@worker_shutting_down.connect
def go(**_: Any) -> None:
    """Say goodbye, so that nobody counts on it."""
    from provisioning.workers import services  # noqa: PLC0415 - as above

    _going.set()
    try:
        services.leave(own_name())
    except Exception as problem:  # noqa: BLE001 - it goes anyway, and silence says the same
        logger.warning("this worker could not say that it goes (%s)", problem)
    finally:
        connection.close()
