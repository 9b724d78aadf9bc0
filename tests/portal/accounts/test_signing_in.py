"""Does signing in hold off guessing, tell nothing, and lead nowhere else?"""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client, RequestFactory

from portal.accounts import events, signing_in
from portal.accounts.models import SignInTry, User
from portal.kernel.clock import now
from portal.ledger.models import Event

ADDRESS = "/account/sign-in/"
RIGHT = "correct horse battery"


def try_it(client: Client, username: str = "member", password: str = "wrong", **more: str) -> object:
    """One try from the form."""
    where = {"REMOTE_ADDR": more.pop("REMOTE_ADDR", "192.0.2.1")}
    return client.post(ADDRESS, {"username": username, "password": password, **more}, **where)


def test_person_signs_in_and_it_is_recorded(client: Client, member: User) -> None:
    answer = try_it(client, password=RIGHT)
    assert (answer.status_code, answer["Location"]) == (302, "/")
    assert client.get("/account/").status_code == 200
    assert Event.objects.filter(name=events.SIGNED_IN, subject=f"person:{member.pk}").exists()


def test_session_gets_a_new_key(client: Client, member: User) -> None:
    session = client.session
    session["visited"] = "before"
    session.save()
    client.cookies["sessionid"] = session.session_key
    try_it(client, password=RIGHT)
    assert client.cookies["sessionid"].value != session.session_key


def test_wrong_password_and_unknown_name_read_alike(client: Client, member: User) -> None:
    pages = [
        try_it(client, username=name).content.decode().replace(name, "NAME") for name in ("member", "nobody")
    ]

    def words(page: str) -> str:
        return page.split('role="alert">')[1].split("</div>")[0]

    assert words(pages[0]) == words(pages[1])
    assert signing_in.PER_ACCOUNT_AND_ADDRESS == 5


def test_inactive_person_reads_the_same(client: Client, member: User) -> None:
    User.objects.filter(pk=member.pk).update(is_active=False)
    assert b"fit together" in try_it(client, password=RIGHT).content


def test_sixth_try_is_refused_even_with_the_right_password(client: Client, member: User) -> None:
    for _ in range(5):
        assert try_it(client).status_code == 422
    answer = try_it(client, password=RIGHT)
    assert answer.status_code == 429
    assert b"Wait 15 min" in answer.content


def test_unknown_name_is_refused_in_the_same_way(client: Client, db: None) -> None:
    for _ in range(5):
        try_it(client, username="nobody")
    assert try_it(client, username="nobody").status_code == 429


def test_capital_letters_make_no_other_account(client: Client, member: User) -> None:
    for name in ("member", "Member", "MEMBER", " member", "mEmber"):
        try_it(client, username=name)
    assert try_it(client).status_code == 429


def test_another_address_may_still_sign_in(client: Client, member: User) -> None:
    for _ in range(6):
        try_it(client)
    assert try_it(client, password=RIGHT, REMOTE_ADDR="192.0.2.2").status_code == 302


def test_one_address_that_tries_many_names_is_refused(client: Client, db: None) -> None:
    SignInTry.objects.bulk_create(SignInTry(account=f"{n}", address="192.0.2.1") for n in range(50))
    assert try_it(client, username="fresh").status_code == 429


def test_who_waited_gets_in_however_often_they_asked(client: Client, member: User) -> None:
    for _ in range(5):
        try_it(client)
    for _ in range(3):
        try_it(client)
    SignInTry.objects.update(at=now() - signing_in.WINDOW - timedelta(seconds=1))
    assert try_it(client, password=RIGHT).status_code == 302


def test_success_forgets_the_tries(client: Client, member: User) -> None:
    for _ in range(4):
        try_it(client)
    try_it(client, password=RIGHT)
    assert not SignInTry.objects.exists()


def test_try_keeps_no_typed_name(client: Client, db: None) -> None:
    try_it(client, username="my-secret-password")
    row = SignInTry.objects.get()
    assert "secret" not in str(vars(row))


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("", "unknown"),
        ("garbage", "unknown"),
    ],
)
def test_address_is_told_by_its_site(rf: RequestFactory, address: str, said: str) -> None:
    assert signing_in.address_of(rf.get("/", REMOTE_ADDR=address)) == said


@pytest.mark.parametrize(
    "elsewhere", ["https://example.org/", "//example.org", "/\\example.org", "javascript:alert(1)"]
)
def test_signing_in_leads_to_no_other_site(client: Client, member: User, elsewhere: str) -> None:
    assert try_it(client, password=RIGHT, next=elsewhere)["Location"] == "/"


def test_signing_in_leads_to_where_the_person_was(client: Client, member: User) -> None:
    assert try_it(client, password=RIGHT, next="/teams/vision/")["Location"] == "/teams/vision/"


@pytest.mark.parametrize(
    "name", ["a\x00b", "x" * 200, "\u202emember", "{{ 12345|add:67890 }}", "' OR 1=1 --"]
)
def test_odd_names_are_refused_quietly(client: Client, db: None, name: str) -> None:
    answer = try_it(client, username=name)
    assert answer.status_code == 422
    assert b"80235" not in answer.content


def test_person_signs_out_by_post_only(client: Client, member: User) -> None:
    client.force_login(member)
    assert client.get("/account/sign-out/").status_code == 405
    assert client.post("/account/sign-out/")["Location"] == "/account/sign-in/"
    assert client.get("/account/").status_code == 302
    assert Event.objects.filter(name=events.SIGNED_OUT).count() == 1


def test_form_without_its_token_is_refused(member: User) -> None:
    strict = Client(enforce_csrf_checks=True)
    assert strict.post(ADDRESS, {"username": "member", "password": RIGHT}).status_code == 403
