"""A log of 200,000 events opens at once, is read from either end, and takes no more of the browser the further one reads."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from selenium.webdriver.support.wait import WebDriverWait

from portal.accounts.models import User
from provisioning.fleet.models import Node
from provisioning.jobs.models import Job
from tests.browser.chromium import PATIENCE, Browser
from tests.provisioning.jobs.conftest import make_nodes, queue, sku, tiny
from tests.provisioning.jobs.test_views import ended

__all__ = ["make_nodes", "queue", "sku", "tiny"]

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

EVENTS = 200_000
TASK_EVERY = 2000
FAILS_AT = 123_457
MAKE = """
    INSERT INTO provisioning_jobevent
        (job_id, month, attempt, counter, kind, host, play, task, changed, failed, text, data, truncated, on_disk, at)
    SELECT %s, %s, 1, n,
        CASE WHEN n = 1 THEN 'play' WHEN n %% 2000 = 2 THEN 'task' WHEN n = 123457 THEN 'failed' ELSE 'ok' END,
        CASE WHEN n %% 2000 = 2 OR n = 1 THEN '' ELSE 'gpu-' || lpad((n %% 999)::text, 3, '0') END,
        'Provision', 'Task ' || (n - 2) / 2000, n %% 7 = 0, n = 123457,
        CASE WHEN n %% 2000 = 2 OR n = 1 THEN 'TASK' ELSE E'\\x1b[0;32mok: [gpu] line ' || n || ' ' || repeat('x', 90) || E'\\x1b[0m' END,
        '{"result": {"rc": 0}}', false, false, now()
    FROM generate_series(1, 200000) AS n
"""


@pytest.fixture
def long_job(make_nodes: Callable[..., list[Node]], queue: Callable[..., Job]) -> Job:
    job = ended(queue(make_nodes(1), purpose="A very long job"))
    with connection.cursor() as cursor:
        cursor.execute(MAKE, [job.pk, job.month])
        cursor.execute("ANALYZE provisioning_jobevent")
    return job


def metrics(browser: Browser) -> dict[str, float]:
    """What the page takes: elements and kilobytes of its script's heap, after a collection."""
    browser.driver.execute_cdp_cmd("HeapProfiler.collectGarbage", {})
    browser.driver.execute_cdp_cmd("Performance.enable", {})
    found: Any = browser.driver.execute_cdp_cmd("Performance.getMetrics", {})
    told = {each["name"]: each["value"] for each in found["metrics"]}
    return {"elements": told["Nodes"], "kilobytes": told["JSHeapUsedSize"] / 1024}


def read_on(browser: Browser, *, to: str) -> None:
    """Scroll to an end of what the page holds and wait for what comes."""
    edge = "log.scrollHeight" if to == "end" else "0"
    which = "last" if to == "end" else "first"
    known = browser.run(f"return document.querySelector('.log-piece:{which}-of-type').dataset.after")
    browser.run(f"const log = document.querySelector('[data-log]'); log.scrollTop = {edge};")
    WebDriverWait(browser.driver, PATIENCE).until(
        lambda _: (
            browser.run(f"return document.querySelector('.log-piece:{which}-of-type').dataset.after") != known
        )
    )


def first_paint(browser: Browser) -> float:
    """Milliseconds from the click to the first thing to read."""
    return float(browser.run("return performance.getEntriesByName('first-contentful-paint')[0].startTime"))


def test_long_log_opens_at_once_and_the_browser_stays_small(
    browser: Browser, sign_in: Callable[[User], None], operator: User, long_job: Job
) -> None:
    sign_in(operator)
    page = f"/jobs/{long_job.ref}/"
    browser.open(page)  # the first visit also fetches styles and scripts
    browser.open(page)
    browser.wait_for("Task 0")
    WebDriverWait(browser.driver, PATIENCE).until(
        lambda _: browser.run("return performance.getEntriesByName('first-contentful-paint').length")
    )
    paint = first_paint(browser)
    assert paint < 1000

    for _ in range(8):
        read_on(browser, to="end")
    early = metrics(browser)
    for _ in range(25):
        read_on(browser, to="end")
    late = metrics(browser)
    assert browser.run("return document.querySelectorAll('.log-line').length") <= 6 * 300
    assert late["elements"] < early["elements"] * 1.3
    assert late["kilobytes"] < early["kilobytes"] * 1.3 + 1000

    browser.run("document.querySelectorAll('details.log-task').forEach((task) => { task.open = true; })")
    read_on(browser, to="start")
    assert browser.run("return document.querySelectorAll('.log-piece').length") <= 6

    begun = time.monotonic()
    browser.open(f"{page}?at={FAILS_AT}#e{FAILS_AT}")
    browser.wait_for(f"line {FAILS_AT} ")
    failure = time.monotonic() - begun
    begun = time.monotonic()
    browser.open(f"{page}?end=1")
    browser.wait_for(f"line {EVENTS} ")
    end = time.monotonic() - begun
    begun = time.monotonic()
    browser.open(f"{page}?q=line+199999+")
    browser.wait_for("line 199999 ")
    search = time.monotonic() - begun
    assert max(failure, end) < 5
    assert browser.complaints() == []
    print(  # noqa: T201 - the figures are what the test is for
        f"\n200,000 events: first paint {paint:.0f} ms, first failure {failure:.2f} s, end {end:.2f} s, search {search:.2f} s, "
        f"{late['elements']:.0f} elements, {late['kilobytes'] / 1024:.1f} MB of heap after 33 pieces (8 pieces: "
        f"{early['elements']:.0f}, {early['kilobytes'] / 1024:.1f} MB)"
    )


def test_failure_is_found_by_its_button_and_both_ways_lead_on(
    browser: Browser, sign_in: Callable[[User], None], operator: User, long_job: Job
) -> None:
    sign_in(operator)
    browser.open(f"/jobs/{long_job.ref}/?at={FAILS_AT}#e{FAILS_AT}")
    browser.wait_for(f"line {FAILS_AT} ")
    read_on(browser, to="start")
    read_on(browser, to="end")
    assert browser.run(f"return !!document.getElementById('e{FAILS_AT}')")


def test_further_lines_come_as_far_as_the_reader_reads_and_no_further(
    browser: Browser, sign_in: Callable[[User], None], operator: User, long_job: Job
) -> None:
    sign_in(operator)
    browser.open(f"/jobs/{long_job.ref}/?at={FAILS_AT}#e{FAILS_AT}")
    browser.wait_for(f"line {FAILS_AT} ")
    read_on(browser, to="end")
    time.sleep(0.5)
    assert browser.run("return document.querySelectorAll('.log-piece').length") == 2
