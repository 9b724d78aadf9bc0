"""What a lost worker had not stored is in the spool it left, and comes from there."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import OperationalError
from django.db.models.functions import Now

from provisioning.fleet.models import Node
from provisioning.jobs import adoption, claims, salvage, workspace
from provisioning.jobs.models import HostResult, Job, JobEvent
from provisioning.jobs.states import JobState
from provisioning.jobs.workspace import Workspace
from tests.provisioning.jobs.conftest import Tiny
from tests.provisioning.jobs.test_views import result, task

pytestmark = pytest.mark.django_db

SAID = [task("One"), result("gpu-001", "first"), task("Two"), result("gpu-001", "second")]


@pytest.fixture
def lost(
    tiny: Tiny, make_nodes: Callable[..., list[Node]], queue: Callable[..., Job]
) -> tuple[Job, Workspace]:
    """A job whose worker died after it stored one of four events."""
    job = queue(make_nodes(2))
    held = claims.claim(job.pk, worker="gone:1/2")
    assert held is not None
    space = workspace.create(Path(settings.JOBS_DIR), held.mark, owner="test")
    space.spool.write_text("".join(f"{json.dumps(each)}\n" for each in SAID) + '{"event": "torn')
    Job.objects.filter(pk=job.pk).update(status=JobState.RUNNING, lease_until=Now() - timedelta(hours=1))
    job.refresh_from_db()
    return job, space


def texts(job: Job) -> list[str]:
    rows = JobEvent.objects.filter(job=job, attempt=1).order_by("counter")
    return [text.strip() for text in rows.values_list("text", flat=True)]


def test_lines_of_a_lost_worker_are_stored_before_its_job_goes_on(lost: tuple[Job, Workspace]) -> None:
    job, _ = lost
    assert adoption.settle_lost() == 1
    assert texts(job) == ["TASK [One]", "first", "TASK [Two]", "second"]
    endings = HostResult.objects.filter(job=job, attempt=1).order_by("node__name")
    assert [(row.ending, row.tasks_done) for row in endings] == [("interrupted", 2), ("interrupted", 0)]


def test_lines_come_late_from_a_folder_that_a_sweep_tidies_up(lost: tuple[Job, Workspace]) -> None:
    job, space = lost
    Job.objects.filter(pk=job.pk).update(attempt=2, bytes_kept=7)
    salvage.and_remove(space)
    assert texts(job) == ["TASK [One]", "first", "TASK [Two]", "second"]
    assert not space.folder.exists()
    job.refresh_from_db()
    assert job.bytes_kept == 7, "the attempt that runs now counts its own"


def test_folder_stays_while_the_database_is_away(
    lost: tuple[Job, Workspace], monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: Any, **__: Any) -> None:
        raise OperationalError("the server closed the connection")

    monkeypatch.setattr(salvage, "_write", away)
    monkeypatch.setattr(salvage.connection, "close", lambda: None)
    salvage.and_remove(lost[1])
    assert lost[1].spool.is_file()


def test_folder_of_a_job_that_is_gone_is_removed(lost: tuple[Job, Workspace], tmp_path: Path) -> None:
    space = workspace.create(tmp_path, "j999999-1-0123abcd", owner="test")
    space.spool.write_text("{}\n")
    salvage.and_remove(space)
    assert not space.folder.exists()


def test_spool_that_can_not_be_stored_does_not_keep_a_job_from_its_end(
    lost: tuple[Job, Workspace], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any, **__: Any) -> None:
        raise ValueError("odd")

    monkeypatch.setattr(salvage, "store", fails)
    assert adoption.settle_lost() == 1
    lost[0].refresh_from_db()
    assert lost[0].status == "queued"
