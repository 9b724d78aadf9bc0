"""Who keeps a job's row locked and does nothing with it? A process that was frozen in the middle of a transaction: it is cut off."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import DatabaseError, InterfaceError, OperationalError, connection, transaction

from portal.kernel.errors import NotFound, Refused
from provisioning.jobs.models import Job

logger = logging.getLogger(__name__)

IDLE_SECONDS = 3.0
"""A transaction in the middle of which the database has waited so long for its client is given up: nothing of it is kept."""
LOOK_EVERY = 0.5
LONGEST_WAIT = 15.0
A_LOOK = 1.5
NO_WAIT = 0.001
NOT_AVAILABLE = "55P03"

_FROZEN = """
    WITH RECURSIVE before (pid) AS (
        SELECT unnest(pg_blocking_pids(%s)) UNION SELECT unnest(pg_blocking_pids(pid)) FROM before
    )
    SELECT pid, application_name FROM pg_stat_activity NATURAL JOIN before
    WHERE wait_event = 'ClientRead'
      AND state_change < clock_timestamp() - make_interval(secs => %s)
"""
"""Asked by itself: in a condition beside these, the database would be free to end a process before it looked whose it is."""


def locked_for_sure(job_id: int) -> Job:
    """The job's row, locked, in the caller's transaction, whoever was frozen while he held it.

    Raises NotFound; Refused when somebody works on it for longer than LONGEST_WAIT seconds.
    """
    job = _within(job_id, NO_WAIT)
    if job is None:
        with _cutting_off_who_does_nothing(IDLE_SECONDS):
            job = _within(job_id, LONGEST_WAIT)
    if job is None:
        raise Refused("The job is being written to at this moment. Try again.", code="busy")
    return job


def free(job_id: int, *, idle: float) -> None:
    """Cut off who keeps the job's row and has done nothing for `idle` seconds, if anybody has."""
    with transaction.atomic():
        if _within(job_id, NO_WAIT) is None:
            with _cutting_off_who_does_nothing(idle):
                _within(job_id, A_LOOK)


def _within(job_id: int, seconds: float) -> Job | None:
    """The row, locked; None when others kept it for that long."""
    rows = Job.objects.select_for_update(no_key=True, of=("self",)).select_related("order")
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT set_config('lock_timeout', %s, true)", [f"{seconds}s"])
            job = rows.filter(pk=job_id).first()
            cursor.execute("SELECT set_config('lock_timeout', '0', true)")
    except OperationalError as problem:
        if getattr(problem.__cause__, "sqlstate", "") != NOT_AVAILABLE:
            raise
        return None
    if job is None:
        raise NotFound("There is no such job.")
    return job


@contextmanager
def _cutting_off_who_does_nothing(idle: float) -> Iterator[None]:
    """While we wait for a row: end the transactions before us whose client has said nothing for so long."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        waiter = cursor.fetchone()[0]
    over = threading.Event()
    looker = threading.Thread(target=_look, args=(waiter, idle, over), name="cut-off")
    looker.start()
    try:
        yield
    finally:
        over.set()
        looker.join()


def _look(waiter: int, idle: float, over: threading.Event) -> None:
    try:
        while not over.wait(LOOK_EVERY):
            with connection.cursor() as cursor:
                cursor.execute(_FROZEN, [waiter, idle])
                for pid, name in cursor.fetchall():
                    cursor.execute("SELECT pg_terminate_backend(%s)", [pid])
                    logger.warning(
                        "a frozen transaction was cut off: process %s of the database (%s)", pid, name
                    )
    except (DatabaseError, InterfaceError) as problem:
        logger.warning("nobody can be cut off (%s)", problem)
    finally:
        connection.close()
