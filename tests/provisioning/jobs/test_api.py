"""Jobs by API: the same people, the same words, one shape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from rest_framework.test import APIClient

from portal.accounts.models import Team, User
from provisioning.fleet.models import Node
from provisioning.jobs.models import Job
from provisioning.jobs.states import JobAction, Reason
from tests.provisioning.jobs.test_views import ended, log, order_of, result, running, task

pytestmark = pytest.mark.django_db

Nodes = Callable[..., list[Node]]
Queue = Callable[..., Job]


def client_of(person: User) -> APIClient:
    client = APIClient()
    client.force_authenticate(person)
    return client


def get(person: User, url: str) -> Any:
    return client_of(person).get(f"/api/v1/{url}")


def test_member_reads_the_jobs_of_their_orders_and_no_other(
    make_nodes: Nodes, queue: Queue, team: Team, member: User, stranger: User
) -> None:
    nodes = make_nodes(2)
    mine, other = queue(nodes, order=order_of(team)), queue(nodes)
    answer = get(member, "jobs").json()
    assert [row["ref"] for row in answer["results"]] == [mine.ref]
    assert answer["results"][0]["why"] == "Waits for a worker."
    assert answer["results"][0]["order"].startswith("O-")
    assert get(member, f"jobs/{other.ref}").status_code == 404
    assert get(stranger, f"jobs/{mine.ref}").status_code == 404
    assert get(stranger, f"jobs/{mine.ref}/events").status_code == 404


def test_jobs_are_listed_by_the_reason_of_their_end(make_nodes: Nodes, queue: Queue, operator: User) -> None:
    first, second = make_nodes(2)
    away = ended(queue([first]), JobAction.FAIL, Reason.UNREACHABLE)
    ended(queue([second]), JobAction.FAIL, Reason.HOSTS_FAILED)
    answer = get(operator, "jobs?reason=unreachable").json()
    assert [job["ref"] for job in answer["results"]] == [away.ref]


def test_job_shows_its_nodes_and_its_progress(make_nodes: Nodes, queue: Queue, operator: User) -> None:
    job = running(queue(make_nodes(2)))
    log(job, task("Break"), result("gpu-002", "fatal", "runner_on_failed", msg="the fan is loud"))
    answer = get(operator, f"jobs/{job.ref}").json()
    assert answer["state"] == "running"
    assert answer["progress"] == {"done": 1, "expected": None}
    assert answer["nodes"][1] == {
        "node": "gpu-002",
        "job": job.ref,
        "ending": "failed",
        "tasks_done": 1,
        "changed": 0,
        "last_task": "a task",
        "first_failure": "the fan is loud",
        "first_failure_counter": 2,
        "draining_since": None,
    }


def test_nodes_of_a_large_job_come_a_hundred_at_a_time(
    make_nodes: Nodes, queue: Queue, operator: User
) -> None:
    job = queue(make_nodes(101))
    first = get(operator, f"jobs/{job.ref}").json()
    second = get(operator, f"jobs/{job.ref}?nodes_after={first['nodes_next']}").json()
    assert first["endings"] == second["endings"] == {"waiting": 101}
    assert [len(first["nodes"]), first["nodes_next"]] == [100, "gpu-100"]
    assert ([node["node"] for node in second["nodes"]], second["nodes_next"]) == (["gpu-101"], "")


def test_nodes_of_a_job_are_filtered_by_ending(make_nodes: Nodes, queue: Queue, operator: User) -> None:
    job = running(queue(make_nodes(3)))
    log(job, task("Break"), result("gpu-002", "fatal", "runner_on_failed", msg="the fan is loud"))
    answer = get(operator, f"jobs/{job.ref}?ending=failed").json()
    assert [node["node"] for node in answer["nodes"]] == ["gpu-002"]
    assert answer["endings"] == {"waiting": 2, "failed": 1}


@pytest.mark.parametrize("query", ["ending=sideways", "endings=failed"])
def test_job_refuses_an_ending_and_a_filter_that_there_is_not(
    query: str, make_nodes: Nodes, queue: Queue, operator: User
) -> None:
    answer = get(operator, f"jobs/{queue(make_nodes(1)).ref}?{query}")
    assert (answer.status_code, "Known:" in answer.content.decode()) == (422, True)


def test_events_come_in_order_after_a_counter_until_they_end(
    make_nodes: Nodes, queue: Queue, operator: User
) -> None:
    job = running(queue(make_nodes(1)))
    log(job, task("One"), result("gpu-001", "first"), result("gpu-001", "second"))
    answer = get(operator, f"jobs/{job.ref}/events?after=1").json()
    assert [event["counter"] for event in answer["events"]] == [2, 3]
    assert (answer["last"], answer["ended"], answer["attempt"]) == (3, False, 1)
    assert answer["events"][0]["node"] == "gpu-001"
    ended_job = ended(queue(make_nodes(1, start=5)))
    assert get(operator, f"jobs/{ended_job.ref}/events").json() == {
        "attempt": 1,
        "last": 0,
        "ended": True,
        "events": [],
    }


@pytest.mark.parametrize(
    "url",
    [
        "jobs?stat=active",
        "jobs?state=nonsense",
        "jobs?reason=nonsense",
        "jobs/{ref}/events?from=1",
        "jobs/{ref}/events?after=x",
    ],
)
def test_filter_that_there_is_not_is_refused(
    url: str, make_nodes: Nodes, queue: Queue, operator: User
) -> None:
    job = queue(make_nodes(1))
    assert get(operator, url.format(ref=job.ref)).status_code == 422


def test_operator_stops_a_job_and_twice_is_the_same_as_once(
    make_nodes: Nodes, queue: Queue, operator: User
) -> None:
    job = queue(make_nodes(1))
    for _ in range(2):
        answer = client_of(operator).post(
            f"/api/v1/jobs/{job.ref}/cancel", {"reason": "wrong nodes"}, format="json"
        )
        assert answer.status_code == 200
        assert answer.json()["state"] == "cancelled"
        assert answer.json()["why"] == "It was cancelled before it began: wrong nodes"


def test_operator_stops_a_job_by_force_and_the_answer_says_what_became_of_it(
    make_nodes: Nodes, queue: Queue, operator: User
) -> None:
    job = running(queue(make_nodes(1)))
    for _ in range(2):
        answer = (
            client_of(operator)
            .post(f"/api/v1/jobs/{job.ref}/cancel", {"force": True, "reason": "frozen"}, format="json")
            .json()
        )
        assert (answer["state"], answer["reason"]) == ("cancelled", "forced")
        assert answer["why"] == "It was stopped by force: frozen"
        assert "drain until they are seen quiet" in answer["answer"]
        assert answer["forced_at"]


def test_force_needs_a_reason(make_nodes: Nodes, queue: Queue, operator: User) -> None:
    job = running(queue(make_nodes(1)))
    answer = client_of(operator).post(f"/api/v1/jobs/{job.ref}/cancel", {"force": True}, format="json")
    assert answer.status_code == 422
    assert [error["pointer"] for error in answer.json()["errors"]] == ["/reason"]


def test_job_that_had_ended_is_not_stopped_by_force_and_says_so(
    make_nodes: Nodes, queue: Queue, operator: User
) -> None:
    job = ended(queue(make_nodes(1)))
    answer = client_of(operator).post(
        f"/api/v1/jobs/{job.ref}/cancel", {"force": True, "reason": "late"}, format="json"
    )
    assert (answer.status_code, answer.json()["state"]) == (200, "succeeded")
    assert answer.json()["answer"] == f"{job.ref} had ended before: there was nothing to stop."


@pytest.mark.parametrize("told", [{}, {"force": True, "reason": "now"}])
def test_member_may_not_stop_the_job_they_see(
    told: dict[str, object], make_nodes: Nodes, queue: Queue, team: Team, lead: User
) -> None:
    job = queue(make_nodes(1), order=order_of(team))
    answer = client_of(lead).post(f"/api/v1/jobs/{job.ref}/cancel", told, format="json")
    assert (answer.status_code, answer.json()["code"]) == (403, "not-allowed")


def test_relaunch_answers_with_the_new_job_or_says_why_not(
    make_nodes: Nodes, queue: Queue, operator: User
) -> None:
    job = ended(queue(make_nodes(1)))
    again = client_of(operator).post(f"/api/v1/jobs/{job.ref}/relaunch")
    assert again.status_code == 201
    assert again.json()["ref"] != job.ref
    twice = client_of(operator).post(f"/api/v1/jobs/{job.ref}/relaunch")
    assert (twice.status_code, twice.json()["code"]) == (422, "relaunched-already")
    assert twice.json()["data"]["job"] == again.json()["ref"]
