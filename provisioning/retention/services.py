"""What is old enough to go? Three clocks: what playbooks said, what nodes came to and measured, and the jobs themselves."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Collection
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path

from django.conf import settings
from django.db import connection
from django.db.models import Max, Model, QuerySet

from portal.config import config
from portal.kernel.clock import now
from provisioning.jobs import overflow, partitions
from provisioning.jobs.models import HostResult, Job
from provisioning.jobs.months import after, this_month
from provisioning.jobs.states import ENDED
from provisioning.retention.holding import held
from provisioning.validation.models import ClusterReport, Report

logger = logging.getLogger(__name__)

AT_ONCE = 5000


@dataclass(frozen=True, kw_only=True)
class Retired:
    """What went: whole months of events, single events, results and reports, jobs."""

    months: int = 0
    events: int = 0
    results: int = 0
    jobs: int = 0


def retire() -> Retired:
    """Let go what each clock says; a job that is held keeps everything."""
    partitions.make_ahead()
    months, events = retire_events(older_than=_before(config().keep_events_days))
    results = retire_results(older_than=_before(config().keep_results_days))
    jobs = retire_jobs(older_than=_before(config().keep_jobs_days)) if config().keep_jobs_days else 0
    sweep_overflow()
    return Retired(months=months, events=events, results=results, jobs=jobs)


def _before(days: int) -> datetime:
    return now() - timedelta(days=days)


def retire_events(*, older_than: datetime) -> tuple[int, int]:
    """Drop the months that are over since before `older_than`; of one with held jobs only the others' events go."""
    months = events = 0
    for month in partitions.months():
        if after(month) > older_than.date() or month >= this_month():
            continue
        kept = _held_in(month)
        if kept:
            events += _delete_events(month, kept)
            logger.info("events of %s: %s jobs are held, the others' events went", month, len(kept))
        else:
            partitions.drop(month)
            shutil.rmtree(overflow.folder_of(month), ignore_errors=True)
            months += 1
    return months, events


def _held_in(month: date) -> set[int]:
    return held(Job.objects.filter(created_at__date__gte=month, created_at__date__lt=after(month)))


def _delete_events(month: date, kept: Collection[int]) -> int:
    """Events of a month's jobs but those in `kept`, some thousands at a time."""
    part, deleted = partitions.part_of(month), 0
    these = f"FROM {part} WHERE job_id <> ALL(%s)"
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT DISTINCT job_id {these}", [list(kept)])
        for (job_id,) in cursor.fetchall():
            overflow.remove(job_id, month)
        some = f"DELETE FROM {part} WHERE ctid = ANY(ARRAY(SELECT ctid {these} LIMIT {AT_ONCE}))"  # noqa: S608 - names of ours
        while True:
            cursor.execute(some, [list(kept)])
            count: int = cursor.rowcount
            deleted += count
            if count < AT_ONCE:
                return deleted


def retire_results(*, older_than: datetime) -> int:
    """Delete what old jobs' nodes came to and measured; the newest report of each node and cluster stays."""
    newest = Report.objects.order_by().values("node").annotate(last=Max("pk")).values("last")
    newest_of_clusters = (
        ClusterReport.objects.order_by().values("cluster").annotate(last=Max("pk")).values("last")
    )
    return sum(
        _delete(rows, older_than)
        for rows in (
            Report.objects.exclude(pk__in=newest),
            ClusterReport.objects.exclude(pk__in=newest_of_clusters),
            HostResult.objects.filter(job__reports=None, job__cluster_report=None),
        )
    )


def _delete(rows: QuerySet[Model], older_than: datetime) -> int:
    deleted = 0
    while True:
        old = rows.filter(job__status__in=ENDED, job__ended_at__lt=older_than).order_by("pk")
        kept = held(Job.objects.filter(pk__in=old.values("job")))
        found = list(old.exclude(job__in=kept).values_list("pk", flat=True)[:AT_ONCE])
        if not found:
            return deleted
        rows.model._base_manager.filter(pk__in=found).delete()
        deleted += len(found)


def retire_jobs(*, older_than: datetime) -> int:
    """Delete old jobs that no order, report or relaunch speaks of: those of an order are part of its record."""
    old = Job.objects.filter(
        status__in=ENDED,
        ended_at__lt=older_than,
        order=None,
        step_run=None,
        reports=None,
        cluster_report=None,
        relaunches=None,
        whole=None,  # a shard goes with its whole
    )
    deleted = 0
    while found := list(old.order_by("pk").values_list("pk", flat=True)[:AT_ONCE]):
        Job.objects.filter(pk__in=found).delete()
        deleted += len(found)
    return deleted


def sweep_overflow() -> int:
    """On this machine: folders of months whose events are gone; how many went."""
    there = set(partitions.months())
    gone = 0
    for folder in Path(settings.OVERFLOW_DIR).glob("[0-9][0-9][0-9][0-9]-[0-9][0-9]"):
        month = date(int(folder.name[:4]), int(folder.name[5:]), 1)
        if month not in there and month < this_month():
            shutil.rmtree(folder, ignore_errors=True)
            gone += 1
    return gone
