"""Pages of jobs: who sees which, what a live one shows, and that nothing a node printed becomes markup."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from portal.accounts.models import Team, User
from provisioning.fleet.models import Node
from provisioning.jobs import claims, log_view, queries
from provisioning.jobs.finishing import end_job
from provisioning.jobs.models import HostResult, Job, JobEvent
from provisioning.jobs.recorder import Recorder
from provisioning.jobs.redaction import Redactor
from provisioning.jobs.states import Ending, JobAction, JobState, Reason
from provisioning.orders.models import Order

pytestmark = pytest.mark.django_db

Nodes = Callable[..., list[Node]]
Queue = Callable[..., Job]
HTMX = {"HX-Request": "true"}


def order_of(team: Team) -> Order:
    return Order.objects.create(status="placed", kind="build", team=team)


def running(job: Job) -> Job:
    assert claims.claim(job.pk, worker="host:1/2") is not None
    Job.objects.filter(pk=job.pk).update(status=JobState.RUNNING)
    job.refresh_from_db()
    return job


def ended(job: Job, action: JobAction = JobAction.SUCCEED, reason: Reason = Reason.NONE) -> Job:
    return end_job(Job.objects.get(pk=running(job).pk), action, reason=reason, text="It ended.")


def log(job: Job, *raw: dict[str, Any]) -> None:
    """Give a job a log, as its worker writes it."""
    log_writer(job)(*raw)


def log_writer(job: Job) -> Callable[..., None]:
    """A function that appends to a job's log."""
    nodes = {row.node.name: row.node_id for row in HostResult.objects.filter(job=job).select_related("node")}
    recorder = Recorder(job_id=job.pk, attempt=max(job.attempt, 1), nodes=nodes, redactor=Redactor([]))

    def write(*raw: dict[str, Any]) -> None:
        for each in raw:
            recorder.take(each, at=job.created_at)
        recorder.flush()
        recorder.flushed()

    return write


def task(name: str) -> dict[str, Any]:
    return {
        "event": "playbook_on_task_start",
        "stdout": f"\r\nTASK [{name}]",
        "event_data": {"task": name, "role": "fabric"},
    }


def result(host: str, text: str, event: str = "runner_on_ok", **res: Any) -> dict[str, Any]:
    return {"event": event, "stdout": text, "event_data": {"host": host, "task": "a task", "res": res}}


def get(client: Client, person: User, url: str, **headers: str) -> Any:
    client.force_login(person)
    return client.get(url, headers=headers)


@pytest.mark.parametrize(
    ("who", "sees"),
    [("member", True), ("lead", True), ("stranger", False), ("triager", True), ("operator", True)],
)
def test_job_of_an_order_is_seen_by_its_team_and_by_infra_staff(
    who: str,
    sees: bool,
    make_nodes: Nodes,
    queue: Queue,
    team: Team,
    request: pytest.FixtureRequest,
    client: Client,
) -> None:
    job = queue(make_nodes(1), order=order_of(team), purpose="Provision for vision")
    person = request.getfixturevalue(who)
    for url in (f"/jobs/{job.ref}/", f"/jobs/{job.ref}/log", f"/jobs/{job.ref}/log.txt"):
        assert get(client, person, url).status_code == (200 if sees else 404)
    assert ("Provision for vision" in get(client, person, "/jobs/").content.decode()) is sees


@pytest.mark.parametrize(("who", "sees"), [("member", False), ("operator", True)])
def test_job_without_an_order_is_infra_staffs_alone(
    who: str, sees: bool, make_nodes: Nodes, queue: Queue, request: pytest.FixtureRequest, client: Client
) -> None:
    job = queue(make_nodes(1))
    assert get(client, request.getfixturevalue(who), f"/jobs/{job.ref}/").status_code == (
        200 if sees else 404
    )


def test_visitor_is_asked_to_sign_in(client: Client, make_nodes: Nodes, queue: Queue) -> None:
    job = queue(make_nodes(1))
    assert client.get(f"/jobs/{job.ref}/").status_code == 302


