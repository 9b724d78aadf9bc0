"""A team answers an offer of five lines in a real browser: three taken, one countered, one dropped."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from selenium.webdriver.support.ui import WebDriverWait

from portal.accounts.models import Team, User
from requests_app.negotiation.models import Offer, Promise
from requests_app.negotiation.proposals import Proposal
from requests_app.negotiation.services import propose_offer
from requests_app.quotas.services import room_for
from requests_app.tickets.models import Ticket
from tests.browser.chromium import NARROW, WIDE, Browser
from tests.builders import H100, a_catalogue, a_quota, some_nodes
from tests.requests_app.negotiation.conftest import a_project_ask, day

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def offered(team: Team, member: User, triager: User) -> Ticket:
    """Four things now, the dashboard on a day."""
    a_catalogue()
    some_nodes(8)
    a_quota(team)
    ticket = a_project_ask(team, member)
    lines = [Proposal(position=position, kind="now") for position in (1, 2, 3, 4)]
    later = Proposal(position=5, kind="later", later_on=day(12))
    propose_offer(ticket=ticket, version=ticket.version, lines=[*lines, later], by=triager)
    return ticket


def sound(browser: Browser, *, expected: tuple[str, ...] = ()) -> None:
    assert [text for text in browser.complaints() if not any(each in text for each in expected)] == []
    assert browser.strangers() == []
    assert browser.too_wide() == []


def press(browser: Browser, selector: str) -> None:
    """Scroll to it and click."""
    found = browser.find(selector)
    browser.run("arguments[0].scrollIntoView({block: 'center'})", found)
    found.click()


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_team_takes_three_counters_one_and_drops_one(
    browser: Browser,
    sign_in: Callable[[User], None],
    offered: Ticket,
    team: Team,
    member: User,
    tmp_path: Path,
    width: int,
) -> None:
    sign_in(member)
    browser.screen(width, dark=False)
    browser.open(f"/tickets/{offered.ref}/")
    browser.wait_for("Accept all")
    browser.picture(tmp_path / f"offer-{width}.png")
    sound(browser)

    press(browser, "#else-3 summary")
    browser.find("#quantity-3").send_keys("40")
    browser.find("#words-3").send_keys("Twice as much.")
    press(browser, "#else-4 summary")
    press(browser, "#drop-4")
    press(browser, 'button[value="chosen"]')
    browser.wait_for("The desk has your answer.")
    browser.wait_for("Promised")

    told = {line.position: line.verdict for line in offered.lines.all()}
    assert told == {1: "granted", 2: "granted", 3: "pending", 4: "dropped", 5: "granted"}
    offered.refresh_from_db()
    assert (offered.status, Promise.objects.get().due_on) == ("submitted", day(12))
    assert room_for(team, H100).held == 40
    assert "Waiting for a decision" in browser.text()
    browser.picture(tmp_path / f"answered-{width}.png")
    sound(browser)


def test_half_typed_answer_survives_a_new_revision_and_is_told_that_it_came_late(
    browser: Browser, sign_in: Callable[[User], None], offered: Ticket, member: User, triager: User
) -> None:
    sign_in(member)
    browser.open(f"/tickets/{offered.ref}/")
    press(browser, "#offer-words")
    browser.find("#offer-words").send_keys("Thanks a lot")
    lines = [Proposal(position=position, kind="now") for position in range(1, 6)]
    offered.refresh_from_db()
    propose_offer(ticket=offered, version=offered.version, lines=lines, by=triager)
    WebDriverWait(browser.driver, 25).until(lambda _: "This request has changed." in browser.text())
    assert browser.find("#offer-words").get_attribute("value") == "Thanks a lot"
    press(browser, 'button[value="all"]')
    browser.wait_for("Revision 2 is open now.")
    assert Offer.objects.get(revision=2).is_open
    sound(browser, expected=("409",))


def test_desk_makes_the_offer_from_its_panel(
    browser: Browser,
    sign_in: Callable[[User], None],
    team: Team,
    member: User,
    triager: User,
    tmp_path: Path,
) -> None:
    a_catalogue()
    some_nodes(8)
    a_quota(team)
    ticket = a_project_ask(team, member, more_quota=False, storage=False, data=False, dashboard=False)
    sign_in(triager)
    browser.open(f"/tickets/{ticket.ref}/")
    press(browser, "#make-offer > summary")
    browser.find("#kind-1")
    browser.settle()
    browser.run("document.querySelector('#kind-1').value = 'part'")
    browser.find("#now-1").send_keys("4")
    browser.run("document.querySelector('#offer-on-1').value = arguments[0]", day(12).isoformat())
    browser.picture(tmp_path / "panel.png")
    press(browser, "#make-offer .button-primary")
    browser.wait_for("The team has offer 1")
    each = Offer.objects.get().lines.get()
    assert (each.now_qty, each.later_qty, each.later_on) == (4, 1, day(12))
    sound(browser)
