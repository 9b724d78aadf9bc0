"""A team sees its quotas; nobody else does; unlimited, none and some are told apart."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from portal.accounts.models import Team, User
from requests_app.quotas.models import Quota
from tests.builders import a_quota

pytestmark = pytest.mark.django_db


def shown(client: Client, user: User) -> str:
    client.force_login(user)
    answer = client.get("/quotas/")
    assert answer.status_code == 200
    return answer.content.decode()


def test_team_sees_its_quota_and_a_stranger_does_not(
    client: Client, team: Team, member: User, stranger: User
) -> None:
    a_quota(team, 64)
    assert "h100-sxm5-80g" in shown(client, member)
    assert "h100-sxm5-80g" not in shown(client, stranger)


def test_unlimited_and_none_are_told_apart(client: Client, team: Team, member: User) -> None:
    a_quota(team, None, sku="a100-sxm4-80g")
    a_quota(team, 0, sku="b200-sxm-180g")
    text = shown(client, member)
    assert "unlimited" in text
    assert '<td data-label="Limit" class="num">0</td>' in text


def test_infra_sees_every_team(client: Client, team: Team, triager: User) -> None:
    a_quota(team, 64)
    assert "Vision" in shown(client, triager)


def test_list_costs_the_same_for_few_and_for_many(client: Client, team: Team, triager: User) -> None:
    def cost() -> int:
        with CaptureQueriesContext(connection) as seen:
            shown(client, triager)
        return len(seen)

    a_quota(team, 64)
    cost()  # the first visit makes a session
    few = cost()
    Quota.objects.bulk_create(Quota(team=team, sku=f"sku-{number}", limit=8) for number in range(60))
    assert cost() == few
