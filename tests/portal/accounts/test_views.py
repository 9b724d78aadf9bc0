"""Who sees and changes what on the pages of people?"""

from __future__ import annotations

import pytest
from django.test import Client

from portal.accounts.models import ApiToken, Team, User
from portal.accounts.services import issue_token, token_user
from tests.personas import a_team, a_user


@pytest.mark.parametrize(
    "path", ["/account/", "/account/tokens/", "/account/password/", "/teams/", "/teams/vision/"]
)
def test_visitor_is_led_to_the_sign_in(client: Client, team: Team, path: str) -> None:
    answer = client.get(path)
    assert answer["Location"] == f"/account/sign-in/?next={path}"


@pytest.mark.parametrize(
    ("persona", "status"),
    [("member", 200), ("lead", 200), ("stranger", 404), ("triager", 200), ("operator", 200)],
)
def test_team_page_opens_to_its_people_and_to_infra(
    client: Client, team: Team, request: pytest.FixtureRequest, persona: str, status: int
) -> None:
    client.force_login(request.getfixturevalue(persona))
    assert client.get("/teams/vision/").status_code == status


def test_member_sees_no_form_for_taking_people_in(client: Client, member: User, lead: User) -> None:
    client.force_login(member)
    assert b"Take somebody in" not in client.get("/teams/vision/").content
    client.force_login(lead)
    assert b"Take somebody in" in client.get("/teams/vision/").content


def test_lead_takes_a_person_in_by_form(client: Client, team: Team, lead: User, stranger: User) -> None:
    client.force_login(lead)
    assert client.post("/teams/vision/", {"username": "stranger", "role": "member"}).status_code == 302
    assert stranger.belongs_to(team)


def test_wrong_user_name_is_said_beside_its_field(client: Client, lead: User) -> None:
    client.force_login(lead)
    answer = client.post("/teams/vision/", {"username": "nobody", "role": "member"})
    assert answer.status_code == 422
    assert b"Nobody here has the user name" in answer.content


@pytest.mark.parametrize(("persona", "status"), [("member", 403), ("stranger", 404), ("triager", 403)])
def test_who_does_not_lead_takes_nobody_in(
    client: Client, team: Team, lead: User, request: pytest.FixtureRequest, persona: str, status: int
) -> None:
    client.force_login(request.getfixturevalue(persona))
    answer = client.post("/teams/vision/", {"username": "lead", "role": "member"})
    assert answer.status_code == status
    assert lead.leads(team)


def test_last_lead_is_told_what_to_do_first(client: Client, team: Team, lead: User) -> None:
    client.force_login(lead)
    page = client.post("/teams/vision/members/lead/", {"role": ""}, follow=True)
    assert b"Make somebody else a lead first." in page.content
    assert lead.belongs_to(team)


def test_member_who_leaves_is_led_to_their_teams(
    client: Client, team: Team, lead: User, member: User
) -> None:
    client.force_login(member)
    assert client.post("/teams/vision/members/member/", {"role": ""})["Location"] == "/teams/"


def test_token_is_shown_once(client: Client, member: User) -> None:
    client.force_login(member)
    asked = {"name": "launcher", "scopes": ["requests:read"], "days": "30"}
    page = client.post("/account/tokens/", asked)
    text = page.content.decode().split("<code>qm_pat_")[1].split("</code>")[0]
    assert token_user(f"qm_pat_{text}") is not None
    assert "no-store" in page["Cache-Control"]
    assert text not in client.get("/account/tokens/").content.decode()


def test_sending_the_token_form_twice_makes_one(client: Client, member: User) -> None:
    client.force_login(member)
    asked = {"name": "launcher", "scopes": ["requests:read"], "days": "30"}
    client.post("/account/tokens/", asked)
    assert client.post("/account/tokens/", asked).status_code == 422
    assert ApiToken.objects.count() == 1


def test_person_revokes_their_own_token_only(client: Client, member: User, stranger: User) -> None:
    token, text = issue_token(name="launcher", scopes=["requests:read"], by=member)
    client.force_login(stranger)
    assert client.post(f"/account/tokens/{token.public_id}/revoke/").status_code == 404
    client.force_login(member)
    assert client.post(f"/account/tokens/{token.public_id}/revoke/").status_code == 302
    assert token_user(text) is None


def test_person_saves_their_profile(client: Client, member: User) -> None:
    client.force_login(member)
    answer = client.post(
        "/account/", {"full_name": "Data Person", "time_zone": "Asia/Tokyo", "ssh_public_keys": ""}
    )
    assert answer.status_code == 302
    member.refresh_from_db()
    assert (member.get_full_name(), member.time_zone) == ("Data Person", "Asia/Tokyo")


def test_wrong_key_is_said_beside_its_field(client: Client, member: User) -> None:
    client.force_login(member)
    answer = client.post("/account/", {"full_name": "", "time_zone": "", "ssh_public_keys": "hello"})
    assert answer.status_code == 422
    assert b"Line 1: a line is" in answer.content


def test_person_changes_their_password_and_other_sessions_end(client: Client, member: User) -> None:
    other = Client()
    other.force_login(member)
    client.force_login(member)
    new = "another long sentence"
    asked = {"old_password": "correct horse battery", "new_password1": new, "new_password2": new}
    assert client.post("/account/password/", asked).status_code == 302
    assert client.get("/account/").status_code == 200
    assert other.get("/account/").status_code == 302
    member.refresh_from_db()
    assert member.check_password(new)


def test_wrong_old_password_changes_nothing(client: Client, member: User) -> None:
    client.force_login(member)
    new = "another long sentence"
    asked = {"old_password": "wrong", "new_password1": new, "new_password2": new}
    assert client.post("/account/password/", asked).status_code == 422
    member.refresh_from_db()
    assert member.check_password("correct horse battery")


def test_hostile_name_renders_as_text(client: Client, team: Team, lead: User, member: User) -> None:
    member.first_name = "<script>alert(1)</script>{{ 7*7 }}"
    member.save()
    client.force_login(lead)
    page = client.get("/teams/vision/").content.decode()
    assert "<script>alert" not in page
    assert "{{ 7*7 }}" in page


@pytest.mark.parametrize("count", [10, 150])
def test_team_list_asks_the_database_as_often_for_many(
    client: Client, triager: User, django_assert_max_num_queries: object, count: int
) -> None:
    for _ in range(count):
        a_team()
    client.force_login(triager)
    with django_assert_max_num_queries(4):
        client.get("/teams/")


def test_long_team_list_goes_on_on_the_next_page(client: Client, triager: User) -> None:
    for number in range(101):
        a_team(f"crew-{number:03}")
    client.force_login(triager)
    first = client.get("/teams/").content.decode()
    assert "?after=crew-099" in first
    assert "crew-100" in client.get("/teams/?after=crew-099").content.decode()


@pytest.mark.parametrize("count", [10, 60])
def test_team_page_asks_the_database_as_often_for_many(
    client: Client, team: Team, lead: User, django_assert_max_num_queries: object, count: int
) -> None:
    for _ in range(count):
        a_user(team=team)
    client.force_login(lead)
    with django_assert_max_num_queries(6):
        client.get("/teams/vision/")
