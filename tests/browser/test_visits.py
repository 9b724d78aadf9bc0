"""A page that looks again by itself asks nothing of the portal once its test is over."""

from __future__ import annotations

import threading
import time

import pytest
from django.core.signals import request_finished, request_started

from tests.browser.chromium import Browser
from tests.browser.visits import Visits

LOOKING = "window.looking = setInterval(() => fetch('/', {cache: 'no-store'}), 20)"


def test_a_page_that_was_left_asks_nothing_any_more(browser: Browser) -> None:
    with Visits() as visits:
        browser.open("/account/sign-in/")
        browser.run(LOOKING)
        browser.leave()
        visits.wait_until_over(15)
        asked: list[object] = []
        request_started.connect(lambda **_: asked.append(1), weak=False, dispatch_uid="tests.visits")
        time.sleep(0.5)
        request_started.disconnect(dispatch_uid="tests.visits")
    assert asked == []


def test_what_was_asked_for_is_waited_for() -> None:
    with Visits() as visits:
        answering = threading.Thread(target=lambda: request_started.send(sender=None))
        answering.start()
        answering.join()
        with pytest.raises(TimeoutError, match="1 requests are still answered"):
            visits.wait_until_over(0.05)
        threading.Timer(0.05, lambda: request_finished.send(sender=None)).start()
        visits.wait_until_over(15)


@pytest.mark.django_db  # Django's own receivers look after the connection that an earlier test left open
def test_what_the_test_itself_asks_for_is_not_counted() -> None:
    with Visits() as visits:
        request_started.send(sender=None)
        visits.wait_until_over(0)
        request_finished.send(sender=None)
