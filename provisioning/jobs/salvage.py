"""What did an attempt say that nobody stored? Read from the spool it left, so that a lost worker or a fence costs no line.

Events are numbered by their order in the spool and each attempt has its own, so storing them late, or twice, changes
nothing that anybody else has written.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType

from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection, transaction

from portal.kernel.clock import now
from provisioning.jobs import workspace
from provisioning.jobs.claims import Adopted
from provisioning.jobs.models import HostResult, Job
from provisioning.jobs.preparation import secrets_to_hide
from provisioning.jobs.recorder import Recorder
from provisioning.jobs.redaction import Redactor
from provisioning.jobs.spool import SpoolReader
from provisioning.jobs.workspace import Workspace

logger = logging.getLogger(__name__)

ROWS_AT_ONCE = 2000
Leaving = Callable[[type[BaseException] | None, BaseException | None, TracebackType | None], None]


def leaving(space: Workspace) -> Leaving:
    """For an ExitStack: an attempt that ended well removes its folder, any other stores first what its spool holds.

    The folder of one that goes on in other hands is left alone.
    """

    def leave(
        kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            space.remove()
        elif not issubclass(kind, Adopted):
            and_remove(space)

    return leave


def and_remove(space: Workspace) -> None:
    """Store what the spool holds and remove the folder; it stays for a later sweep while the database is away."""
    try:
        store(space)
    except (DatabaseError, InterfaceError) as problem:
        logger.warning("what %s said waits in its folder: %s", space.folder.name, problem)
        connection.close()
        return
    space.remove()


def before_end(job: Job) -> None:
    """A job that lost its worker, locked: store what its last attempt said, and how far it came on each node."""
    space = workspace.at(Path(settings.JOBS_DIR) / job.mark)
    if not space.spool.is_file():
        return  # another machine's; that one stores it when it tidies up
    rows = HostResult.objects.filter(job=job, attempt=job.attempt).select_related("node")
    try:
        with transaction.atomic():
            store(space, nodes={row.node.name: row.node_id for row in rows})
    except Exception:  # a job has to end, whatever is in its folder
        logger.exception("what %s said could not be stored before its end", job.ref)


def store(space: Workspace, *, nodes: Mapping[str, int] | None = None) -> None:
    """Store every event in the spool that is not stored; with `nodes`, what they came to as well."""
    named = workspace.attempt_of(space.folder.name)
    job = None if named is None else Job.objects.filter(pk=named[0]).first()
    if named is None or job is None or not space.spool.is_file():
        return
    recorder = Recorder(
        job_id=job.pk,
        attempt=named[1],
        nodes=nodes or {},
        redactor=Redactor(secrets_to_hide()),
        month=job.month,
    )
    spool, at = SpoolReader(space.spool), now()
    try:
        spool.moved = True
        while spool.moved:
            for raw in spool.new_events():
                recorder.take(raw, at=at)
                if recorder.waiting >= ROWS_AT_ONCE:
                    _write(recorder)
        _write(recorder)
    finally:
        spool.close()


def _write(recorder: Recorder) -> None:
    with transaction.atomic():
        recorder.flush()
    recorder.flushed()
