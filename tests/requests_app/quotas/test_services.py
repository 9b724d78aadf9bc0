"""Nobody gets more than the quota, and everything is given back exactly once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import IntegrityError, connection, transaction

from portal.accounts.models import Team
from portal.kernel.clock import now
from portal.kernel.errors import Refused
from requests_app.quotas import queries, services
from requests_app.quotas.models import Quota
from tests.personas import a_team

H100 = "h100-sxm5-80g"


def a_quota(team: Team, limit: int | None) -> Quota:
    return services.set_limit(team=team, sku=H100, limit=limit, reason="agreed", by=None)


def hold(team: Team, gpus: int, source: str) -> None:
    held = services.hold_quota(team=team, sku=H100, gpus=gpus, source=source, step=8, by=None)
    services.bind_order(hold=held, order_ref="O-1")


@pytest.mark.django_db
def test_hold_takes_from_what_is_left(team: Team) -> None:
    a_quota(team, 64)
    hold(team, 40, "T-1/1")
    room = services.room_for(team, H100)
    assert (room.held, room.used, room.left) == (40, 0, 24)


@pytest.mark.django_db
def test_hold_that_does_not_fit_is_refused_with_the_nearest_yes(team: Team) -> None:
    a_quota(team, 60)
    with pytest.raises(Refused, match="56 GPUs would fit now") as refusal:
        hold(team, 64, "T-1/1")
    assert refusal.value.data["nearest_yes"] == 56
    assert services.room_for(team, H100).held == 0


@pytest.mark.django_db
def test_team_without_a_quota_has_none(team: Team) -> None:
    with pytest.raises(Refused, match="0 of 0 GPUs"):
        hold(team, 8, "T-1/1")


@pytest.mark.django_db
def test_quota_of_none_is_not_unlimited(team: Team) -> None:
    a_quota(team, 0)
    with pytest.raises(Refused):
        hold(team, 1, "T-1/1")


@pytest.mark.django_db
def test_unlimited_quota_has_room_for_everything(team: Team) -> None:
    a_quota(team, None)
    hold(team, 100_000, "T-1/1")
    assert services.room_for(team, H100).left is None


@pytest.mark.django_db
def test_same_source_holds_once(team: Team) -> None:
    a_quota(team, 64)
    hold(team, 40, "T-1/1")
    hold(team, 40, "T-1/1")
    assert services.room_for(team, H100).held == 40


@pytest.mark.django_db
def test_use_and_free_happen_once_and_the_ledger_agrees(team: Team) -> None:
    a_quota(team, 64)
    hold(team, 40, "T-1/1")
    for _ in range(2):
        services.use_order(order_ref="O-1", cluster_ref="C-1", by=None)
    assert services.room_for(team, H100).used == 40
    assert services.free_cluster(cluster_ref="C-1", by=None) == 40
    assert services.free_cluster(cluster_ref="C-1", by=None) == 0
    assert services.room_for(team, H100).left == 64
    assert queries.drifts() == []


@pytest.mark.django_db
def test_hold_of_an_ask_that_came_to_nothing_is_given_back(team: Team) -> None:
    a_quota(team, 64)
    hold(team, 40, "T-1/1")
    services.free_order(order_ref="O-1", by=None)
    services.free_order(order_ref="O-1", by=None)
    assert services.room_for(team, H100).left == 64


@pytest.mark.django_db
def test_smaller_cluster_gives_back_the_difference_once(team: Team) -> None:
    a_quota(team, 64)
    hold(team, 40, "T-1/1")
    services.use_order(order_ref="O-1", cluster_ref="C-1", by=None)
    assert services.shrink_cluster(cluster_ref="C-1", gpus=24, by=None) == 16
    assert services.shrink_cluster(cluster_ref="C-1", gpus=24, by=None) == 0
    assert services.room_for(team, H100).used == 24
    assert services.free_cluster(cluster_ref="C-1", by=None) == 24
    assert queries.drifts() == []


@pytest.mark.django_db
def test_boost_ends_by_itself_and_what_is_still_out_stays_an_overdraft(team: Team) -> None:
    a_quota(team, 8)
    services.grant_quota(team=team, sku=H100, gpus=56, source="T-2/1", until=now() - timedelta(1), by=None)
    hold(team, 64, "T-1/1")
    assert services.end_due_boosts() == 1
    assert services.end_due_boosts() == 0
    quota = Quota.objects.get(team=team)
    assert (quota.limit, quota.overdrawn, quota.room.left) == (8, 56, 0)
    services.free_order(order_ref="O-1", by=None)
    quota.refresh_from_db()
    assert (quota.overdrawn, quota.room.left) == (0, 8)


@pytest.mark.django_db
def test_grant_of_one_source_counts_once(team: Team) -> None:
    a_quota(team, 8)
    for _ in range(2):
        services.grant_quota(team=team, sku=H100, gpus=8, source="T-3/1", reason="a new project", by=None)
    assert services.room_for(team, H100).limit == 16


@pytest.mark.django_db
def test_database_itself_refuses_more_than_the_limit(team: Team) -> None:
    quota = a_quota(team, 8)
    with pytest.raises(IntegrityError, match="quota_never_exceeded"), transaction.atomic():
        Quota.objects.filter(pk=quota.pk).update(used=9)


@pytest.mark.django_db
def test_drift_between_ledger_and_counters_is_found(team: Team) -> None:
    quota = a_quota(team, 8)
    Quota.objects.filter(pk=quota.pk).update(used=3)
    assert [(drift.used, drift.used_by_ledger) for drift in queries.drifts()] == [(3, 0)]


@pytest.mark.django_db(transaction=True)
def test_sixteen_asks_at_once_get_exactly_the_quota() -> None:
    team = a_team("racers")
    a_quota(team, 64)

    def ask(number: int) -> bool:
        try:
            hold(team, 8, f"T-{number}/1")
        except Refused:
            return False
        finally:
            connection.close()
        return True

    with ThreadPoolExecutor(16) as pool:
        got = list(pool.map(ask, range(16)))
    assert sum(got) == 8
    assert services.room_for(team, H100).held == 64
    assert queries.drifts() == []
