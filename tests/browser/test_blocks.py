"""A person says in ten seconds that the team is blocked, another confirms by one click, and both read why their place moved."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from portal.accounts.models import Team, User
from portal.ledger.dispatch import deliver_all
from requests_app.blocks.models import BlockInterval, BlockPerson
from requests_app.blocks.services import confirm_person, open_block
from requests_app.tickets.models import Ticket
from tests.browser.chromium import NARROW, WIDE, Browser
from tests.browser.test_requests import sound
from tests.builders import a_catalogue, a_cluster_ask, a_quota, some_nodes
from tests.requests_app.blocks.conftest import a_claim

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def ticket(browser: Browser, team: Team, member: User, lead: User) -> Ticket:
    a_catalogue()
    some_nodes(2)
    a_quota(team)
    made = a_cluster_ask(team, member)
    deliver_all()
    return made


def test_team_is_blocked_in_ten_seconds_and_a_colleague_confirms_by_one_click(
    browser: Browser, sign_in: Callable[[User], None], ticket: Ticket, member: User, lead: User
) -> None:
    sign_in(member)
    browser.open(f"/tickets/{ticket.ref}/")
    began = time.monotonic()
    browser.find("#blocks a.button").click()
    browser.wait_for("What stops you?")
    assert browser.run("return document.activeElement.name") == "what"
    browser.run("document.activeElement.value = 'The share is gone.'")
    browser.find('[name="idle_gpus"]').clear()
    browser.find('[name="idle_gpus"]').send_keys("64")
    browser.find("#more-facts summary").click()
    browser.find('[name="who"][value="lead"]').click()
    browser.find("main form .button-primary").click()
    browser.wait_for("GPU-hours lost")
    assert time.monotonic() - began < 10
    sound(browser)

    browser.forget()
    sign_in(lead)
    deliver_all()
    browser.open(f"/tickets/{ticket.ref}/")
    browser.find('#blocks button[name="answer"][value="yes"]').click()
    browser.wait_for("Your word counts more")
    assert BlockPerson.objects.get(confirmed_at__isnull=False).user == lead
    assert "What is lost" in browser.text()
    sound(browser)


def test_hours_lost_grow_while_one_watches_and_end_by_one_click(
    browser: Browser, sign_in: Callable[[User], None], ticket: Ticket, member: User, lead: User
) -> None:
    open_block(ticket=ticket, claim=a_claim(idle_gpus=20_000), by=member)
    sign_in(member)
    browser.open(f"/tickets/{ticket.ref}/")
    before = browser.find("#blocks .stats dd").text
    confirm_person(ticket=ticket, by=lead)
    browser.wait_for("says: I can't work")
    assert browser.find("#blocks .stats dd").text != before
    browser.run(
        "[...document.querySelectorAll('#live button')].find(b => b.textContent === 'We can work again').click()"
    )
    browser.wait_for("The clock of your block has stopped.")
    assert BlockInterval.objects.get().end_source == "confirmed"
    sound(browser)


@pytest.mark.parametrize("width", [WIDE, NARROW])
@pytest.mark.parametrize("dark", [False, True])
def test_pages_of_blocks_and_ranks_fit_the_screen(
    browser: Browser,
    sign_in: Callable[[User], None],
    ticket: Ticket,
    member: User,
    admin_user: User,
    tmp_path: Path,
    width: int,
    dark: bool,
) -> None:
    open_block(ticket=ticket, claim=a_claim(who=["lead"]), by=member)
    deliver_all()
    browser.screen(width, dark=dark)
    sign_in(member)
    for name, address in (
        ("ticket", f"/tickets/{ticket.ref}/"),
        ("blocked", f"/tickets/{ticket.ref}/blocked/"),
        ("owed", f"/tickets/{ticket.ref}/owed/"),
        ("rank", f"/tickets/{ticket.ref}/rank/"),
        ("vouching", "/owed/"),
    ):
        browser.open(address)
        browser.picture(tmp_path / f"{name}-{width}-{dark}.png")
        sound(browser)
    browser.forget()
    sign_in(admin_user)
    for name, address in (("desk-ticket", f"/tickets/{ticket.ref}/"), ("policy", "/desk/policy/")):
        browser.open(address)
        browser.picture(tmp_path / f"{name}-{width}-{dark}.png")
        sound(browser)
