"""A page of a job follows it: news comes by itself, nothing twice, and the page rests when the job has ended."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from django.db import transaction

from portal.accounts.models import User
from provisioning.fleet.models import Node
from provisioning.jobs.finishing import end_job
from provisioning.jobs.models import HostResult, Job
from provisioning.jobs.states import JobAction, Reason
from tests.browser.chromium import Browser
from tests.provisioning.jobs.conftest import make_nodes, queue, sku, tiny
from tests.provisioning.jobs.test_views import log_writer, result, running, task

__all__ = ["make_nodes", "queue", "sku", "tiny"]

TO_THE_END = "const log = document.querySelector('[data-log]'); return log.scrollHeight - log.scrollTop - log.clientHeight"

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_log_of_a_running_job_follows_folds_and_comes_to_rest(
    browser: Browser,
    sign_in: Callable[[User], None],
    operator: User,
    make_nodes: Callable[..., list[Node]],
    queue: Callable[..., Job],
) -> None:
    job = running(queue(make_nodes(2), purpose="Provision two nodes"))
    write = log_writer(job)
    write(task("Install the driver"), result("gpu-001", "\x1b[0;32mok: [gpu-001]\x1b[0m"))
    sign_in(operator)
    browser.open(f"/jobs/{job.ref}/")
    browser.wait_for("ok: [gpu-001]")

    write(result("gpu-002", "\x1b[0;33mchanged: [gpu-002]\x1b[0m", changed=True), task("Mount the storage"))
    browser.wait_for("Mount the storage")
    browser.wait_for("changed: [gpu-002]")
    folded = browser.run("return document.querySelectorAll('#task-1-1 .log-line').length")
    assert folded == 2, "the second line belongs to the first task"

    write(
        result(
            "gpu-001",
            "\x1b[0;31mfatal: [gpu-001]: no such export\x1b[0m",
            "runner_on_failed",
            msg="no such export",
        )
    )
    browser.wait_for("no such export")
    with transaction.atomic():
        HostResult.objects.filter(job=job, node__name="gpu-002").update(ending="ok")
        text = "Of 2 nodes 1 is ok, 1 failed."
        end_job(Job.objects.get(pk=job.pk), JobAction.SUCCEED_PARTLY, reason=Reason.HOSTS_FAILED, text=text)
    browser.wait_for("The end of the log.")
    browser.wait_for(text)
    browser.wait_for("Run again on 1 node")
    assert browser.run("return document.querySelectorAll('.log-line').length") == 3
    assert browser.run("return document.querySelectorAll('[hx-trigger^=every]').length") == 0, (
        "nothing asks any more"
    )
    browser.requests()
    time.sleep(2.5)
    assert browser.requests() == []
    assert browser.complaints() == []


def test_news_takes_along_who_reads_at_the_end_and_moves_nobody_else(
    browser: Browser,
    sign_in: Callable[[User], None],
    operator: User,
    make_nodes: Callable[..., list[Node]],
    queue: Callable[..., Job],
) -> None:
    job = running(queue(make_nodes(1)))
    write = log_writer(job)
    write(task("Count"), *(result("gpu-001", f"line {number} of the first hundred") for number in range(100)))
    sign_in(operator)
    browser.open(f"/jobs/{job.ref}/")
    browser.wait_for("line 99 of the first hundred")
    write(*(result("gpu-001", f"line {number} of the second hundred") for number in range(100)))
    browser.wait_for("line 99 of the second hundred")
    browser.settle()
    assert browser.run(TO_THE_END) < 2

    browser.run("document.querySelector('[data-log]').scrollTop = 500")
    write(*(result("gpu-001", f"line {number} of the third hundred") for number in range(100)))
    browser.wait_for("line 99 of the third hundred")
    browser.settle()
    assert browser.run("return document.querySelector('[data-log]').scrollTop") == 500
