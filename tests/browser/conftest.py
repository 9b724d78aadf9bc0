"""A live portal and a real browser in front of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from django.conf import settings
from django.test import Client
from pytest_django.live_server_helper import LiveServer

from portal.accounts.models import User
from tests.browser import chromium
from tests.browser.visits import Visits
from tests.needs import need


@pytest.fixture(scope="session")
def _chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[chromium.Browser]:
    if chromium.found() is None:
        need("browser", "no Chromium with chromedriver on this machine")
    with chromium.started(tmp_path_factory.mktemp("chromium")) as browser:
        yield browser


@pytest.fixture
def browser(
    _chromium: chromium.Browser, live_server: LiveServer, transactional_db: None
) -> Iterator[chromium.Browser]:
    """Chromium in front of the live portal, signed out, 1440 wide, light.

    A page that looks again by itself would go on asking after its test, without the test's database: it is left,
    and what it had asked for is waited for, before that goes.
    """
    _chromium.address = live_server.url
    _chromium.forget()
    _chromium.screen(chromium.WIDE, dark=False)
    with Visits() as visits:
        yield _chromium
        _chromium.leave()
        visits.wait_until_over(chromium.PATIENCE)


@pytest.fixture
def sign_in(browser: chromium.Browser) -> Callable[[User], None]:
    """Give the browser a session of this person."""

    def as_person(user: User) -> None:
        client = Client()
        client.force_login(user)
        browser.cookie(settings.SESSION_COOKIE_NAME, client.cookies[settings.SESSION_COOKIE_NAME].value)

    return as_person
