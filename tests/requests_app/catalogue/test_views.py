"""People find what they need on the catalogue's shelves."""

from __future__ import annotations

import pytest
from django.test import Client

from portal.accounts.models import User
from tests.builders import a_catalogue
from tests.requests_app.hostile import HOSTILE

pytestmark = pytest.mark.django_db
FRAGMENT = {"hx-request": "true"}


@pytest.fixture(autouse=True)
def catalogue() -> None:
    a_catalogue()


def page(client: Client, query: str = "", **headers: str) -> str:
    answer = client.get(f"/catalogue/{query}", headers=headers)
    assert answer.status_code == 200
    return answer.content.decode()


def test_stranger_to_the_portal_is_sent_to_sign_in(client: Client) -> None:
    assert client.get("/catalogue/").status_code == 302


def test_member_sees_offerings_by_pillar(client: Client, member: User) -> None:
    client.force_login(member)
    shown = page(client)
    order = [
        shown.index(f'id="pillar-{name}"')
        for name in ("developer-productivity", "compute", "observability", "data")
    ]
    assert order == sorted(order)
    assert "A cluster of GPU nodes of your own" in shown


@pytest.mark.parametrize(
    ("search", "found"),
    [
        ("dashboards", "Observability dashboard"),
        ("boost", "Temporary quota boost"),
        ("clust", "GPU cluster"),
        ("storage", "Shared storage"),
    ],
)
def test_member_finds_by_words_and_parts_of_words(
    client: Client, member: User, search: str, found: str
) -> None:
    client.force_login(member)
    assert f">{found}</a>" in page(client, f"?search={search}")


def test_member_narrows_by_pillar(client: Client, member: User) -> None:
    client.force_login(member)
    shown = page(client, "?pillar=data")
    assert "Dataset access" in shown
    assert ">GPU cluster<" not in shown


def test_htmx_gets_the_shelves_alone(client: Client, member: User) -> None:
    client.force_login(member)
    assert "<html" not in page(client, "?search=cluster", **FRAGMENT)


def test_nothing_found_says_what_to_do(client: Client, member: User) -> None:
    client.force_login(member)
    assert "Nothing fits" in page(client, "?search=zzzzz")


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_search_is_harmless(client: Client, member: User, text: str) -> None:
    client.force_login(member)
    answer = client.get("/catalogue/", {"search": text, "pillar": text})
    assert answer.status_code == (400 if "\0" in text else 200)
    assert b"<script>alert" not in answer.content
