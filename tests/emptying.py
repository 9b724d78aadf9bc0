"""How does a test that commits leave nothing behind? Only tables with rows are emptied, and what Django puts there stays.

Django truncates every table and then makes its permissions anew: a second and more for each such test of a house with a
hundred tables.
"""

from __future__ import annotations

from functools import cache

from django.db import connections, transaction
from django.test import TransactionTestCase

DJANGOS_OWN = frozenset({"django_migrations", "django_content_type", "auth_permission"})


@cache
def _asks(alias: str) -> str:
    """One query that names every table with a row."""
    connection = connections[alias]
    names = connection.introspection.django_table_names(only_existing=True, include_views=False)
    quoted = [(name, connection.ops.quote_name(name)) for name in names if name not in DJANGOS_OWN]
    return " UNION ALL ".join(
        f"SELECT '{name}' WHERE EXISTS (SELECT 1 FROM {table})" for name, table in quoted
    )


def empty_tables(alias: str = "default") -> None:
    """Delete every row of the house. Triggers and foreign keys rest meanwhile: all of it goes."""
    connection = connections[alias]
    with transaction.atomic(using=alias), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute(_asks(alias))
        for (name,) in cursor.fetchall():
            cursor.execute(f"DELETE FROM {connection.ops.quote_name(name)}")


def _fixture_teardown(_case: TransactionTestCase) -> None:
    empty_tables()


def install() -> None:
    """Empty tables this way after every test that commits."""
    TransactionTestCase._fixture_teardown = _fixture_teardown  # type: ignore[method-assign]
