"""A half-written comment in a real browser: nothing that happens on the page, to the page or to the network takes it away."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait

from portal.accounts.models import Team, User
from portal.kernel.clock import now
from portal.ledger.dispatch import deliver_all
from requests_app.conversation.models import CommentDraft
from requests_app.conversation.services import comment
from requests_app.tickets.models import Comment, Ticket
from tests.browser.chromium import NARROW, PATIENCE, WIDE, Browser
from tests.builders import a_catalogue, a_cluster_ask, a_quota, some_nodes

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
CARET = "return document.querySelector('#comment-text').selectionStart"


@pytest.fixture
def ticket(team: Team, member: User) -> Ticket:
    a_catalogue()
    some_nodes(4)
    a_quota(team)
    return a_cluster_ask(team, member, nodes=3)


@pytest.fixture
def page(
    browser: Browser, sign_in: Callable[[User], None], ticket: Ticket, member: User
) -> Iterator[Browser]:
    sign_in(member)
    browser.open(f"/tickets/{ticket.ref}/")
    yield browser
    offline(browser, is_off=False)
    leave(browser)


def leave(browser: Browser) -> None:
    """Nothing is kept on the server any more after the test: its tables are emptied then."""
    browser.run("sessionStorage.clear()")
    browser.driver.get("about:blank")
    time.sleep(0.3)


def text(page: Browser, name: str = "comment") -> str:
    return str(page.find(f"#{name}-text").get_attribute("value"))


def until(page: Browser, what: Callable[[], bool]) -> None:
    WebDriverWait(page.driver, PATIENCE).until(lambda _: what())


def offline(page: Browser, *, is_off: bool) -> None:
    conditions = {"offline": is_off, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
    page.driver.execute_cdp_cmd("Network.emulateNetworkConditions", conditions)


def says(page: Browser, words: str) -> None:
    until(page, lambda: words in page.find("#comment-form [data-composer-state]").text)


def test_update_of_the_page_keeps_text_focus_and_caret(page: Browser, ticket: Ticket, triager: User) -> None:
    page.find("#comment-text").send_keys("half a thought", Keys.ARROW_LEFT, Keys.ARROW_LEFT)
    caret = page.run(CARET)
    comment(ticket=ticket, body="We are on it.", by=triager)
    page.wait_for("We are on it.")
    assert text(page) == "half a thought"
    assert page.run(CARET) == caret
    assert page.run("return document.activeElement.id") == "comment-text"
    assert page.complaints() == []


def test_another_action_on_the_page_keeps_the_text(page: Browser, ticket: Ticket) -> None:
    page.find("#comment-text").send_keys("half a thought")
    page.run("document.querySelector('#withdraw-text').closest('details').open = true")
    page.run("document.querySelector('#withdraw-text').closest('form').requestSubmit()")
    page.wait_for("is withdrawn")
    assert Ticket.objects.get(pk=ticket.pk).status == "withdrawn"
    assert text(page) == "half a thought"


def test_reload_keeps_the_text_and_sending_forgets_it(page: Browser, ticket: Ticket, member: User) -> None:
    page.find("#comment-text").send_keys("half a thought")
    says(page, "Draft kept.")
    page.driver.refresh()
    until(page, lambda: text(page) == "half a thought")
    page.find("#comment-text").send_keys(" and the other half")
    page.find("#comment-form .button").click()
    page.wait_for("half a thought and the other half")
    until(page, lambda: text(page) == "")
    assert Comment.objects.get().body == "half a thought and the other half"
    page.driver.refresh()
    page.find("#comment-text")
    assert text(page) == ""
    assert not CommentDraft.objects.exists()


def test_reload_before_anything_was_kept_keeps_the_text(page: Browser) -> None:
    page.find("#comment-text").send_keys("quick")
    page.driver.refresh()
    until(page, lambda: text(page) == "quick")


def test_lost_network_keeps_the_text_and_it_is_sent_once_later(page: Browser) -> None:
    page.find("#comment-text").send_keys("Sent from a train.")
    offline(page, is_off=True)
    page.find("#comment-form .button").click()
    says(page, "Not sent")
    assert text(page) == "Sent from a train."
    assert not Comment.objects.exists()
    offline(page, is_off=False)
    until(page, lambda: Comment.objects.exists() and text(page) == "")
    assert [each.body for each in Comment.objects.all()] == ["Sent from a train."]


def test_reload_after_a_lost_network_keeps_what_was_typed_meanwhile(page: Browser) -> None:
    offline(page, is_off=True)
    page.find("#comment-text").send_keys("Typed in a tunnel.")
    says(page, "can't be reached")
    offline(page, is_off=False)
    page.driver.refresh()
    until(page, lambda: text(page) == "Typed in a tunnel.")
    until(page, lambda: CommentDraft.objects.filter(text="Typed in a tunnel.").exists())


def test_person_who_was_signed_out_loses_nothing(page: Browser) -> None:
    page.find("#comment-text").send_keys("Too slow.")
    page.driver.delete_all_cookies()
    page.find("#comment-form .button").click()
    says(page, "Not sent")
    assert text(page) == "Too slow."
    assert page.find("#live")


def test_double_click_sends_one(page: Browser) -> None:
    page.find("#comment-text").send_keys("Once.")
    page.run(
        "const b = document.querySelector('#comment-form .button'); b.click(); b.click(); b.form.requestSubmit(b)"
    )
    page.wait_for("Your comment is there.")
    page.settle()
    assert Comment.objects.count() == 1


def test_note_and_comment_do_not_mix(
    browser: Browser, sign_in: Callable[[User], None], ticket: Ticket, triager: User
) -> None:
    sign_in(triager)
    browser.open(f"/tickets/{ticket.ref}/")
    browser.find("#comment-text").send_keys("for all")
    browser.run("document.querySelector('#note-box').open = true")
    browser.find("#note-text").send_keys("for us")
    browser.find("#note-form .button").click()
    browser.wait_for("Note of the desk")
    until(browser, lambda: text(browser, "note") == "")
    assert text(browser) == "for all"
    made = Comment.objects.get()
    assert (made.body, made.internal) == ("for us", True)
    leave(browser)


def test_people_are_offered_and_taken_by_keyboard(page: Browser, lead: User) -> None:
    field = page.find("#comment-text")
    field.send_keys("Ask @le")
    page.find("[role=option]")
    assert page.find("[role=listbox]").text == "@lead"
    field.send_keys(Keys.ENTER)
    assert text(page) == "Ask @lead "
    field.send_keys("@stran")
    page.settle()
    assert page.run("return document.querySelectorAll('[role=option]').length") == 0
    assert page.complaints() == []


def test_preview_shows_markdown_beside_the_text(page: Browser) -> None:
    page.find("#comment-text").send_keys("**bold**")
    page.find("[data-preview]").click()
    until(page, lambda: page.run("return !!document.querySelector('#comment-preview strong')"))
    assert text(page) == "**bold**"
    assert page.complaints() == []


def test_middle_of_a_long_story_stays_when_the_page_updates(
    page: Browser, ticket: Ticket, member: User, triager: User
) -> None:
    Comment.objects.bulk_create(
        Comment(ticket=ticket, author=member, body=f"word {n}", at=now() - timedelta(minutes=200 - n))
        for n in range(150)
    )
    page.driver.refresh()
    page.find(".timeline-gap a").click()
    until(page, lambda: "word 30" in page.text())
    comment(ticket=ticket, body="We are on it.", by=triager)
    page.wait_for("We are on it.")
    assert "word 30" in page.text()


@pytest.mark.parametrize("width", [WIDE, NARROW])
@pytest.mark.parametrize("dark", [False, True])
def test_pages_fit_the_screen(
    browser: Browser,
    sign_in: Callable[[User], None],
    ticket: Ticket,
    member: User,
    lead: User,
    admin_user: User,
    width: int,
    dark: bool,
) -> None:
    body = (
        "# Plan\n\n| node | speed |\n|---|---|\n| gpu-001 | 0.98 |\n\n```\n"
        + "x" * 200
        + "\n```\n@member see T-1"
    )
    made = comment(ticket=ticket, body=body, by=lead)
    deliver_all()
    pictures = Path(__file__).resolve().parents[2] / "var" / "screenshots"
    for person, pages in {
        member: {
            "talk-ticket": f"/tickets/{ticket.ref}/",
            "inbox": "/inbox/",
            "choices": "/account/notifications/",
            "wordings": f"/tickets/{ticket.ref}/comments/{made.pk}/history",
        },
        admin_user: {"mail-room": "/mail-room/", "team-chat": "/teams/vision/chat/"},
    }.items():
        sign_in(person)
        browser.screen(width, dark=dark)
        for name, path in pages.items():
            browser.open(path)
            browser.find("h1")
            browser.picture(pictures / f"{name}-{width}-{'dark' if dark else 'light'}.png")
            assert browser.complaints() == [], name
            assert browser.strangers() == [], name
            assert browser.too_wide() == [], name