@pytest.mark.parametrize("ref", ["J-999", "O-1", "x", "J-0", "J-99999999999999999999"])
def test_ref_that_names_no_job_is_not_found(ref: str, client: Client, operator: User) -> None:
    assert get(client, operator, f"/jobs/{ref}/").status_code == 404


def test_list_says_why_a_job_waits(make_nodes: Nodes, queue: Queue, client: Client, operator: User) -> None:
    nodes = make_nodes(1)
    first, second = queue(nodes), queue(nodes)
    running(first)
    claims.claim(second.pk, worker="w")
    page = get(client, operator, "/jobs/?state=active").content.decode()
    assert f"Waits for gpu-001, which {first.ref} holds." in page


@pytest.mark.parametrize(
    ("state", "shown"),
    [("active", "queued one"), ("ended", "good one"), ("attention", "bad one"), ("failed", "bad one")],
)
def test_list_shows_one_group(
    state: str, shown: str, make_nodes: Nodes, queue: Queue, client: Client, operator: User
) -> None:
    nodes = make_nodes(3)
    queue(nodes[:1], purpose="queued one")
    ended(queue(nodes[1:2], purpose="good one"))
    ended(queue(nodes[2:], purpose="bad one"), JobAction.FAIL, Reason.HOSTS_FAILED)
    page = get(client, operator, f"/jobs/?state={state}").content.decode()
    assert [name for name in ("queued one", "good one", "bad one") if name in page] == [shown]


def test_list_shows_jobs_of_one_reason_page_after_page(
    make_nodes: Nodes, queue: Queue, client: Client, operator: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queries, "PAGE", 2)
    nodes = make_nodes(5)
    for number, node in enumerate(nodes[:3]):
        ended(queue([node], purpose=f"away {number}"), JobAction.FAIL, Reason.UNREACHABLE)
    ended(queue(nodes[3:4], purpose="bad one"), JobAction.FAIL, Reason.HOSTS_FAILED)
    page = get(client, operator, "/jobs/?state=attention&reason=unreachable").content.decode()
    assert [name for name in ("away 2", "away 1", "away 0", "bad one") if name in page] == [
        "away 2",
        "away 1",
    ]
    assert '<option value="unreachable" selected>a node was out of reach</option>' in page
    older = re.search(r'href="(\?state=attention&amp;reason=unreachable&amp;before=\d+)"', page)
    assert older is not None
    rest = client.get("/jobs/" + older[1].replace("&amp;", "&")).content.decode()
    assert [name for name in ("away 2", "away 1", "away 0", "bad one") if name in rest] == ["away 0"]


@pytest.mark.parametrize("query", ["state=nonsense", "reason=nonsense"])
def test_list_refuses_what_jobs_do_not_have(query: str, client: Client, operator: User) -> None:
    assert get(client, operator, f"/jobs/?{query}").status_code == 422


def test_list_asks_the_database_as_often_for_many_jobs_as_for_few(
    make_nodes: Nodes, queue: Queue, client: Client, operator: User, team: Team
) -> None:
    nodes = make_nodes(4)
    client.force_login(operator)

    def queries() -> int:
        with CaptureQueriesContext(
            connection,
        ) as seen:
            assert client.get("/jobs/?state=").status_code == 200
        return len(seen)

    queue(nodes[:1], order=order_of(team))
    few = queries()
    for _ in range(24):
        queue(nodes, order=order_of(team))
    assert queries() == few


def test_list_goes_on_where_it_ended(make_nodes: Nodes, queue: Queue, client: Client, operator: User) -> None:
    nodes = make_nodes(1)
    jobs = [queue(nodes, purpose=f"number {number:02d} of many") for number in range(30)]
    first = get(client, operator, "/jobs/?state=").content.decode()
    older = re.search(r'href="(\?state=&amp;before=\d+)"', first)
    assert older is not None
    second = client.get("/jobs/" + older[1].replace("&amp;", "&")).content.decode()
    shown = [job for job in jobs if job.purpose in first] + [job for job in jobs if job.purpose in second]
    assert sorted(job.pk for job in shown) == sorted(job.pk for job in jobs)


