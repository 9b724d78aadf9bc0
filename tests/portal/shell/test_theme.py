"""Does the chosen theme come from the server, and does the choice lead nowhere else?"""

from __future__ import annotations

import pytest
from django.test import Client

SIGN_IN = "/account/sign-in/"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_chosen_theme_is_in_the_page_from_the_start(client: Client, db: None, theme: str) -> None:
    answer = client.post("/theme", {"theme": theme, "next": SIGN_IN})
    assert answer["Location"] == SIGN_IN
    page = client.get(SIGN_IN).content.decode()
    assert f'<html lang="en" data-theme="{theme}">' in page
    assert f'content="{theme}"' in page


def test_system_theme_leaves_the_choice_to_the_browser(client: Client, db: None) -> None:
    client.post("/theme", {"theme": "dark"})
    client.post("/theme", {"theme": "auto"})
    assert '<html lang="en">' in client.get(SIGN_IN).content.decode()


def test_made_up_theme_is_not_kept(client: Client, db: None) -> None:
    answer = client.post("/theme", {"theme": '"><script>'})
    assert "theme" not in answer.cookies


def test_made_up_cookie_does_not_reach_the_page(client: Client, db: None) -> None:
    client.cookies["theme"] = "x onload=alert(1)"
    assert "onload" not in client.get(SIGN_IN).content.decode()


@pytest.mark.parametrize(
    "elsewhere", ["https://example.org/", "//example.org", "javascript:alert(1)", "http:///example.org"]
)
def test_theme_leads_to_no_other_site(client: Client, db: None, elsewhere: str) -> None:
    assert client.post("/theme", {"theme": "dark", "next": elsewhere})["Location"] == "/"


def test_theme_is_changed_by_post_only(client: Client, db: None) -> None:
    assert client.get("/theme?theme=dark").status_code == 405
