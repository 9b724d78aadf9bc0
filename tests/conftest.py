"""What every test may ask for."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from django.apps import apps
from django.conf import settings
from django.db import connections
from django.db.models.signals import post_migrate, pre_migrate

from portal.ledger.dispatch import install
from portal.wiring import REACTIONS
from tests import emptying
from tests.personas import admin_user, lead, member, operator, other_team, stranger, team, triager

__all__ = [
    "admin_user",
    "captures",
    "lead",
    "member",
    "operator",
    "other_team",
    "stranger",
    "team",
    "triager",
]

# How long an example takes says how busy the machine is, and nothing about a rule.
hypothesis.settings.register_profile(
    "house", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("house")

# A thousand sign-ins a run need no slow hash; that sign-in uses the strong one is settings' matter.
settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

emptying.install()

CAPTURES = Path(__file__).resolve().parents[2] / "shared" / "captures"


def _create_extensions(using: str = "default", **_: Any) -> None:
    """Tables made straight from the models (--no-migrations) need the extensions too."""
    with connections[using].cursor() as cursor:
        for extension in ("btree_gist", "pg_trgm", "unaccent"):
            cursor.execute(f"CREATE EXTENSION IF NOT EXISTS {extension}")


pre_migrate.connect(_create_extensions, dispatch_uid="tests.extensions")


def _cut_events_into_months(using: str = "default", **_: Any) -> None:
    """Tables made straight from the models are whole; the one of job events is cut as its migration does it."""
    with connections[using].cursor() as cursor:
        cursor.execute("SELECT relkind FROM pg_class WHERE oid = to_regclass('provisioning_jobevent')")
        if (found := cursor.fetchone()) == ("r",):
            migration = import_module("provisioning.migrations.0002_jobs_events_by_month")
            cursor.execute(
                f"DROP TABLE provisioning_jobevent; {migration.FROM_NOTHING}; DROP INDEX job_event_task"
            )
            events = apps.get_model("provisioning", "JobEvent")
            heads = next(index for index in events._meta.indexes if index.name == "job_event_head")
            cursor.execute(str(heads.create_sql(events, connections[using].schema_editor())))
        assert found is not None


post_migrate.connect(
    _cut_events_into_months, sender=apps.get_app_config("provisioning"), dispatch_uid="tests.months"
)


@pytest.fixture(autouse=True)
def wiring_as_it_is() -> Iterator[None]:
    """A test may wire events its own way; the next one finds the table of the house."""
    yield
    install(REACTIONS)


@pytest.fixture(scope="session")
def captures() -> Path:
    """Real output of real tools, kept outside the repository; a test that needs it says so when it is absent."""
    if not CAPTURES.is_dir():
        pytest.skip(f"no captures of real tools at {CAPTURES}")
    return CAPTURES