def test_running_job_asks_for_news_and_an_ended_one_does_not(
    make_nodes: Nodes, queue: Queue, client: Client, operator: User
) -> None:
    job = running(queue(make_nodes(1)))
    live = get(client, operator, f"/jobs/{job.ref}/", **HTMX).content.decode()
    assert 'hx-trigger="every 2s"' in live
    assert "<html" not in live
    end_job(Job.objects.get(pk=job.pk), JobAction.SUCCEED, reason=Reason.NONE, text="")
    assert "every 2s" not in client.get(f"/jobs/{job.ref}/", headers=HTMX).content.decode()
    assert "every 1s" not in client.get(f"/jobs/{job.ref}/").content.decode()


def test_page_shows_each_nodes_ending_and_first_failure(
    make_nodes: Nodes, queue: Queue, client: Client, operator: User
) -> None:
    job = running(queue(make_nodes(2)))
    log(job, task("Break"), result("gpu-002", "fatal", "runner_on_failed", msg="the fan is loud"))
    page = get(client, operator, f"/jobs/{job.ref}/").content.decode()
    assert "the fan is loud" in page
    assert 'data-state="failed"' in page
    assert "?at=2#e2" in page


def test_progress_is_measured_by_the_playbooks_last_good_run(
    make_nodes: Nodes, queue: Queue, client: Client, operator: User
) -> None:
    job = running(queue(make_nodes(2)))
    assert "0 tasks done on its nodes." in get(client, operator, f"/jobs/{job.ref}/").content.decode()
    Job.objects.filter(pk=job.pk).update(expected_tasks=5)
    HostResult.objects.filter(job=job).update(tasks_done=2)
    page = client.get(f"/jobs/{job.ref}/").content.decode()
    assert "4 of about 10 tasks done on its nodes" in page
    assert 'max="10" value="4"' in page


@pytest.mark.parametrize(
    ("who", "may"), [("operator", True), ("admin_user", True), ("triager", False), ("member", False)]
)
def test_only_operators_are_offered_to_stop_a_job_and_may(
    who: str,
    may: bool,
    make_nodes: Nodes,
    queue: Queue,
    team: Team,
    request: pytest.FixtureRequest,
    client: Client,
) -> None:
    job = queue(make_nodes(1), order=order_of(team))
    page = get(client, request.getfixturevalue(who), f"/jobs/{job.ref}/").content.decode()
    assert ("Stop the job" in page) is may
    assert client.post(f"/jobs/{job.ref}/cancel").status_code == (302 if may else 403)
    job.refresh_from_db()
    assert (job.status == "cancelled") is may


@pytest.mark.parametrize(
    ("who", "may"), [("operator", True), ("admin_user", True), ("triager", False), ("member", False)]
)
def test_only_operators_are_offered_to_stop_a_job_by_force_and_may(
    who: str,
    may: bool,
    make_nodes: Nodes,
    queue: Queue,
    team: Team,
    request: pytest.FixtureRequest,
    client: Client,
) -> None:
    job = running(queue(make_nodes(1), order=order_of(team)))
    page = get(client, request.getfixturevalue(who), f"/jobs/{job.ref}/").content.decode()
    assert (f"/jobs/{job.ref}/force" in page) is may
    assert client.get(f"/jobs/{job.ref}/force").status_code == (200 if may else 403)
    assert client.post(f"/jobs/{job.ref}/force", {"reason": "frozen"}).status_code == (302 if may else 403)
    job.refresh_from_db()
    assert (job.reason == "forced") is may


def test_page_before_force_says_what_it_means_and_asks_why(
    make_nodes: Nodes, queue: Queue, operator: User, client: Client
) -> None:
    job = running(queue(make_nodes(2)))
    page = get(client, operator, f"/jobs/{job.ref}/force").content.decode()
    for words in ("The job ends now", "host:1/2", "Its nodes drain", "Ask it to stop first"):
        assert words in page
    answer = client.post(f"/jobs/{job.ref}/force", {"reason": " "})
    assert answer.status_code == 422
    assert "Say why" in answer.content.decode()


