"""Twelve pages for everybody: what axe-core finds, what longer words do to them, and what is left at twice the size."""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from portal.accounts.models import Team, User
from portal.ledger.dispatch import deliver_all
from requests_app.clocks.changes import save_calendar
from requests_app.outcome.services import say_outcome
from tests.browser.chromium import NARROW, WIDE, Browser
from tests.browser.scene import Scene, build

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

AXE = (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
LONGER = (Path(__file__).parent / "layout.js").read_text(encoding="utf-8")
PICTURES = Path(__file__).resolve().parents[2] / "var" / "screenshots"
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
LOOK = """
const done = arguments[arguments.length - 1];
axe.run(document, arguments[0]).then(
  (found) => done(found.violations.map((each) => `${each.id} (${each.impact}): ${each.help}; `
    + each.nodes.slice(0, 3).map((node) => node.target.join(" ") + " " + node.html.slice(0, 120)).join(" | "))),
  (problem) => done([String(problem)]));
"""


@pytest.fixture
def scene(team: Team, member: User, lead: User, triager: User, admin_user: User) -> Scene:
    made = build(team=team, member=member, lead=lead, triager=triager)
    hours: dict[str, Any] = {"days": [0, 1, 2], "opens": "09:00", "closes": "17:00", "holidays": []}
    save_calendar(
        slug="", version=0, by=admin_user, name="Auckland", zone="Pacific/Auckland", teams=["vision"], **hours
    )
    say_outcome(ticket=made.ready, satisfaction=4, effort=5, words="Quick.", by=member)
    deliver_all()
    return made


def twelve(scene: Scene) -> list[tuple[str, str, str]]:
    """Who looks at what: the pages that a request passes through."""
    return [
        ("member", "catalogue", "/catalogue/"),
        ("member", "form", "/catalogue/gpu-cluster/"),
        ("member", "requests", "/tickets/"),
        ("member", "ticket-ready", f"/tickets/{scene.ready.ref}/"),
        ("member", "ticket-waiting", f"/tickets/{scene.waiting.ref}/"),
        ("member", "cluster", f"/clusters/{scene.cluster.ref}/"),
        ("member", "quotas", "/quotas/"),
        ("member", "search", "/search/?q=cluster"),
        ("triager", "desk", "/desk/"),
        ("triager", "ticket-to-decide", f"/tickets/{scene.blocked.ref}/"),
        ("triager", "clocks", "/desk/clocks/"),
        ("triager", "outcomes", "/desk/outcomes/"),
    ]


def walk(
    browser: Browser,
    sign_in: Callable[[User], None],
    request: pytest.FixtureRequest,
    scene: Scene,
    look: Callable[[str], list[str]],
) -> None:
    """Fails with what `look` says of each page, the page's name before it."""
    wrong: list[str] = []
    signed_in = ""
    for who, name, path in twelve(scene):
        if who != signed_in:
            sign_in(request.getfixturevalue(who))
            signed_in = who
        browser.open(path)
        browser.settle()
        wrong += [f"{name}: {text}" for text in look(name)]
    assert not wrong, "\n" + "\n".join(wrong)


def test_axe_finds_nothing_by_day_and_by_night(
    browser: Browser,
    sign_in: Callable[[User], None],
    request: pytest.FixtureRequest,
    scene: Scene,
) -> None:
    def look(_name: str) -> list[str]:
        browser.run(AXE)
        said = []
        for dark in (True, False):
            browser.screen(WIDE, dark=dark)
            said += [f"(dark: {dark}) {text}" for text in browser.driver.execute_async_script(LOOK, RULES)]
        return said

    browser.screen(WIDE, dark=False)

    walk(browser, sign_in, request, scene, look)


@pytest.mark.parametrize("width", [NARROW, WIDE])
def test_longer_words_are_neither_cut_nor_covered(
    browser: Browser,
    sign_in: Callable[[User], None],
    request: pytest.FixtureRequest,
    scene: Scene,
    width: int,
) -> None:
    browser.screen(width, dark=False)

    def look(name: str) -> list[str]:
        said = list(browser.run(LONGER))
        browser.picture(PICTURES / f"longer-{name}-{width}.png")
        return said

    walk(browser, sign_in, request, scene, look)


def test_twice_the_size_needs_no_scrolling_sideways(
    browser: Browser, sign_in: Callable[[User], None], request: pytest.FixtureRequest, scene: Scene
) -> None:
    """A window of 1280 pixels at 200 % has room for 640 of the page's own."""
    browser.driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": 640, "height": 450, "deviceScaleFactor": 2, "mobile": False},
    )

    def look(name: str) -> list[str]:
        browser.picture(PICTURES / f"twice-{name}.png")
        return browser.too_wide()

    walk(browser, sign_in, request, scene, look)
