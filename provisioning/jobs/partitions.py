"""Which months of job events are there? Parts are made ahead, or when the first event of a month comes, and dropped whole."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date

from django.db import IntegrityError, connection, transaction

from provisioning.jobs.models import JobEvent
from provisioning.jobs.months import after, this_month

TABLE = JobEvent._meta.db_table
AHEAD = 2
"""Months after this one whose part is made ahead."""
_PART = re.compile(rf"{TABLE}_([0-9]{{4}})_([0-9]{{2}})")
_LOCK = "SELECT pg_advisory_xact_lock(hashtext('job events: parts'))"
_PARTS = """
    SELECT child.relname FROM pg_inherits
    JOIN pg_class AS child ON child.oid = inhrelid
    WHERE inhparent = to_regclass(%s) ORDER BY child.relname
"""


def months() -> list[date]:
    """The months that have a part, oldest first."""
    with connection.cursor() as cursor:
        cursor.execute(_PARTS, [TABLE])
        found = [_PART.fullmatch(name) for (name,) in cursor.fetchall()]
    return [date(int(each[1]), int(each[2]), 1) for each in found if each is not None]


def make_ahead() -> list[date]:
    """Make the parts of this month and the next ones; the months that had none."""
    return make(after(this_month(), count) for count in range(AHEAD + 1))


def make(wanted: Iterable[date]) -> list[date]:
    """Make the parts that are missing, under a lock so that two who need one make one; the months that had none."""
    wanted = sorted(set(wanted))
    if set(wanted) <= set(months()):
        return []
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_LOCK)
        missing = sorted(set(wanted) - set(months()))
        for month in missing:
            cursor.execute(
                f"CREATE TABLE {part_of(month)} PARTITION OF {TABLE} "
                f"FOR VALUES FROM ('{month}') TO ('{after(month)}')"
            )
    return missing


def drop(month: date) -> None:
    """Drop a month with all its events: one statement, whatever it holds."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_LOCK)
        cursor.execute(f"DROP TABLE IF EXISTS {part_of(month)}")


def part_of(month: date) -> str:
    """The name of a month's part."""
    return f"{TABLE}_{month:%Y_%m}"


def is_missing(problem: IntegrityError) -> bool:
    """True when a row was refused because its month has no part yet."""
    return "no partition of relation" in str(problem)
