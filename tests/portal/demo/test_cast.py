"""The demonstration's people: made once, able to come in, and found again by the next start."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from django.contrib.auth import authenticate

from portal.accounts.models import ApiToken, User
from portal.accounts.services import token_user
from portal.demo import cast
from requests_app.quotas.services import room_for

pytestmark = pytest.mark.django_db


def test_everybody_can_sign_in_and_sign_requests(tmp_path: Path) -> None:
    logins = cast.prepare(tmp_path)
    assert set(logins) == {"requester", "lead", "triager", "operator", "admin"}
    for login in logins.values():
        assert authenticate(username=login.name, password=login.password) is not None
        found = token_user(login.token)
        assert found is not None
        assert found[0].username == login.name


def test_second_start_goes_on_with_the_same_people(tmp_path: Path) -> None:
    first = cast.prepare(tmp_path)
    assert cast.prepare(tmp_path) == first
    assert User.objects.count() == len(first)
    assert ApiToken.objects.count() == len(first)


def test_logins_are_kept_for_their_owner_alone(tmp_path: Path) -> None:
    cast.prepare(tmp_path / "demo")
    kept = tmp_path / "demo" / "logins.json"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert stat.S_IMODE(kept.parent.stat().st_mode) == 0o700


def test_lost_logins_are_made_anew_for_the_same_people(tmp_path: Path) -> None:
    cast.prepare(tmp_path)
    (tmp_path / "logins.json").unlink()
    again = cast.prepare(tmp_path)
    assert authenticate(username="triager", password=again["triager"].password) is not None
    assert User.objects.filter(username="triager").count() == 1


def test_team_has_room_for_the_main_job(tmp_path: Path) -> None:
    cast.prepare(tmp_path)
    team = User.objects.get(username="requester").teams().get()
    assert room_for(team, cast.SKU).fits(32)
