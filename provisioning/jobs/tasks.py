"""Celery shells of jobs: a message only says that there is something to claim, and a worker looks round by itself too."""

from __future__ import annotations

import logging
import os
import threading
from typing import Any

from celery import shared_task
from celery.signals import worker_ready, worker_shutdown, worker_shutting_down
from django.db import connection

from portal.kernel.refs import parse_ref
from provisioning.workers.machine import machine_name

logger = logging.getLogger(__name__)

SWEEP_EVERY = 5.0
_gone = threading.Event()


@shared_task(name="jobs.run", bind=True, acks_late=False)
def run(self: Any, ref: str) -> str:
    """Run the next job of the queue that rang, for which this worker stands at the right site.

    A late or doubled message finds nothing to do.
    """
    from provisioning.jobs import supervisor  # noqa: PLC0415 - the supervisor rings this very bell

    heard_in = (self.request.delivery_info or {}).get("routing_key") or ""
    became: str = supervisor.run_next(parse_ref(ref, "J"), queue=heard_in)
    return became


@shared_task(name="jobs.sweep", acks_late=True)
def sweep() -> int:
    """Ring again for what nobody heard, and settle what a lost worker left."""
    from provisioning.jobs import sweeper  # noqa: PLC0415 - as above

    touched: int = sweeper.sweep()
    return touched


@shared_task(name="jobs.prove_quiet", acks_late=False)
def prove_quiet(site: str = "") -> int:
    """Look at the nodes of a site that are draining; whoever is called for nothing finds none."""
    from provisioning.jobs import looking  # noqa: PLC0415 - as above

    looked: int = looking.prove_quiet(site=site)
    return looked


@worker_ready.connect
def look_round(**_: Any) -> None:
    """A worker sweeps when it comes and every few seconds, so that nothing hangs on one beat or one message.

    It does so in a thread of its own: a worker whose broker is away does nothing but wait for it, as long as that takes.
    """
    threading.Thread(target=_look_round, daemon=True, name="sweep").start()


@worker_shutdown.connect
def look_round_no_more(**_: Any) -> None:
    """Its thread must not be in the middle of something when the interpreter is torn down."""
    _gone.set()


def _look_round() -> None:
    while not _gone.is_set():
        _sweep_quietly()
        _gone.wait(SWEEP_EVERY)


def _sweep_quietly() -> None:
    try:
        sweep()
    except Exception as problem:  # noqa: BLE001 - whatever it is, the worker goes on and looks again
        logger.warning("this look round came to nothing (%s); the next one is in %s s", problem, SWEEP_EVERY)
    finally:
        connection.close()  # processes that the worker forks must not share it


@worker_shutting_down.connect
def hand_back(**_: Any) -> None:
    """A worker that is told to go asks its own jobs back: they are queued again at once, not after their lease."""
    from provisioning.jobs import adoption  # noqa: PLC0415 - as above

    try:
        count = adoption.hand_back(machine_name(), os.getpid())
        if count:
            logger.warning("this worker stops; %s of its jobs are stopped and queued again", count)
    except Exception as problem:  # noqa: BLE001 - the worker stops anyway, and leases run out
        logger.warning("the jobs of this worker could not be asked back (%s)", problem)
    finally:
        connection.close()
