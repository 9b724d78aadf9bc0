"""A page that follows a log hears all of it once, over lost connections too, and nothing once it may not."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.test import Client

from portal.accounts.models import Team, User
from portal.kernel.clock import now
from portal.kernel.errors import Invalid, NotFound
from provisioning.fleet.models import Node
from provisioning.jobs import stream
from provisioning.jobs.finishing import end_job
from provisioning.jobs.models import Job, JobEvent
from provisioning.jobs.states import JobAction, Reason
from tests.asgi import serving
from tests.provisioning.jobs.test_views import ended, get, log, log_writer, order_of, result, running, task

Nodes = Callable[..., list[Node]]
Queue = Callable[..., Job]


@pytest.mark.django_db
def test_stream_goes_on_after_the_last_event_the_page_had(
    make_nodes: Nodes, queue: Queue, client: Client, operator: User
) -> None:
    job = running(queue(make_nodes(1)))
    log(job, task("One"), result("gpu-001", "first"), result("gpu-001", "second"))
    said = get(client, operator, f"/jobs/{job.ref}/stream?after=1", **{"Last-Event-ID": "2"}).content.decode()
    assert said.startswith("retry: ")
    assert "second" in said
    assert "first" not in said
    assert "id: 3\nevent: lines\n" in said
    assert "event: end" not in said


@pytest.mark.django_db
def test_stream_of_an_ended_job_says_so(
    make_nodes: Nodes, queue: Queue, client: Client, operator: User
) -> None:
    job = ended(queue(make_nodes(1)))
    log(job, task("One"))
    said = get(client, operator, f"/jobs/{job.ref}/stream").content.decode()
    assert said.endswith('event: end\ndata: {"state": "succeeded"}\n\n')


@pytest.mark.django_db
def test_person_who_may_not_see_the_job_any_more_hears_nothing_more(
    make_nodes: Nodes, queue: Queue, team: Team, member: User
) -> None:
    job = running(queue(make_nodes(1), order=order_of(team)))
    place = stream.begin(member, job.ref, {}, "")
    assert not stream.news(member, place).ended
    member.memberships.all().delete()
    with pytest.raises(NotFound):
        stream.news(User.objects.get(pk=member.pk), place)


@pytest.mark.django_db
@pytest.mark.parametrize("told", [{"after": "x"}, {"attempt": "-1"}, {"replay": "fast"}, {"only": "odd"}])
def test_odd_question_is_refused(
    told: dict[str, str], make_nodes: Nodes, queue: Queue, operator: User
) -> None:
    with pytest.raises(Invalid):
        stream.begin(operator, queue(make_nodes(1)).ref, told, "")


@pytest.mark.django_db
def test_replay_comes_in_the_rhythm_of_then(make_nodes: Nodes, queue: Queue, operator: User) -> None:
    job = ended(queue(make_nodes(1)))
    log(job, task("One"), *[result("gpu-001", f"line {number}") for number in range(3)])
    for counter in range(1, 5):
        JobEvent.objects.filter(job=job, counter=counter).update(
            at=job.created_at + timedelta(seconds=100 * counter)
        )
    place = stream.begin(operator, job.ref, {"replay": "10"}, "")
    heard = []
    for passed in (1, 11, 21, 60):
        place = replace(place, begun=now() - timedelta(seconds=passed))
        news = stream.news(operator, place)
        place = news.place
        heard.append((place.after, news.ended))
    assert heard == [(1, False), (2, False), (3, False), (4, True)]


# over a real server ---------------------------------------------------------------------------------------------


class Ear:
    """Follows a stream in a thread."""

    def __init__(self, address: str, path: str, person: User | None, **headers: str) -> None:
        line = http.client.HTTPConnection(urlsplit(address).netloc, timeout=30)
        if person is not None:
            client = Client()
            client.force_login(person)
            name = settings.SESSION_COOKIE_NAME
            headers["Cookie"] = f"{name}={client.cookies[name].value}"
        line.request("GET", path, headers=headers)
        self.sock = line.sock
        self.answer = line.getresponse()
        self.messages: list[dict[str, Any]] = []
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._listen, daemon=True)
        self.thread.start()

    def _listen(self) -> None:
        told: dict[str, Any] = {"at": 0.0}
        for raw in self._lines():
            name, _, value = raw.decode().rstrip("\n").partition(": ")
            if name in {"id", "event"}:
                told[name] = value
            elif name == "data":
                self.messages.append({**told, "data": json.loads(value), "at": time.monotonic()})
        self.over.set()

    def _lines(self) -> Iterator[bytes]:
        with suppress(OSError, http.client.HTTPException):
            yield from self.answer

    def wait_for(self, words: str) -> None:
        deadline = time.monotonic() + 15
        while words not in str(self.messages):
            assert time.monotonic() < deadline, f"{words} was not heard in {self.messages}"
            time.sleep(0.02)

    def close(self) -> None:
        with suppress(OSError):
            self.sock.shutdown(socket.SHUT_RDWR)
        self.thread.join(10)
        self.answer.close()
        self.sock.close()


@pytest.fixture
def address() -> Iterator[str]:
    with serving() as address:
        yield address


@pytest.mark.django_db(transaction=True)
def test_lines_come_at_once_and_the_stream_ends_with_the_job(
    address: str, make_nodes: Nodes, queue: Queue, operator: User
) -> None:
    job = running(queue(make_nodes(1)))
    write = log_writer(job)
    ear = Ear(address, f"/jobs/{job.ref}/stream", operator)
    time.sleep(1)
    begun = time.monotonic()
    write(task("One"), result("gpu-001", "first"))
    ear.wait_for("first")
    assert time.monotonic() - begun < 2, "a notice of the database wakes it, not the next look"
    for number in range(40):
        write(result("gpu-001", f"quick {number}"))
        time.sleep(0.02)
    ear.wait_for("quick 39")
    times = [message["at"] for message in ear.messages]
    assert all(later - earlier > 0.15 for earlier, later in zip(times, times[1:], strict=False))
    end_job(Job.objects.get(pk=job.pk), JobAction.SUCCEED, reason=Reason.NONE, text="")
    ear.wait_for("succeeded")
    assert ear.over.wait(5)
    assert [message["event"] for message in ear.messages][-1] == "end"
    ear.close()


@pytest.mark.django_db(transaction=True)
def test_page_that_lost_its_server_goes_on_where_it_was(
    make_nodes: Nodes, queue: Queue, operator: User
) -> None:
    job = running(queue(make_nodes(1)))
    write = log_writer(job)
    write(task("One"), result("gpu-001", "first"))
    with serving() as address:
        ear = Ear(address, f"/jobs/{job.ref}/stream", operator)
        ear.wait_for("first")
        last = ear.messages[-1]["id"]
    ear.close()
    write(result("gpu-001", "second"))
    with serving() as address:
        again = Ear(address, f"/jobs/{job.ref}/stream", operator, **{"Last-Event-ID": last})
        again.wait_for("second")
        assert "first" not in str(again.messages)
        again.close()


@pytest.mark.django_db(transaction=True)
def test_session_that_ends_ends_the_stream(
    address: str, make_nodes: Nodes, queue: Queue, operator: User
) -> None:
    job = running(queue(make_nodes(1)))
    ear = Ear(address, f"/jobs/{job.ref}/stream", operator)
    assert ear.answer.status == 200
    User.objects.filter(pk=operator.pk).update(is_active=False)
    log(job, task("One"))
    assert ear.over.wait(10)
    assert ear.messages == []
    ear.close()


@pytest.mark.django_db(transaction=True)
def test_stranger_and_visitor_find_nothing_to_follow(
    address: str, make_nodes: Nodes, queue: Queue, member: User, stranger: User, team: Team
) -> None:
    job = running(queue(make_nodes(1), order=order_of(team)))
    for person, status in ((stranger, 404), (None, 404), (member, 200)):
        ear = Ear(address, f"/jobs/{job.ref}/stream", person)
        assert ear.answer.status == status
        ear.close()


@pytest.mark.django_db(transaction=True)
def test_many_open_pages_hold_no_thread_each(
    address: str, make_nodes: Nodes, queue: Queue, operator: User
) -> None:
    job = running(queue(make_nodes(1)))
    write = log_writer(job)
    before = threading.active_count()
    ears = [Ear(address, f"/jobs/{job.ref}/stream", operator) for _ in range(20)]
    write(task("One"), result("gpu-001", "for all"))
    for ear in ears:
        ear.wait_for("for all")
    own = len(ears)  # each ear of this test is a thread
    assert threading.active_count() - before - own <= 6
    for ear in ears:
        ear.close()
