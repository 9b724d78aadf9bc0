"""Events reach their table by COPY, and a batch that comes twice is there once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from portal.kernel.clock import now
from provisioning.fleet.models import Node, Sku
from provisioning.jobs.caps import json_of, storable, storable_value
from provisioning.jobs.models import HostResult, Job, JobEvent
from provisioning.jobs.storing import EventRow, HostRow, store_events, store_hosts

pytestmark = pytest.mark.django_db


@pytest.fixture
def job(make_nodes: Callable[..., list[Node]], queue: Callable[..., Job]) -> Job:
    return queue(make_nodes(1))


def event(job: Job, counter: int, **more: Any) -> EventRow:
    told = {"kind": "ok", "text": f"line {counter}", "at": now(), **more}
    return EventRow(job_id=job.pk, month=job.month, attempt=1, counter=counter, **told)


def test_row_has_every_column_of_the_table() -> None:
    assert set(EventRow._fields) == {
        field.attname for field in JobEvent._meta.concrete_fields if field.column
    }


def test_a_batch_is_stored_in_one_statement(job: Job) -> None:
    with CaptureQueriesContext(
        connection,
    ) as asked:
        store_events([event(job, counter) for counter in range(1, 3001)])
    assert JobEvent.objects.filter(job=job).count() == 3000
    assert not any("INSERT" in query["sql"] for query in asked.captured_queries)


def test_nothing_to_store_asks_nothing(job: Job, django_assert_num_queries: Callable[..., Any]) -> None:
    with django_assert_num_queries(0):
        store_events([])


def test_rows_that_are_there_already_stay_as_they_are_and_the_rest_is_added(job: Job) -> None:
    store_events([event(job, counter) for counter in (1, 2)])
    store_events([event(job, counter, text="written again") for counter in (1, 2, 3)])
    kept = JobEvent.objects.filter(job=job).order_by("counter").values_list("counter", "text")
    assert list(kept) == [(1, "line 1"), (2, "line 2"), (3, "written again")]


def test_a_transaction_that_is_taken_back_takes_the_events_with_it(job: Job) -> None:
    with pytest.raises(RuntimeError), transaction.atomic():
        store_events([event(job, 1)])
        raise RuntimeError
    assert not JobEvent.objects.filter(job=job).exists()


SAID = st.text(max_size=40)
TOLD = st.dictionaries(
    SAID, SAID | st.integers(-(2**70), 2**70) | st.booleans() | st.none() | st.lists(SAID), max_size=4
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(text=SAID, told=TOLD, failed=st.booleans())
def test_whatever_a_playbook_says_comes_back_as_it_was(
    job: Job, text: str, told: dict[str, Any], failed: bool
) -> None:
    text, data = storable(text), storable_value(told)
    JobEvent.objects.filter(job=job).delete()
    store_events([event(job, 1, text=text, data=json_of(told), failed=failed, host="gpu-001")])
    kept = JobEvent.objects.get(job=job, counter=1)
    assert (kept.text, kept.data, kept.failed, kept.host) == (text, data, failed, "gpu-001")


def test_a_thousand_nodes_are_written_in_one_statement(
    job: Job, sku: Sku, django_assert_num_queries: Callable[..., Any]
) -> None:
    nodes = Node.objects.bulk_create(
        Node(name=f"many-{number}", sku=sku, address="192.0.2.1", status="free") for number in range(1000)
    )
    HostResult.objects.bulk_create(HostResult(job=job, attempt=1, node=node) for node in nodes)
    at = now()
    rows = [
        HostRow(node.pk, "running" if node.pk % 2 else "failed", node.pk % 50, 1, "Task", at, "no disk", None)
        for node in nodes
    ]
    with django_assert_num_queries(1):
        store_hosts(job.pk, 1, rows)
    kept = HostResult.objects.filter(job=job, node__in=nodes)
    assert [(row.node_id, row.ending, row.tasks_done, row.changed) for row in kept] == [
        row[:4] for row in rows
    ]
    assert {
        (row.last_task, row.last_event_at, row.first_failure, row.first_failure_counter) for row in kept
    } == {("Task", at, "no disk", None)}
    untouched = HostResult.objects.exclude(node__in=nodes).get()
    assert (untouched.ending, untouched.last_task) == ("waiting", "")
