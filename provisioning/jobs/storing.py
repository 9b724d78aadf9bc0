"""How does what a playbook said reach its tables? Events by COPY, the fastest way in, nodes by one UPDATE; a batch that comes twice is there once."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date, datetime
from typing import NamedTuple

from django.db import IntegrityError, connection, transaction

from provisioning.jobs import partitions
from provisioning.jobs.models import HostResult, JobEvent


class EventRow(NamedTuple):
    """A row of JobEvent as the database takes it; `data` is JSON already, so that nobody writes it out twice.

    An instance of the model costs ten times as much to make, and a long job has hundreds of thousands.
    """

    job_id: int
    month: date
    attempt: int
    counter: int
    kind: str
    at: datetime
    host: str = ""
    play: str = ""
    task: str = ""
    changed: bool = False
    failed: bool = False
    text: str = ""
    data: str = "{}"
    truncated: bool = False
    on_disk: bool = False

    def as_model(self) -> JobEvent:
        """The same as an instance, not saved."""
        return JobEvent(**{**self._asdict(), "data": json.loads(self.data)})


class HostRow(NamedTuple):
    """How far one node has come, by the names of HostResult."""

    node_id: int
    ending: str
    tasks_done: int
    changed: int
    last_task: str
    last_event_at: datetime | None
    first_failure: str
    first_failure_counter: int | None


_HOST_TYPES = ("bigint", "text", "int", "int", "text", "timestamptz", "text", "int")
_HOSTS = """
    UPDATE {table} AS kept SET {changes} FROM unnest({arrays}) AS told ({names})
    WHERE kept.job_id = %s AND kept.attempt = %s AND kept.node_id = told.node_id
"""


def store_events(rows: Sequence[EventRow]) -> None:
    """Store events in the caller's transaction.

    A commit whose answer was lost with the connection may have happened: then the same rows come again, COPY refuses
    them, and those that are there already are left as they are. The first events of a month make its part.
    """
    if not rows:
        return
    try:
        _copy(rows)
    except IntegrityError as problem:
        if partitions.is_missing(problem):
            partitions.make({row.month for row in rows})
            store_events(rows)
        else:
            made = [row.as_model() for row in rows]
            JobEvent.objects.bulk_create(made, ignore_conflicts=True, batch_size=500)


@transaction.atomic
def _copy(rows: Sequence[EventRow]) -> None:
    quote = connection.ops.quote_name
    columns = ", ".join(map(quote, EventRow._fields))
    statement = f"COPY {quote(JobEvent._meta.db_table)} ({columns}) FROM STDIN"
    with connection.cursor() as cursor, connection.wrap_database_errors, cursor.copy(statement) as copy:
        for row in rows:
            copy.write_row(row)


def store_hosts(job_id: int, attempt: int, rows: Sequence[HostRow]) -> None:
    """Write how far these nodes of an attempt have come, in the caller's transaction; one statement for a thousand."""
    if not rows:
        return
    statement = _HOSTS.format(
        table=connection.ops.quote_name(HostResult._meta.db_table),
        changes=", ".join(f"{name} = told.{name}" for name in HostRow._fields[1:]),
        arrays=", ".join(f"%s::{kind}[]" for kind in _HOST_TYPES),
        names=", ".join(HostRow._fields),
    )
    with connection.cursor() as cursor:
        cursor.execute(statement, [*map(list, zip(*rows, strict=True)), job_id, attempt])
