"""Can everything be done with the keys alone, and does the focus always show?"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from selenium.webdriver.common.keys import Keys

from portal.accounts.models import Team, User
from portal.accounts.services import issue_token
from tests.browser.chromium import NARROW, Browser
from tests.builders import a_catalogue, a_cluster_ask, a_quota, some_nodes

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

MOST_STOPS = 150
# What the focus is on: where it is in the page, whether it can be seen there, and whether that shows.
STOP = """
const e = document.activeElement;
if (!e || e === document.body) return null;
window.stops ??= new Map();
if (!window.stops.has(e)) window.stops.set(e, window.stops.size);
const style = getComputedStyle(e);
const shows = (s) => (s.outlineStyle !== "none" && parseFloat(s.outlineWidth) >= 2);
const card = e.closest(".card-link");
const box = e.getBoundingClientRect();
return {
  number: window.stops.get(e),
  name: `${e.tagName} ${(e.textContent || e.value || e.name || "").trim().slice(0, 30)}`,
  shows: shows(style) || (card !== null && shows(getComputedStyle(card))),
  inside: box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth,
};
"""
REACHABLE = """
const wanted = "a[href], button:not([disabled]), input:not([type=hidden]):not([disabled]), select, textarea, summary, [tabindex='0']";
const radios = new Set();
return [...document.querySelectorAll(wanted)].filter((e) => {
  if (!e.checkVisibility({ visibilityProperty: true }) || e.tabIndex < 0) return false;
  if (e.type !== "radio") return true;
  if (radios.has(e.name)) return false;
  return radios.add(e.name);
}).length;
"""


def walk(browser: Browser) -> list[dict[str, object]]:
    """Every stop of the Tab key, from the top of the page to where it begins again."""
    stops: list[dict[str, object]] = []
    for _ in range(MOST_STOPS):
        browser.press(Keys.TAB)
        stop = browser.run(STOP)
        if stop is not None and stop["number"] == len(stops) - 1:
            continue  # a date has several stops of its own
        if stop is None or stop["number"] < len(stops):
            return stops
        stops.append(stop)
    pytest.fail(f"{MOST_STOPS} stops and no end: {stops[-1]['name']}")


@pytest.fixture
def ticket_page(team: Team, member: User) -> str:
    some_nodes(4)
    a_catalogue()
    a_quota(team)
    return f"/tickets/{a_cluster_ask(team, member).ref}/"


@pytest.mark.parametrize(
    ("who", "page"),
    [
        ("member", "/catalogue/"),
        ("member", "/catalogue/gpu-cluster/"),
        ("member", "ticket"),
        ("triager", "ticket"),
        ("triager", "/desk/"),
        ("operator", "/nodes/?view=map"),
        ("admin_user", "/looks/"),
    ],
)
def test_tab_reaches_everything_and_the_focus_shows(
    browser: Browser,
    sign_in: Callable[[User], None],
    request: pytest.FixtureRequest,
    ticket_page: str,
    who: str,
    page: str,
) -> None:
    sign_in(request.getfixturevalue(who))
    browser.open(ticket_page if page == "ticket" else page)
    browser.settle()
    stops = walk(browser)
    assert stops[0]["name"] == "A Skip to the content"
    assert [stop["name"] for stop in stops if not stop["shows"]] == []
    assert [stop["name"] for stop in stops if not stop["inside"]] == []
    assert len(stops) >= browser.run(REACHABLE)


def test_skip_link_leads_past_the_rail(
    browser: Browser, sign_in: Callable[[User], None], member: User
) -> None:
    sign_in(member)
    browser.open("/account/")
    browser.press(Keys.TAB)
    browser.press(Keys.ENTER)
    assert browser.run("return document.activeElement.id") == "main"
    browser.press(Keys.TAB)
    assert browser.run("return document.activeElement.closest('main') !== null")


def test_menu_of_small_screens_opens_and_closes_by_keys(
    browser: Browser, sign_in: Callable[[User], None], member: User
) -> None:
    sign_in(member)
    browser.screen(NARROW, dark=False)
    browser.open("/account/")
    is_open = "return document.getElementById('rail').matches(':popover-open')"
    browser.run("document.querySelector('.topbar [popovertarget]').focus()")
    browser.press(Keys.ENTER)
    assert browser.run(is_open)
    browser.press(Keys.TAB)
    assert browser.run("return document.activeElement.closest('#rail') !== null")
    browser.picture(Path(__file__).resolve().parents[2] / "var" / "screenshots" / f"menu-{NARROW}-light.png")
    browser.press(Keys.ESCAPE)
    assert not browser.run(is_open)


def test_what_can_not_be_undone_is_asked_first(
    browser: Browser, sign_in: Callable[[User], None], member: User
) -> None:
    token, _ = issue_token(name="launcher", scopes=["requests:read"], by=member)
    sign_in(member)
    browser.open("/account/tokens/")
    browser.find("form[data-confirm] button").send_keys(Keys.ENTER)
    dialog = browser.find("#confirm")
    assert "launcher" in dialog.text
    assert browser.run("return document.activeElement.value") == "no"
    browser.press(Keys.ENTER)
    token.refresh_from_db()
    assert token.revoked_at is None
    browser.find("form[data-confirm] button").send_keys(Keys.ENTER)
    browser.press(Keys.TAB)
    browser.press(Keys.ENTER)
    browser.wait_for("The token is revoked.")
    token.refresh_from_db()
    assert token.revoked_at is not None


def test_new_token_gets_the_focus_and_can_be_copied(
    browser: Browser, sign_in: Callable[[User], None], member: User
) -> None:
    sign_in(member)
    browser.open("/account/tokens/")
    browser.find("#id_name").send_keys("launcher", Keys.ENTER)
    browser.wait_for("Your new token")
    assert "Your new token" in browser.run("return document.activeElement.innerText")
    assert browser.find("[data-copy]").is_displayed()
    assert browser.complaints() == []


def test_slash_leads_to_the_search(
    browser: Browser, sign_in: Callable[[User], None], member: User, ticket_page: str
) -> None:
    sign_in(member)
    browser.open("/catalogue/")
    browser.press("/")
    assert browser.run("return document.activeElement.type") == "search"
    browser.press("/")
    assert browser.run("return document.activeElement.value") == "/"


def test_chosen_theme_stays_and_wins_over_the_system(
    browser: Browser, sign_in: Callable[[User], None], member: User
) -> None:
    sign_in(member)
    browser.screen(1440, dark=True)
    browser.open("/account/")
    browser.find(".theme [value=light]").send_keys(Keys.ENTER)
    browser.find(".theme [value=light][aria-pressed=true]")
    scheme = "return getComputedStyle(document.documentElement).colorScheme"
    assert browser.run(scheme) == "light"
    assert browser.run("return location.pathname") == "/account/"
    browser.open("/teams/")
    assert browser.run(scheme) == "light"


def test_wrong_answers_get_the_focus(browser: Browser, sign_in: Callable[[User], None], member: User) -> None:
    sign_in(member)
    browser.open("/account/")
    browser.find("#id_ssh_public_keys").send_keys("hello")
    browser.find("main form .button-primary").send_keys(Keys.ENTER)
    browser.wait_for("Some answers need another look.")
    assert "form-errors" in browser.run("return document.activeElement.className")
    assert browser.find("#id_ssh_public_keys").get_attribute("aria-invalid") == "true"


@pytest.mark.parametrize(
    "page", ["", "portal/user/", "portal/user/add/", "portal/team/add/", "portal/event/"]
)
def test_admin_site_runs_under_the_policy(
    browser: Browser, sign_in: Callable[[User], None], admin_user: User, page: str
) -> None:
    sign_in(admin_user)
    browser.open(f"/admin/{page}")
    assert browser.complaints() == []
    assert browser.strangers() == []
