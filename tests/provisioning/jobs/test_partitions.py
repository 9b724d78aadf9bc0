"""Events lie in the part of their job's month; parts are made ahead or by the first event, and go whole."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, date, datetime

import pytest
from django.db import connection

from portal.kernel.clock import now
from provisioning.fleet.models import Node
from provisioning.jobs import partitions
from provisioning.jobs.models import Job, JobEvent
from provisioning.jobs.months import after, first_of_month, this_month
from provisioning.jobs.storing import EventRow, store_events

OLD = date(2019, 2, 1)


@pytest.fixture
def job(make_nodes: Callable[..., list[Node]], queue: Callable[..., Job]) -> Job:
    job = queue(make_nodes(1))
    Job.objects.filter(pk=job.pk).update(created_at=datetime(2019, 2, 3, tzinfo=UTC))
    job.refresh_from_db()
    return job


def events(job: Job, *counters: int) -> list[EventRow]:
    return [
        EventRow(job_id=job.pk, month=job.month, attempt=1, counter=counter, kind="ok", at=now())
        for counter in counters
    ]


@pytest.mark.parametrize(
    ("month", "months", "then"),
    [
        (date(2026, 12, 1), 1, date(2027, 1, 1)),
        (date(2026, 1, 1), -1, date(2025, 12, 1)),
        (date(2026, 3, 1), 25, date(2028, 4, 1)),
    ],
)
def test_months_are_counted_over_the_year(month: date, months: int, then: date) -> None:
    assert after(month, months) == then
    assert first_of_month(datetime(month.year, month.month, 28, tzinfo=UTC)) == month


@pytest.mark.django_db
def test_this_month_and_the_next_ones_are_made_ahead_and_once() -> None:
    partitions.make_ahead()
    assert {this_month(), after(this_month()), after(this_month(), 2)} <= set(partitions.months())
    assert partitions.make_ahead() == []


@pytest.mark.django_db
def test_first_event_of_a_month_makes_its_part(job: Job) -> None:
    assert job.month == OLD
    store_events(events(job, 1, 2))
    assert OLD in partitions.months()
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM {partitions.part_of(OLD)}")
        assert cursor.fetchone() == (2,)


@pytest.mark.django_db
def test_month_goes_whole(job: Job) -> None:
    store_events(events(job, 1, 2))
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")  # as after a commit
    partitions.drop(OLD)
    assert OLD not in partitions.months()
    assert not JobEvent.objects.filter(job=job).exists()


@pytest.mark.django_db(transaction=True)
def test_two_who_need_the_same_part_make_one() -> None:
    found: list[object] = []

    def make() -> None:
        try:
            found.append(partitions.make([OLD]))
        finally:
            connection.close()

    threads = [threading.Thread(target=make) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    partitions.drop(OLD)
    assert sorted(map(str, found)) == sorted(map(str, [[OLD], [], [], []]))
