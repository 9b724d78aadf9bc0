"""Who acts in the tests: a member and a lead of one team, a stranger from another, and infra people of each role."""

from __future__ import annotations

import itertools

import pytest

from portal.accounts.models import Membership, Team, User

_numbers = itertools.count(1)


def a_user(name: str = "", *, staff_role: str = "", team: Team | None = None, role: str = "member") -> User:
    """A person; `team` and `role` make a membership."""
    user = User.objects.create_user(
        username=name or f"person-{next(_numbers)}",
        password="correct horse battery",
        staff_role=staff_role,
        is_staff=bool(staff_role),
        is_superuser=staff_role == "admin",
    )
    if team is not None:
        Membership.objects.create(user=user, team=team, role=role)
    return user


def a_team(slug: str = "") -> Team:
    """A team with a name of its own."""
    slug = slug or f"team-{next(_numbers)}"
    return Team.objects.create(slug=slug, name=slug.replace("-", " ").title())


@pytest.fixture
def team(db: None) -> Team:
    return a_team("vision")


@pytest.fixture
def member(team: Team) -> User:
    return a_user("member", team=team)


@pytest.fixture
def lead(team: Team) -> User:
    return a_user("lead", team=team, role="lead")


@pytest.fixture
def other_team(db: None) -> Team:
    return a_team("speech")


@pytest.fixture
def stranger(other_team: Team) -> User:
    return a_user("stranger", team=other_team)


@pytest.fixture
def triager(db: None) -> User:
    return a_user("triager", staff_role="triager")


@pytest.fixture
def operator(db: None) -> User:
    return a_user("operator", staff_role="operator")


@pytest.fixture
def admin_user(db: None) -> User:
    return a_user("admin-person", staff_role="admin")
