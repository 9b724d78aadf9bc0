"""The form in the browser: drafts, conditional questions, one ticket per form, errors beside their fields."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from portal.accounts.models import Team, User
from portal.kernel.clock import now
from requests_app.blocks.models import BlockInterval
from requests_app.catalogue.loader import load_offerings
from requests_app.catalogue.models import OfferingVersion
from requests_app.catalogue.offering_files import read_folder
from requests_app.tickets.models import Draft, Ticket
from tests.builders import H100
from tests.personas import a_team, a_user
from tests.requests_app.hostile import HOSTILE
from tests.requests_app.tickets.conftest import FRAGMENT

pytestmark = pytest.mark.django_db
ASK = "/catalogue/gpu-cluster/"


@pytest.fixture
def browser(client: Client, desk: Team, member: User) -> Client:
    client.force_login(member)
    return client


def opened(browser: Client, address: str = ASK) -> tuple[str, str]:
    """The page and its one-time token."""
    answer = browser.get(address)
    assert answer.status_code == 200
    page = answer.content.decode()
    token = re.search(r'name="token" value="([^"]+)"', page)
    assert token is not None
    return page, token[1]


def typed(token: str, **more: Any) -> dict[str, Any]:
    return {
        "token": token,
        "version": "1",
        "team": "vision",
        "q-purpose": "Training.",
        "q-sku": H100,
        "q-nodes": "2",
        "q-cluster_name": "train",
        "q-lease": "fixed",
        "q-lease_days": "14",
        "q-driver": "standard",
        **more,
    }


def test_member_files_a_request_and_lands_on_its_page(browser: Client, member: User) -> None:
    _, token = opened(browser)
    answer = browser.post(ASK, typed(token))
    ticket = Ticket.objects.get()
    assert answer.headers["Location"] == f"/tickets/{ticket.ref}/"
    assert ticket.requester == member
    assert ticket.answers == {
        "purpose": "Training.",
        "sku": H100,
        "nodes": 2,
        "cluster_name": "train",
        "lease": "fixed",
        "lease_days": 14,
        "driver": "standard",
        "storage": False,
    }


def test_a_double_click_files_one_ticket(browser: Client) -> None:
    _, token = opened(browser)
    first, second = browser.post(ASK, typed(token)), browser.post(ASK, typed(token))
    assert first.headers["Location"] == second.headers["Location"]
    assert Ticket.objects.count() == 1


def test_who_goes_back_and_files_something_else_is_led_to_the_first(browser: Client) -> None:
    _, token = opened(browser)
    browser.post(ASK, typed(token))
    answer = browser.post(ASK, typed(token, **{"q-nodes": "3"}), follow=True)
    assert "was filed already as" in answer.content.decode()
    assert Ticket.objects.count() == 1


def test_answers_to_questions_that_are_not_asked_are_dropped_without_scripts(browser: Client) -> None:
    _, token = opened(browser)
    browser.post(ASK, typed(token, **{"q-lease": "open", "q-lease_days": "14", "q-driver_version": "1.2"}))
    assert {"lease_days", "driver_version"}.isdisjoint(Ticket.objects.get().answers)


def test_errors_stand_beside_their_fields_and_nothing_is_lost(browser: Client) -> None:
    _, token = opened(browser)
    wrong = typed(token, **{"q-nodes": "0", "q-cluster_name": "Train 1", "blocked-is_blocked": "on"})
    answer = browser.post(ASK, wrong)
    page = answer.content.decode()
    assert answer.status_code == 422
    assert "At least 1 nodes." in page
    assert "Use 1 to 32 small letters" in page
    assert "Say since when" in page
    assert 'value="Train 1"' in page
    assert f'name="token" value="{token}"' in page
    assert not Ticket.objects.exists()


def test_a_blocked_team_says_so_on_the_form(browser: Client) -> None:
    _, token = opened(browser)
    claim = {
        "blocked-is_blocked": "on",
        "blocked-since": "2026-11-01T08:00",
        "blocked-people": "3",
        "blocked-idle_gpus": "0",
        "blocked-what": "No nodes.",
    }
    page = browser.post(ASK, typed(token, **claim), follow=True).content.decode()
    ticket = Ticket.objects.get()
    assert (ticket.blocked_people, ticket.idle_gpus) == (3, 0)
    assert "No nodes." in page


def test_a_reload_or_a_crash_loses_nothing(browser: Client) -> None:
    _, token = opened(browser)
    kept = browser.post(f"{ASK}draft", typed(token, **{"q-nodes": "two?"}), headers=FRAGMENT)
    assert "Draft kept" in kept.content.decode()
    page, again = opened(browser)
    assert again == token
    assert 'value="two?"' in page
    assert "A whole number is expected" not in page
    browser.post(ASK, typed(again))
    assert not Draft.objects.exists()


def test_a_draft_can_be_thrown_away(browser: Client) -> None:
    _, token = opened(browser)
    browser.post(f"{ASK}draft", typed(token))
    assert "GPU cluster" in browser.get("/tickets/drafts/").content.decode()
    browser.post(f"{ASK}discard", {"token": token})
    assert opened(browser)[1] != token
    assert not Draft.objects.exists()


def test_a_draft_is_nobody_elses(browser: Client, lead: User) -> None:
    _, token = opened(browser)
    browser.post(f"{ASK}draft", typed(token, **{"q-purpose": "Secret plan."}))
    browser.force_login(lead)
    page, other = opened(browser)
    assert other != token
    assert "Secret plan." not in page
    browser.post(f"{ASK}discard", {"token": token})
    assert Draft.objects.count() == 1
    assert "GPU cluster" not in browser.get("/tickets/drafts/").content.decode()


def test_drafts_do_not_pile_up(browser: Client) -> None:
    for number in range(25):
        browser.post(f"{ASK}draft", typed(f"token-of-this-form-{number:04d}"))
    assert Draft.objects.count() == 20


def test_an_offering_that_changed_meanwhile_is_shown_again_with_the_answers(browser: Client) -> None:
    _, token = opened(browser)
    files = [
        file if file.slug != "gpu-cluster" else type(file)(file.slug, {**file.content, "lead_time": "x"}, "y")
        for file in read_folder()
    ]
    load_offerings(files=files, by=None)
    assert OfferingVersion.objects.filter(offering__slug="gpu-cluster").count() == 2
    answer = browser.post(ASK, typed(token))
    assert answer.status_code == 409
    assert "has changed since you opened it" in answer.content.decode()
    assert browser.post(ASK, typed(token, version="2")).status_code == 302


def test_a_token_that_is_not_ours_is_refused(browser: Client) -> None:
    opened(browser)
    assert browser.post(ASK, typed("x")).status_code == 422
    assert not Ticket.objects.exists()


def test_member_of_two_teams_chooses_and_sees_the_teams_choices(client: Client, desk: Team) -> None:
    person = a_user("both", team=desk)
    a_team("audio").memberships.create(user=person)
    client.force_login(person)
    page, token = opened(client)
    assert '<option value="audio">' in page
    assert client.post(ASK, typed(token, team="")).status_code == 422
    part = client.post(ASK, typed(token, team="audio", show="1", **{"q-nodes": "77"}), headers=FRAGMENT)
    assert 'value="77"' in part.content.decode()
    assert "<html" not in part.content.decode()
    assert client.post(ASK, typed(token, team="speech")).status_code == 422
    client.post(ASK, typed(token, team="audio"))
    assert Ticket.objects.get().team.slug == "audio"


def test_who_is_in_no_team_is_told_so(client: Client, desk: Team, triager: User) -> None:
    client.force_login(triager)
    page = client.get(ASK).content.decode()
    assert "You are in no team" in page
    assert client.post(ASK, typed("a-token-of-the-right-shape")).status_code == 422


def test_member_sees_what_room_there_is(browser: Client) -> None:
    hint = browser.get(f"{ASK}hint", {"team": "vision", "q-sku": H100, "q-nodes": "2"}, headers=FRAGMENT)
    said = hint.content.decode()
    assert "Vision has 64 of 64 GPUs left" in said
    assert "This asks for 16." in said
    assert "of 4 nodes of this kind are free now" in said
    much = browser.get(f"{ASK}hint", {"team": "vision", "q-sku": H100, "q-nodes": "90"}, headers=FRAGMENT)
    assert "More quota comes first" in much.content.decode()
    foreign = browser.get(f"{ASK}hint", {"team": "speech", "q-sku": H100, "q-nodes": "2"}, headers=FRAGMENT)
    assert "Speech" not in foreign.content.decode()


def test_page_says_for_which_answers_a_question_is_asked(browser: Client) -> None:
    page, _ = opened(browser)
    assert 'data-show-when="q-lease" data-show-for="[&quot;fixed&quot;]"' in page
    assert 'data-show-when="q-storage" data-show-for="[&quot;true&quot;]"' in page


@pytest.mark.parametrize("slug", [file.slug for file in read_folder()])
def test_every_offering_has_a_form(browser: Client, slug: str) -> None:
    opened(browser, f"/catalogue/{slug}/")


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_refused_or_inert_in_every_field(browser: Client, text: str) -> None:
    _, token = opened(browser, "/catalogue/unblock/")
    fields = (
        "q-headline",
        "q-details",
        "q-area",
        "q-cluster",
        "blocked-since",
        "blocked-people",
        "blocked-what",
    )
    data = dict.fromkeys((*fields, "blocked-is_blocked"), text)
    browser.post("/catalogue/unblock/draft", {"token": token, "version": "1", "team": "vision", **data})
    kept = browser.get("/catalogue/unblock/").content.decode()
    answer = browser.post("/catalogue/unblock/", {"token": token, "version": "1", "team": "vision", **data})
    assert answer.status_code == (400 if len(text) > 500_000 else 422)
    for page in (kept, answer.content.decode()):
        assert "<script>alert" not in page
        assert "<img src=x" not in page
    for name in ("token", "version", "team"):
        odd = browser.post(
            "/catalogue/unblock/", {"token": token, "version": "1", "team": "vision", name: text}
        )
        assert odd.status_code in (409, 422), name
    assert not Ticket.objects.exists()


def test_fresh_request_names_who_is_blocked_and_asks_them(browser: Client, member: User, lead: User) -> None:
    page, token = opened(browser)
    assert f'value="{lead.username}"' in page
    blocked = {"blocked-is_blocked": "on", "blocked-people": "1"}
    blocked |= {"blocked-idle_gpus": "0", "blocked-what": "Nothing runs.", "blocked-since": _an_hour_ago()}
    browser.post(ASK, typed(token, **blocked, **{"blocked-who": [member.username, lead.username]}))
    block = BlockInterval.objects.get(ticket=Ticket.objects.get())
    assert {person.user.username for person in block.persons.all()} == {member.username, lead.username}
    assert block.people == 2


def test_nobody_of_another_team_is_named(browser: Client, stranger: User) -> None:
    page, token = opened(browser)
    assert f'value="{stranger.username}"' not in page
    blocked = {"blocked-is_blocked": "on", "blocked-people": "1", "blocked-idle_gpus": "0"}
    blocked |= {"blocked-what": "Nothing runs.", "blocked-since": _an_hour_ago()}
    answer = browser.post(ASK, typed(token, **blocked, **{"blocked-who": [stranger.username]}))
    assert answer.status_code == 422
    assert not Ticket.objects.exists()


def _an_hour_ago() -> str:
    return (now() - timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M")