def test_job_that_ended_meanwhile_is_shown_instead_of_being_forced(
    make_nodes: Nodes, queue: Queue, operator: User, client: Client
) -> None:
    job = ended(queue(make_nodes(1)))
    client.force_login(operator)
    page = client.get(f"/jobs/{job.ref}/force", follow=True).content.decode()
    assert f"{job.ref} had ended before: there was nothing to stop." in page
    assert "/force" not in page


def test_stranger_can_not_even_try_to_stop_a_job(
    make_nodes: Nodes, queue: Queue, stranger: User, client: Client
) -> None:
    job = queue(make_nodes(1))
    client.force_login(stranger)
    assert client.post(f"/jobs/{job.ref}/cancel").status_code == 404
    assert client.get(f"/jobs/{job.ref}/force").status_code == 404
    assert client.post(f"/jobs/{job.ref}/force", {"reason": "now"}).status_code == 404
    assert client.post(f"/jobs/{job.ref}/relaunch").status_code == 404


def test_operator_runs_a_job_again_on_the_rest(
    make_nodes: Nodes, queue: Queue, client: Client, operator: User
) -> None:
    job = running(queue(make_nodes(2)))
    HostResult.objects.filter(job=job, node__name="gpu-001").update(ending=Ending.OK)
    job = end_job(
        Job.objects.get(pk=job.pk), JobAction.SUCCEED_PARTLY, reason=Reason.HOSTS_FAILED, text="One failed."
    )
    assert "Run again on 1 node<" in get(client, operator, f"/jobs/{job.ref}/").content.decode()
    answer = client.post(f"/jobs/{job.ref}/relaunch")
    again = Job.objects.latest("pk")
    assert answer.url == f"/jobs/{again.ref}/"
    assert again.relaunch_of == job
    assert "Run again on" not in client.get(f"/jobs/{job.ref}/").content.decode()


ODD = "<img src=x onerror=alert(1)>\x1b]8;;javascript:alert(2)\x1b\\x\x1b]8;;\x1b\\\"'\x1b[0;31mred\x1b[0m"


def test_nothing_that_a_node_printed_becomes_markup(
    make_nodes: Nodes, queue: Queue, client: Client, operator: User
) -> None:
    job = running(queue(make_nodes(1), purpose="<script>alert(0)</script>"))
    log(job, task("<b>task</b>"), result("gpu-001", ODD, "runner_on_failed", msg=ODD))
    page = get(client, operator, f"/jobs/{job.ref}/").content.decode()
    for dead in ("<img", "javascript:", "<script>alert", "<b>task"):
        assert dead not in page
    assert '<span class="ansi-31">red</span>' in page
    assert "&lt;img src=x" in page


def test_log_goes_on_after_what_the_page_has_and_folds_into_the_same_task(
    make_nodes: Nodes, queue: Queue, client: Client, operator: User
) -> None:
    job = running(queue(make_nodes(1)))
    log(
        job,
        task("One"),
        result("gpu-001", "first"),
        result("gpu-001", "second"),
        task("Two"),
        result("gpu-001", "third"),
    )
    piece = get(client, operator, f"/jobs/{job.ref}/log?after=2", **HTMX).content.decode()
    assert "first" not in piece
    assert re.search(
        r'data-head="1" data-continued open><summary>One.*\s*<span class="log-line">second', piece
    )
    assert re.search(r'<details class="log-task" data-head="4" id="task-1-4" open><summary>Two', piece)
    assert 'data-after="2" data-last="5"' in piece


def test_log_says_whether_more_comes_and_that_it_ended(
    make_nodes: Nodes, queue: Queue, client: Client, operator: User
) -> None:
    job = running(queue(make_nodes(1)))
    log(job, task("One"), result("gpu-001", "first"))
    piece = get(client, operator, f"/jobs/{job.ref}/log?after=2", **HTMX).content.decode()
    assert 'data-after="2" data-last="2">' in piece
    end_job(Job.objects.get(pk=job.pk), JobAction.SUCCEED, reason=Reason.NONE, text="")
    piece = client.get(f"/jobs/{job.ref}/log?after=2", headers=HTMX).content.decode()
    assert 'data-last="2" data-ended>' in piece
    assert "The end of the log." in client.get(f"/jobs/{job.ref}/log?after=2").content.decode()


