"""Are the database and the broker there, of the right kind, and up to date?"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime

import kombu
import psycopg
from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from kombu.exceptions import OperationalError

from portal.doctor.checks import Answer, Context, NotCheckedError, check, ok, warn, wrong
from portal.embedded import locations
from portal.kernel.clock import now

OLDEST_POSTGRES = 15
EXTENSIONS = ("btree_gist", "pg_trgm", "unaccent")
CONNECT_SECONDS = 3
SOME_SECONDS, MANY_SECONDS = 2.0, 30.0
UP = "Start it with `manage.py up`."


@contextmanager
def database(context: Context) -> Iterator[psycopg.Connection]:
    """A connection with a short patience, which Django's own has not."""
    parameters = {**connection.get_connection_params(), "connect_timeout": CONNECT_SECONDS}
    try:
        found = connection.get_new_connection(parameters)
    except (DatabaseError, psycopg.Error) as problem:
        raise NotCheckedError("the database is not reached") from problem
    try:
        yield found
    finally:
        found.close()


def one(found: psycopg.Connection, question: str) -> tuple[object, ...]:
    row = found.execute(question.encode()).fetchone()
    assert row is not None
    return row


@check("database")
def database_server(context: Context) -> Answer:
    try:
        with database(context) as found:
            version, encoding = one(
                found, "SELECT current_setting('server_version_num')::int, current_setting('server_encoding')"
            )
    except NotCheckedError as unreached:
        return _unreached(context, unreached)
    major = int(str(version)) // 10_000
    if major < OLDEST_POSTGRES:
        return wrong(f"PostgreSQL {major} is too old", f"Use PostgreSQL {OLDEST_POSTGRES} or newer.")
    if encoding != "UTF8":
        return wrong(f"the database's encoding is {encoding}", "Make a database with the encoding UTF8.")
    return ok(f"PostgreSQL {major} answers")


def _unreached(context: Context, unreached: NotCheckedError) -> Answer:
    if context.config.database_url is not None:
        return wrong(
            f"the database of PORTAL_DATABASE_URL is not reached: {str(unreached.__cause__).strip()}",
            "Check the address, the name and password, and that the server runs.",
        )
    if context.is_up:
        return wrong(
            "the embedded PostgreSQL does not answer although the portal runs",
            f"Look into {locations.log_dir(context.config.var_dir) / 'postgres.log'}.",
        )
    raise NotCheckedError("the embedded PostgreSQL is not running; `manage.py up` starts it")


@check("extensions")
def extensions(context: Context) -> Answer:
    with database(context) as found:
        installed = {name for (name,) in found.execute("SELECT extname FROM pg_extension").fetchall()}
        offered = {name for (name,) in found.execute("SELECT name FROM pg_available_extensions").fetchall()}
        (may_create,) = one(found, "SELECT has_database_privilege(current_database(), 'CREATE')")
    missing = [name for name in EXTENSIONS if name not in installed]
    absent = [name for name in missing if name not in offered]
    if absent:
        return wrong(
            f"the server does not have {', '.join(absent)}",
            "Install PostgreSQL's contrib package on the server.",
        )
    if missing and not may_create:
        names = "; ".join(f"CREATE EXTENSION {name}" for name in missing)
        return wrong(
            f"{', '.join(missing)} can't be created by the portal's role",
            f"As an administrator run: {names}.",
        )
    return ok("can be created by the first migration" if missing else ", ".join(EXTENSIONS))


@check("migrations")
def migrations(context: Context) -> Answer:
    with database(context):
        pass  # Django's own connection, used below, would wait long for a server that is away
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if plan:
        first = f"{plan[0][0].app_label}.{plan[0][0].name}"
        return wrong(
            f"{len(plan)} migrations are not applied, the first is {first}", "Run `manage.py migrate`."
        )
    return ok("all applied")


@check("clock")
def clock(context: Context) -> Answer:
    """Leases and promises compare times of both clocks."""
    with database(context) as found:
        before = now()
        (theirs,) = one(found, "SELECT clock_timestamp()")
        after = now()
    assert isinstance(theirs, datetime)
    middle = before + (after - before) / 2
    apart = abs((theirs - middle).total_seconds())
    says = f"the database's clock and this one are {apart:.1f} s apart"
    mend = "Synchronise both machines with NTP (chrony, systemd-timesyncd)."
    if apart > MANY_SECONDS:
        return wrong(says, mend)
    return warn(says, mend) if apart > SOME_SECONDS else ok(says)


@check("broker")
def broker(context: Context) -> Answer:
    given = context.config.broker_url
    if given is None and not context.is_up:
        raise NotCheckedError("the embedded broker is not running; `manage.py up` starts it")
    line = kombu.Connection(
        settings.CELERY_BROKER_URL,
        connect_timeout=CONNECT_SECONDS,
        transport_options=settings.CELERY_BROKER_TRANSPORT_OPTIONS,
    )
    try:
        line.ensure_connection(max_retries=1, timeout=CONNECT_SECONDS)
    except (OSError, OperationalError) as problem:
        return wrong(f"the broker is not reached: {problem}", _broker_mend(context))
    finally:
        with suppress(OSError):
            line.release()
    return ok(f"{line.transport.driver_name} answers")


def _broker_mend(context: Context) -> str:
    if context.config.broker_url is None:
        return f"Look into {locations.log_dir(context.config.var_dir) / 'broker.log'}."
    return (
        "Check PORTAL_BROKER_URL, the name and password, and that the server runs. No work is lost meanwhile."
    )
