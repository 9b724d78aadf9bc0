"""Do the pages of the shell open to whom they should?"""

from __future__ import annotations

import pytest
from django.test import Client

from portal.accounts.models import User


def test_visitor_is_led_to_the_sign_in(client: Client, db: None) -> None:
    assert client.get("/looks/")["Location"].startswith("/account/sign-in/?next=/looks/")


def test_anybody_signed_in_sees_the_looks(client: Client, member: User) -> None:
    client.force_login(member)
    page = client.get("/looks/").content.decode()
    assert "chip-unknown" in page
    assert "var(--chart-1)" in page


def test_wrong_address_has_a_page_with_a_way_out(client: Client, member: User) -> None:
    client.force_login(member)
    answer = client.get("/nowhere/")
    assert answer.status_code == 404
    assert b"Go to the start" in answer.content


def test_page_is_told_in_the_time_zone_of_the_reader(client: Client, member: User) -> None:
    member.time_zone = "Asia/Tokyo"
    member.save()
    client.force_login(member)
    assert "Times in Asia/Tokyo" in client.get("/looks/").content.decode()


def test_next_reader_gets_their_own_time_zone_back(client: Client, member: User, lead: User) -> None:
    member.time_zone = "Asia/Tokyo"
    member.save()
    client.force_login(member)
    client.get("/looks/")
    client.force_login(lead)
    assert "Times in UTC" in client.get("/looks/").content.decode()


def test_policy_is_strict(client: Client, db: None) -> None:
    policy = client.get("/account/sign-in/")["Content-Security-Policy"]
    assert "unsafe" not in policy
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy


@pytest.mark.parametrize("name", ["css/tokens.css", "css/print.css", "js/portal.js", "favicon.svg"])
def test_what_pages_link_is_served(client: Client, db: None, name: str) -> None:
    assert client.get(f"/static/{name}").status_code == 200


def test_health_is_told_to_anybody(client: Client, db: None) -> None:
    assert client.get("/healthz").json() == {"status": "ok"}


def test_what_did_not_change_is_not_sent_again(client: Client, db: None) -> None:
    first = client.get("/static/css/tokens.css")
    again = client.get("/static/css/tokens.css", headers={"if-modified-since": first["Last-Modified"]})
    assert (again.status_code, again.content) == (304, b"")
    assert first["Content-Type"] == 'text/css; charset="utf-8"'
    assert not first.streaming


def test_static_folder_leads_nowhere_else(client: Client, member: User) -> None:
    assert client.get("/static/../settings.py").status_code == 404
    assert client.get("/static/css/").status_code == 404