def test_long_log_comes_piece_by_piece_and_loses_nothing(make_nodes: Nodes, queue: Queue) -> None:
    job = ended(queue(make_nodes(1)))
    log(
        job,
        *[
            each
            for number in range(400)
            for each in (task(f"t{number}"), result("gpu-001", f"line {number}"))
        ],
    )
    after, lines, pieces = 0, [], 0
    while True:
        piece = log_view.piece(job, 1, after)
        lines += [line.html for each in piece.tasks for line in each.lines]
        after, pieces = piece.last, pieces + 1
        if piece.ended:
            break
    assert lines == [f"line {number}" for number in range(400)]
    assert pieces == 3


def test_page_of_a_running_job_begins_near_the_end_of_its_log(make_nodes: Nodes, queue: Queue) -> None:
    job = running(queue(make_nodes(1)))
    log(
        job,
        *[
            each
            for number in range(400)
            for each in (task(f"t{number}"), result("gpu-001", f"line {number}"))
        ],
    )
    assert 590 <= log_view.start_of(job, 1, at=None) <= 600
    assert log_view.start_of(job, 1, at=8) == 6


def test_log_of_a_large_job_is_read_by_its_index(make_nodes: Nodes, queue: Queue) -> None:
    job = ended(queue(make_nodes(1)))
    log(job, task("One"), result("gpu-001", "first"))
    with CaptureQueriesContext(connection) as seen:
        log_view.piece(job, 1, 1)
    with connection.cursor() as cursor:
        for way in ("seqscan", "bitmapscan", "sort"):
            cursor.execute(f"SET LOCAL enable_{way} = off")
        for each in seen.captured_queries:
            cursor.execute("EXPLAIN " + each["sql"])
            plan = str(cursor.fetchall())
            assert "Index" in plan
            assert "Sort" not in plan


def test_log_is_downloaded_as_plain_text(
    make_nodes: Nodes, queue: Queue, client: Client, operator: User
) -> None:
    job = running(queue(make_nodes(1)))
    log(job, task("One"), result("gpu-001", "\x1b[0;31mred\x1b[0m <b>"))
    answer = get(client, operator, f"/jobs/{job.ref}/log.txt")
    assert answer["Content-Type"] == "text/plain; charset=utf-8"
    assert answer["Content-Disposition"] == f'attachment; filename="{job.ref}.txt"'
    assert b"".join(answer.streaming_content).decode() == f"== {job.ref} attempt 1 ==\nTASK [One]\nred <b>\n"


@pytest.mark.parametrize(
    "query", ["after=x", "after=-1", "attempt=99", "at=1e9", "after=99999999999999999999"]
)
def test_odd_place_in_a_log_is_refused(
    query: str, make_nodes: Nodes, queue: Queue, client: Client, operator: User
) -> None:
    job = queue(make_nodes(1))
    assert get(client, operator, f"/jobs/{job.ref}/log?{query}").status_code in {404, 422}


def test_each_attempt_keeps_its_log(make_nodes: Nodes, queue: Queue, client: Client, operator: User) -> None:
    job = running(queue(make_nodes(1)))
    log(job, task("In the first attempt"))
    end_job(Job.objects.get(pk=job.pk), JobAction.LOSE, reason=Reason.WORKER_LOST, text="It was lost.")
    job = running(Job.objects.get(pk=job.pk))
    log(job, task("In the second attempt"))
    assert "In the second attempt" in get(client, operator, f"/jobs/{job.ref}/").content.decode()
    first = client.get(f"/jobs/{job.ref}/?attempt=1").content.decode()
    assert "In the first attempt" in first
    assert JobEvent.objects.filter(job=job, attempt=1).count() == 1
