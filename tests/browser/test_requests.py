"""A person asks for something in a real browser: conditional questions, drafts, one ticket, a page that follows it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.support.ui import Select

from portal.accounts.models import Team, User
from requests_app.tickets.models import Draft, Ticket
from requests_app.tickets.services import comment
from requests_app.triage.services import take_ticket
from tests.browser.chromium import NARROW, WIDE, Browser
from tests.builders import H100, a_catalogue, a_cluster_ask, a_quota, some_nodes

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def asker(browser: Browser, sign_in: Callable[[User], None], team: Team, member: User) -> Browser:
    a_catalogue()
    some_nodes(4)
    a_quota(team)
    sign_in(member)
    return browser


def fill(browser: Browser, **answers: Any) -> None:
    for name, value in answers.items():
        browser.find(f'[name="q-{name}"]').send_keys(str(value))


def shown(browser: Browser, selector: str) -> bool:
    return bool(browser.find(selector).is_displayed())


def sound(browser: Browser, *, expected: tuple[str, ...] = ()) -> None:
    """Nothing broke the policy, came from elsewhere or sticks out."""
    assert [text for text in browser.complaints() if not any(each in text for each in expected)] == []
    assert browser.strangers() == []
    assert browser.too_wide() == []


def test_member_asks_for_a_cluster_and_loses_nothing(asker: Browser) -> None:
    asker.open("/catalogue/gpu-cluster/")
    assert shown(asker, '[name="q-lease_days"]')
    assert not shown(asker, '[name="q-driver_version"]')
    asker.find('[name="q-driver"][value="pinned"]').click()
    assert shown(asker, '[name="q-driver_version"]')
    asker.find('[name="q-driver"][value="standard"]').click()
    assert not shown(asker, '[name="q-driver_version"]')
    asker.find('[name="q-lease"][value="open"]').click()
    assert not shown(asker, '[name="q-lease_days"]')

    fill(asker, purpose="Training.", nodes=2, cluster_name="train")
    Select(asker.find('[name="q-sku"]')).select_by_value(H100)
    asker.wait_for("This asks for 16.")
    asker.wait_for("Draft kept")
    assert Draft.objects.count() == 1

    asker.open("/catalogue/gpu-cluster/")
    assert asker.find('[name="q-purpose"]').get_attribute("value") == "Training."
    assert asker.find('[name="q-lease"][value="open"]').is_selected()
    assert not shown(asker, '[name="q-lease_days"]')
    asker.find("#request .button-primary").click()
    asker.wait_for("Waiting for a decision")
    assert Ticket.objects.get().answers["nodes"] == 2
    assert not Draft.objects.exists()
    sound(asker)


def test_errors_are_said_beside_their_fields(asker: Browser) -> None:
    asker.open("/catalogue/unblock/")
    asker.find('[name="blocked-is_blocked"]').click()
    asker.find("#request .button-primary").click()
    asker.wait_for("Some answers need another look.")
    assert "This is needed." in asker.text()
    assert shown(asker, '[name="blocked-since"]')
    sound(asker, expected=("422",))


def test_search_narrows_the_shelves_as_one_types(asker: Browser) -> None:
    asker.open("/catalogue/")
    asker.find("#search").send_keys("runner")
    asker.find("#shelves section:only-child")
    assert "CI runner pool" in asker.text()
    assert "GPU cluster" not in asker.text()
    sound(asker)


def test_page_follows_the_ticket_and_keeps_what_is_half_typed(
    asker: Browser, team: Team, member: User, triager: User
) -> None:
    ticket = a_cluster_ask(team, member)
    asker.open(f"/tickets/{ticket.ref}/")
    asker.find("#comment-text").send_keys("A first word.")
    asker.find("#comment-box .button").click()
    asker.wait_for("Your comment is there.")
    assert asker.find("#comment-text").get_attribute("value") == ""

    summary = asker.find("#side summary")
    asker.run("arguments[0].scrollIntoView({block: 'center'})", summary)
    summary.click()
    asker.find("#withdraw-text").send_keys("half a though")
    taken = take_ticket(ticket=ticket, version=ticket.version, by=triager)
    comment(ticket=taken, body="We are on it.", by=triager)
    asker.wait_for("We are on it.")
    asker.wait_for("This request has changed.")
    assert asker.find("#withdraw-text").get_attribute("value") == "half a though"
    sound(asker)


@pytest.mark.parametrize("width", [WIDE, NARROW])
@pytest.mark.parametrize("dark", [False, True])
def test_pages_fit_the_screen(
    asker: Browser, team: Team, member: User, tmp_path: Path, width: int, dark: bool
) -> None:
    ticket = a_cluster_ask(team, member)
    asker.screen(width, dark=dark)
    for name, path in {
        "catalogue": "/catalogue/",
        "form": "/catalogue/gpu-cluster/",
        "tickets": "/tickets/",
        "ticket": f"/tickets/{ticket.ref}/",
        "drafts": "/tickets/drafts/",
    }.items():
        asker.open(path)
        asker.find("h1")
        asker.picture(tmp_path / f"{name}-{width}-{'dark' if dark else 'light'}.png")
        sound(asker)
