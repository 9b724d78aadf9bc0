"""Three clocks, and a hold that stops all of them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from django.conf import LazySettings
from django.db import connection

from portal.accounts.models import Team
from portal.kernel.clock import now
from provisioning.fleet.models import Node
from provisioning.jobs import partitions
from provisioning.jobs.finishing import end_job
from provisioning.jobs.models import HostResult, Job, JobEvent
from provisioning.jobs.overflow import Kept, Overflow, Reader
from provisioning.jobs.states import JobAction, Reason
from provisioning.jobs.storing import EventRow, store_events
from provisioning.orders.models import Order
from provisioning.retention import holding, services
from tests.provisioning.jobs.conftest import make_nodes, queue, sku, tiny

__all__ = ["make_nodes", "queue", "sku", "tiny"]
pytestmark = pytest.mark.django_db

LONG_AGO = datetime(2019, 2, 3, tzinfo=UTC)
MONTH = date(2019, 2, 1)


@pytest.fixture(autouse=True)
def disk(tmp_path: Path, settings: LazySettings) -> Path:
    settings.OVERFLOW_DIR = tmp_path / "overflow"
    return tmp_path / "overflow"


@pytest.fixture
def old(make_nodes: Callable[..., list[Node]], queue: Callable[..., Job]) -> Callable[..., Job]:
    """A job that ended long ago, with a log in the database and on disk."""
    nodes = make_nodes(1)

    def make(**more: object) -> Job:
        job = queue(nodes, **more)
        job = end_job(job, JobAction.CANCEL, reason=Reason.USER, text="")
        Job.objects.filter(pk=job.pk).update(created_at=LONG_AGO, ended_at=LONG_AGO)
        job.refresh_from_db()
        store_events([EventRow(job_id=job.pk, month=MONTH, attempt=1, counter=1, kind="ok", at=LONG_AGO)])
        over = Overflow(job_id=job.pk, attempt=1, month=MONTH)
        over.add(Kept(counter=1, text="whole"))
        over.flush()
        with connection.cursor() as cursor:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")  # as after a commit
        return job

    return make


def an_order(team: Team, status: str, **more: object) -> Order:
    ended = None if status == "building" else LONG_AGO
    return Order.objects.create(status=status, kind="build", team=team, ended_at=ended, **more)


def test_month_that_is_over_goes_whole_with_its_files(old: Callable[..., Job], disk: Path) -> None:
    old()
    assert services.retire_events(older_than=now() - timedelta(days=90)) == (1, 0)
    assert MONTH not in partitions.months()
    assert list(disk.iterdir()) == []
    assert HostResult.objects.count() == 1, "what nodes came to has a clock of its own"


def test_month_that_ended_later_than_the_limit_stays(old: Callable[..., Job]) -> None:
    old()
    assert services.retire_events(older_than=datetime(2019, 2, 20, tzinfo=UTC)) == (0, 0)
    assert JobEvent.objects.count() == 1


@pytest.mark.parametrize("why", ["the order is open", "whoever asked is not done"])
def test_held_job_keeps_its_log_while_its_neighbours_go(
    why: str, old: Callable[..., Job], team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(holding, "_asked", [f"{__name__}.only_seven_is_open"])
    status = "building" if why == "the order is open" else "failed"
    kept = old(order=an_order(team, status, requested_for="T-8" if status == "building" else "T-7"))
    gone = old(order=an_order(team, "failed", requested_for="T-9"))
    assert services.retire_events(older_than=now()) == (0, 1)
    assert list(JobEvent.objects.values_list("job", flat=True)) == [kept.pk]
    assert Reader(kept.pk, 1, MONTH).event(1) is not None
    assert Reader(gone.pk, 1, MONTH).event(1) is None
    assert services.retire_results(older_than=now()) == 1
    assert list(HostResult.objects.values_list("job", flat=True)) == [kept.pk]


def only_seven_is_open(refs: set[str]) -> set[str]:
    return refs & {"T-7"}


def test_jobs_of_no_order_go_when_they_are_told_to_and_others_stay(
    old: Callable[..., Job], team: Team
) -> None:
    alone, ordered = old(), old(order=an_order(team, "failed"))
    assert services.retire_jobs(older_than=LONG_AGO) == 0
    assert services.retire_jobs(older_than=now()) == 1
    assert not Job.objects.filter(pk=alone.pk).exists()
    assert Job.objects.filter(pk=ordered.pk).exists()


def test_all_clocks_run_by_their_settings_and_jobs_stay_for_ever_by_default(old: Callable[..., Job]) -> None:
    job = old()
    retired = services.retire()
    assert (retired.months, retired.results, retired.jobs) == (1, 1, 0)
    assert Job.objects.filter(pk=job.pk).exists()


def test_worker_removes_files_of_months_that_others_dropped(old: Callable[..., Job], disk: Path) -> None:
    old()
    assert services.sweep_overflow() == 0
    partitions.drop(MONTH)
    assert services.sweep_overflow() == 1
    assert list(disk.iterdir()) == []
