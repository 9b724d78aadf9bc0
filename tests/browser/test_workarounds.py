"""Scenario 2 by hand: a far-from-focus ask gets a workaround, its project, and can't be closed around it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from portal.accounts.models import Team, User
from portal.kernel.clock import now
from portal.ledger.dispatch import deliver_all
from requests_app.tickets.models import Ticket
from requests_app.triage.services import approve_ticket, deliver_ticket
from requests_app.workarounds.expiry import sweep
from requests_app.workarounds.models import Workaround
from requests_app.workarounds.projects import Replacement
from requests_app.workarounds.replacing import move_replacement
from requests_app.workarounds.services import mark_applied
from tests.browser.chromium import NARROW, WIDE, Browser
from tests.browser.test_requests import shown, sound
from tests.builders import a_catalogue, a_quota, some_nodes
from tests.personas import a_user
from tests.requests_app.workarounds.builders import a_workaround, far_ticket

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
FORM = "#give-workaround form "


@pytest.fixture
def ask(team: Team, member: User) -> Ticket:
    a_catalogue()
    some_nodes(4)
    a_quota(team)
    return far_ticket(team, member)


def fill(browser: Browser, **answers: object) -> None:
    for name, value in answers.items():
        field = browser.find(f'{FORM}[name="{name}"]')
        field.clear()
        field.send_keys(str(value))


def give(browser: Browser, ask: Ticket) -> None:
    browser.open(f"/tickets/{ask.ref}/")
    browser.find("#give-workaround > summary").click()
    browser.find(f'{FORM}[name="steps"]')
    browser.settle()
    assert shown(browser, f'{FORM}[name="steps"]')
    assert not shown(browser, f'{FORM}[name="gpus"]')
    browser.find(f'{FORM}[name="kind"][value="quota"]').click()
    assert shown(browser, f'{FORM}[name="gpus"]')
    assert not shown(browser, f'{FORM}[name="steps"]')
    fill(
        browser,
        summary="16 GPUs more until the share is back",
        sku="h100-sxm5-80g",
        gpus=16,
        days=14,
        closure_test="A job reads 1 TB in an hour",
    )
    browser.find(f"{FORM}button").click()
    browser.wait_for("is given until")


def test_far_ask_gets_a_workaround_with_a_project_and_is_not_closed_around_it(
    browser: Browser, sign_in: Callable[[User], None], ask: Ticket, member: User, triager: User
) -> None:
    sign_in(triager)
    give(browser, ask)
    row = Workaround.objects.get()
    project = row.replacement
    assert project is not None
    browser.wait_for("16 GPUs more until the share is back")
    browser.find(f'#{row.ref} a[href="/debt/{project.ref}/"]').click()
    browser.wait_for("Milestones")
    browser.find('[aria-label^="Done: The need"]').click()
    browser.wait_for("Done: The need is understood")
    browser.open("/debt/")
    browser.wait_for("What we owe")
    sound(browser)
    project = Replacement.objects.get()
    move_replacement(
        replacement=project, version=project.version, action="drop", reason="Nobody has time.", by=triager
    )
    ask.refresh_from_db()
    done = approve_ticket(ticket=ask, version=ask.version, by=triager)
    deliver_ticket(ticket=done, version=done.version, note="Use the lent GPUs.", by=triager)
    sign_in(member)
    browser.open(f"/tickets/{ask.ref}/")
    browser.find(f'form[action^="/tickets/{ask.ref}/close"] button').click()
    browser.wait_for("works by a workaround")
    ask.refresh_from_db()
    assert ask.status == "ready"


def test_due_date_passes_and_the_ticket_climbs(
    browser: Browser, sign_in: Callable[[User], None], ask: Ticket, triager: User
) -> None:
    row = a_workaround(ask, triager, days=60)
    mark_applied(workaround=row, version=row.version, by=triager)
    deliver_all()
    ask.refresh_from_db()
    before = ask.rank_key
    assert before is not None
    Replacement.objects.update(target_on=now().date() - timedelta(days=1))
    sweep()
    ask.refresh_from_db()
    assert ask.rank_key is not None
    assert before - ask.rank_key == pytest.approx(11_880, abs=2)
    sign_in(triager)
    browser.open(f"/tickets/{ask.ref}/")
    browser.wait_for("week 1 late")


@pytest.mark.parametrize(("width", "dark"), [(NARROW, False), (NARROW, True), (WIDE, True)])
def test_pages_of_the_debt_fit_every_screen(
    browser: Browser, sign_in: Callable[[User], None], ask: Ticket, triager: User, width: int, dark: bool
) -> None:
    other = far_ticket(ask.team, a_user("second", team=ask.team))
    for each in (ask, other):
        a_workaround(each, triager)
    Replacement.objects.update(target_on=now().date() - timedelta(days=8))
    Workaround.objects.filter(ticket=other).update(replacement=None)
    sign_in(triager)
    browser.screen(width, dark=dark)
    for path in (
        "/debt/",
        f"/debt/{Replacement.objects.get().ref}/",
        f"/tickets/{ask.ref}/",
        f"/tickets/{other.ref}/workarounds/",
    ):
        browser.open(path)
        browser.settle()
        sound(browser)
