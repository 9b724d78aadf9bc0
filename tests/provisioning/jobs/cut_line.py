"""A line to PostgreSQL that can be cut, for one thread of a test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

from django.db import connection

from tests.relay import Address, Relay


@contextmanager
def line() -> Iterator[Relay]:
    """A line to where Django's database is, up."""
    told = connection.settings_dict
    host, port = str(told["HOST"] or "/var/run/postgresql"), int(told["PORT"] or 5432)
    behind: Address = f"{host}/.s.PGSQL.{port}" if host.startswith("/") else (host, port)
    with closing(Relay(behind)) as made:
        yield made


def use(made: Relay) -> None:
    """This thread's connection goes over the line from now on."""
    connection.close()
    connection.settings_dict = {**connection.settings_dict, "HOST": "127.0.0.1", "PORT": made.port}
