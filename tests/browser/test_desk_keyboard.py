"""A morning at the desk without a mouse: twenty requests get their verdict by keys alone, and the inbox is empty."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from selenium import webdriver
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait

from portal.accounts.models import Team, User
from portal.ledger.dispatch import deliver_all
from portal.ledger.models import Event
from requests_app.negotiation.models import Offer
from requests_app.search.services import index_missing
from requests_app.tickets.models import Ticket
from requests_app.triage.models import Snooze
from tests.browser.chromium import PATIENCE, Browser
from tests.builders import a_catalogue, a_cluster_ask, a_quota, some_nodes
from tests.personas import a_user
from tests.requests_app.triage.desk_builders import an_ask, many_asks

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

SUBJECTS = (
    *("The registry is slow", "Login node times out", "Checkpoints fail to write", "Dashboards are empty"),
    *(
        "Shared folder has vanished",
        "Shared folder has vanished again",
        "Time sync drifts",
        "Need a visitor account",
    ),
    *("Image builds are stuck", "Runner pool is offline", "Quota looks wrong", "Data set is locked"),
    *("Fans are loud", "Kernel is too old", "Tokens expire too early", "Notebook server is gone"),
    *("Tunnel drops at night", "Metrics stop at noon", "Loader stalls", "Scheduler forgets jobs"),
)


@pytest.fixture
def second(db: None) -> User:
    return a_user("second", staff_role="triager")


@pytest.fixture
def asks(team: Team, member: User, second: User) -> list[Ticket]:
    """Twenty requests that people fulfil by hand, in the order of the list."""
    some_nodes(8)
    a_catalogue()
    a_quota(team)
    rows = many_asks(len(SUBJECTS), team, member)
    for row, subject in zip(rows, SUBJECTS, strict=True):
        row.title, row.answers = subject, {"headline": subject}
    Ticket.objects.bulk_update(rows, ["title", "answers"])
    index_missing()
    return rows


@pytest.fixture
def desk(browser: Browser, sign_in: Callable[[User], None], triager: User, asks: list[Ticket]) -> Browser:
    sign_in(triager)
    browser.open("/desk/")
    browser.settle()
    return browser


def cursor(desk: Browser) -> str:
    return str(desk.run("return document.querySelector('[data-row][aria-current]')?.dataset.row ?? ''"))


def until(desk: Browser, script: str) -> None:
    WebDriverWait(desk.driver, PATIENCE).until(lambda _: desk.run(f"return {script}"))
    desk.settle()


def gone(desk: Browser, ticket: Ticket) -> None:
    """The list has let go of it, and the next one is under the cursor with the focus on it."""
    until(desk, f"!document.querySelector('[data-row=\"{ticket.ref}\"]')")


def keys(desk: Browser, *pressed: str) -> None:
    for key in pressed:
        desk.press(key)


def accept(desk: Browser) -> None:
    keys(desk, "1")


def duplicate(desk: Browser) -> None:
    keys(desk, "2", "1", Keys.ENTER)


def decline(desk: Browser) -> None:
    keys(desk, "3", "3", Keys.ENTER)


def snooze(desk: Browser) -> None:
    keys(desk, "h", "4")


def assign(desk: Browser) -> None:
    keys(desk, "s", "1", Keys.ENTER)


def ask(desk: Browser) -> None:
    keys(desk, "q", "Since when?")
    webdriver.ActionChains(desk.driver).key_down(Keys.CONTROL).send_keys(Keys.ENTER).key_up(
        Keys.CONTROL
    ).perform()


MORNING: tuple[Callable[[Browser], None], ...] = (
    *(accept, decline, snooze, assign, accept, duplicate, ask, decline, snooze, accept),
    *(assign, accept, decline, ask, snooze, accept, decline, assign, accept, snooze),
)


def test_twenty_requests_are_triaged_by_keys_alone(
    desk: Browser, asks: list[Ticket], triager: User, second: User
) -> None:
    assert cursor(desk) == asks[0].ref
    keys(desk, "j", "j", Keys.ARROW_UP)
    until(desk, f"document.querySelector('#pane').dataset.ref === '{asks[1].ref}'")
    keys(desk, "k")
    until(desk, f"document.querySelector('#pane').dataset.ref === '{asks[0].ref}'")

    decline(desk)
    gone(desk, asks[0])
    assert cursor(desk) == asks[1].ref
    keys(desk, "u")
    until(desk, f"document.querySelector('#pane').dataset.ref === '{asks[0].ref}'")
    assert Ticket.objects.get(pk=asks[0].pk).status == "submitted"

    for row, verdict in zip(asks, MORNING, strict=True):
        assert cursor(desk) == row.ref
        verdict(desk)
        gone(desk, row)
    assert "The inbox is empty" in desk.text()
    assert desk.complaints() == []

    assert ended(asks, accept) == {("approved", "triager")}
    assert ended(asks, decline) == {("declined", "triager")}
    assert ended(asks, assign) == {("submitted", "second")}
    assert ended(asks, ask) == {("waiting", "triager")}
    assert ended(asks, duplicate) == {("merged", None)}
    assert Ticket.objects.get(pk=asks[5].pk).merged_into_id == asks[4].pk
    assert ended(asks, snooze) == {("submitted", None)}
    assert Snooze.objects.filter(by=triager, ended_at=None, wake="activity").count() == 4
    assert {row.question for row in Ticket.objects.filter(status="waiting")} == {"Since when?"}
    assert {row.reason_code for row in Ticket.objects.filter(status="declined")} == {"focus"}
    assert Event.objects.filter(name="ticket.undone", actor=triager).count() == 1
    assert Event.objects.filter(name="ticket.declined", actor=triager).count() == 5


def ended(asks: list[Ticket], verdict: Callable[[Browser], None]) -> set[tuple[str, str | None]]:
    numbers = [row.pk for row, done in zip(asks, MORNING, strict=True) if done is verdict]
    return set(Ticket.objects.filter(pk__in=numbers).values_list("status", "assignee__username"))


def test_an_order_is_asked_about_before_it_is_placed(
    desk: Browser, team: Team, member: User, asks: list[Ticket]
) -> None:
    cluster = a_cluster_ask(team, member)
    deliver_all()
    desk.open(f"/desk/?open={cluster.ref}")
    desk.settle()
    keys(desk, "1")
    assert desk.run("return document.activeElement.textContent.trim()") == "Accept"
    assert Ticket.objects.get(pk=cluster.pk).status == "submitted"
    keys(desk, Keys.ENTER)
    desk.wait_for("it can be cancelled")
    assert Ticket.objects.get(pk=cluster.pk).status == "provisioning"


def test_an_offer_is_typed_at_the_desk_and_sent_by_keys(
    desk: Browser, team: Team, member: User, asks: list[Ticket]
) -> None:
    cluster = a_cluster_ask(team, member)
    deliver_all()
    desk.open(f"/desk/?open={cluster.ref}")
    desk.settle()
    keys(desk, "o")
    until(desk, "document.activeElement?.id === 'kind-1'")  # its form came, and the focus went there
    keys(desk, "les", Keys.TAB, "3", Keys.TAB, "1")
    desk.run("document.querySelector('#offer-on-1').value = '2099-01-05'")
    webdriver.ActionChains(desk.driver).key_down(Keys.CONTROL).send_keys(Keys.ENTER).key_up(
        Keys.CONTROL
    ).perform()
    gone(desk, cluster)
    assert Ticket.objects.get(pk=cluster.pk).status == "offered"
    line = Offer.objects.get().lines.get()
    assert (line.kind, line.now_qty, line.later_qty) == ("part", 3, 1)
    assert cursor(desk) == asks[-1].ref  # it was the last of the list
    assert desk.complaints() == []


def test_what_is_new_comes_when_it_is_asked_for_and_the_cursor_stays(
    desk: Browser, team: Team, member: User, asks: list[Ticket]
) -> None:
    keys(desk, "j")
    until(desk, f"document.querySelector('#pane').dataset.ref === '{asks[1].ref}'")
    urgent = an_ask(team, member, "Everything burns")
    Ticket.objects.filter(pk=urgent.pk).update(rank_key=-1)
    desk.run("htmx.trigger('.desk-fresh', 'look')")
    desk.wait_for("1 new: show it")
    assert urgent.ref not in desk.run("return document.querySelector('.desk-rows').innerText")
    assert cursor(desk) == asks[1].ref
    keys(desk, "r")
    until(desk, f"document.querySelector('[data-row=\"{urgent.ref}\"]')")
    assert cursor(desk) == asks[1].ref
    assert desk.complaints() == []


def test_what_is_typed_is_never_a_verb_and_is_not_lost(desk: Browser, asks: list[Ticket]) -> None:
    keys(desk, "q", "1 3 x: which node?")
    assert Ticket.objects.filter(status="submitted").count() == len(asks)
    desk.open(f"/desk/?open={asks[0].ref}")
    desk.settle()
    keys(desk, "q")
    assert desk.run("return document.activeElement.value") == "1 3 x: which node?"
    keys(desk, Keys.ESCAPE)
    assert desk.run("return document.querySelector('.verb[open]')") is None
    keys(desk, "n")
    desk.wait_for("is yours")


def test_single_keys_can_be_switched_off(
    desk: Browser, asks: list[Ticket], triager: User, sign_in: Callable[[User], None]
) -> None:
    keys(desk, "?")
    assert desk.find("#desk-keys").is_displayed()
    desk.find("#desk-keys form button").send_keys(Keys.ENTER)
    desk.wait_for("Single keys are off.")
    keys(desk, "1", "j", "n", "/")
    desk.settle()
    assert cursor(desk) == asks[0].ref
    assert not Ticket.objects.filter(assignee__isnull=False).exists()
    assert desk.find(".verb-accept").is_displayed()


def test_palette_finds_and_goes(desk: Browser, asks: list[Ticket]) -> None:
    webdriver.ActionChains(desk.driver).key_down(Keys.CONTROL).send_keys("k").key_up(Keys.CONTROL).perform()
    keys(desk, "kernel")
    until(
        desk,
        "document.querySelector('#palette [data-hit][aria-selected=true]')?.textContent.includes('Kernel')",
    )
    keys(desk, Keys.ENTER)
    until(desk, f"location.pathname === '/tickets/{asks[13].ref}/'")
