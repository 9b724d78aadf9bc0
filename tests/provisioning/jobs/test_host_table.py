"""The page of a job shows some of its nodes and counts all of them, whether one worker runs them or many."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from portal.accounts.models import User
from portal.kernel.errors import Invalid
from provisioning.fleet.models import Node
from provisioning.jobs import claims, host_table, playbooks
from provisioning.jobs.host_table import Wanted, table
from provisioning.jobs.models import HostResult, Job
from provisioning.jobs.states import Ending
from tests.provisioning.builders import end
from tests.provisioning.jobs.conftest import Tiny

pytestmark = pytest.mark.django_db

Nodes = Callable[..., list[Node]]
Queue = Callable[..., Job]


@pytest.fixture
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_table, "PAGE", 3)


@pytest.fixture
def whole(tiny: Tiny, make_nodes: Nodes, queue: Queue, monkeypatch: pytest.MonkeyPatch) -> Job:
    """Of seven nodes: three have come home, of three more one runs, and one waits in a part of its own."""
    monkeypatch.setitem(playbooks.REGISTRY, "tiny", replace(playbooks.REGISTRY["tiny"], shard_nodes=3))
    job = queue(make_nodes(7))
    first, second, _ = job.shards.order_by("shard")
    end(first, {"gpu-002": Ending.FAILED})
    assert claims.claim(second.pk, worker="w") is not None
    HostResult.objects.filter(job=second, node__name="gpu-005").update(ending=Ending.RUNNING, tasks_done=4)
    return job


def over(job: Job, *bad: str) -> Job:
    """Ended, with these nodes failed."""
    end(job, dict.fromkeys(bad, Ending.FAILED))
    return Job.objects.get(pk=job.pk)


def names(job: Job, **wanted: str) -> list[str]:
    return [row.node.name for row in table(job, Wanted(**wanted)).rows]


def test_nodes_come_by_name_page_after_page(make_nodes: Nodes, queue: Queue, small_pages: None) -> None:
    job = queue(make_nodes(7))
    page = table(job, Wanted())
    assert [row.node.name for row in page.rows] == ["gpu-001", "gpu-002", "gpu-003"]
    assert (page.first_url, page.next_url) == ("", "?nodes_after=gpu-003#nodes")
    assert (page.total, page.counts) == (7, {"waiting": 7})
    last = table(job, Wanted(after="gpu-006"))
    assert [row.node.name for row in last.rows] == ["gpu-007"]
    assert (last.first_url, last.next_url, last.total) == ("?#nodes", "", 7)


def test_page_is_of_one_ending_and_counts_all(make_nodes: Nodes, queue: Queue, small_pages: None) -> None:
    job = queue(make_nodes(9))
    end(job, {"gpu-002": Ending.FAILED, "gpu-008": Ending.FAILED, "gpu-009": Ending.UNREACHABLE})
    page = table(job, Wanted(ending="failed"))
    assert [row.node.name for row in page.rows] == ["gpu-002", "gpu-008"]
    assert page.counts == {"ok": 6, "failed": 2, "unreachable": 1}
    assert (page.bad, page.not_ok) == (3, 3)


def test_page_of_what_is_not_ok_holds_what_a_relaunch_would_run_on(
    make_nodes: Nodes, queue: Queue, small_pages: None
) -> None:
    job = queue(make_nodes(9))
    end(job, {"gpu-002": Ending.FAILED, "gpu-008": Ending.NOT_ATTEMPTED, "gpu-009": Ending.UNREACHABLE})
    assert names(job, ending="not_ok") == ["gpu-002", "gpu-008", "gpu-009"]
    assert names(job, ending="all") == ["gpu-001", "gpu-002", "gpu-003"]


def test_page_of_an_ended_job_of_many_nodes_begins_with_what_is_not_ok(
    make_nodes: Nodes, queue: Queue
) -> None:
    job = queue(make_nodes(12))
    assert table(job, Wanted(), trouble_first=True).is_of_all, "it has not ended"
    job = over(job, "gpu-002")
    page = table(job, Wanted(), trouble_first=True)
    assert [row.node.name for row in page.rows] == ["gpu-002"]
    assert (page.total, page.wanted.ending) == (12, "not_ok")
    assert table(job, Wanted(ending="all"), trouble_first=True).is_of_all
    assert table(job, Wanted()).is_of_all


@pytest.mark.parametrize(
    ("nodes", "bad"),
    [(10, ["gpu-002"]), (11, []), (11, [f"gpu-{number:03}" for number in range(1, 12)])],
    ids=["few nodes", "none not ok", "none ok"],
)
def test_page_of_an_ended_job_shows_all_where_there_is_nothing_to_pick_out(
    nodes: int, bad: list[str], make_nodes: Nodes, queue: Queue
) -> None:
    job = over(queue(make_nodes(nodes)), *bad)
    assert table(job, Wanted(), trouble_first=True).is_of_all


def test_node_of_a_whole_counts_as_its_part_has_it_now(whole: Job) -> None:
    page = table(whole, Wanted())
    assert page.counts == {"waiting": 3, "running": 1, "ok": 2, "failed": 1}
    assert page.tasks_done == 4 + sum(row.tasks_done for row in page.rows if row.ending in {"ok", "failed"})
    assert names(whole, ending="running") == ["gpu-005"]
    assert names(whole, ending="waiting") == ["gpu-004", "gpu-006", "gpu-007"]


@pytest.mark.parametrize(("nodes", "queries"), [(3, 2), (1000, 5)])
def test_page_of_any_number_of_nodes_asks_the_database_a_few_times(
    nodes: int,
    queries: int,
    make_nodes: Nodes,
    queue: Queue,
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    """Of a job in parts it asks for these as well."""
    job = queue(make_nodes(nodes))
    with django_assert_num_queries(queries):
        page = table(job, Wanted())
    assert (len(page.rows), page.total) == (min(nodes, host_table.PAGE), nodes)


@pytest.mark.parametrize("ending", ["dead", "ok'--", "\0"])
def test_ending_that_there_is_not_is_refused(ending: str) -> None:
    with pytest.raises(Invalid) as refused:
        Wanted.read({"ending": ending})
    assert list(refused.value.fields) == ["ending"]


def test_page_of_the_job_keeps_to_what_was_chosen_while_it_is_followed(
    whole: Job, client: Client, operator: User
) -> None:
    client.force_login(operator)
    html = client.get(f"/jobs/{whole.ref}/?ending=waiting").content.decode()
    assert f'hx-get="/jobs/{whole.ref}/?ending=waiting"' in html
    assert "gpu-007" in html
    assert "gpu-001" not in html
    assert client.get(f"/jobs/{whole.ref}/?ending=dead").status_code == 422


def test_page_of_an_ended_job_leads_from_what_is_not_ok_to_all(
    make_nodes: Nodes, queue: Queue, client: Client, operator: User
) -> None:
    job = over(queue(make_nodes(12)), "gpu-002")
    client.force_login(operator)
    html = client.get(f"/jobs/{job.ref}/").content.decode()
    assert "/nodes/gpu-002/" in html
    assert "/nodes/gpu-001/" not in html
    assert (
        '<a href="?ending=not_ok#nodes" aria-current="page">not ok <span class="count">1</span></a>' in html
    )
    assert "/nodes/gpu-001/" in client.get(f"/jobs/{job.ref}/?ending=all").content.decode()
