"""Is an order placed whole or not at all, and does nobody get a node twice?"""

from __future__ import annotations

import threading
from collections import Counter
from datetime import timedelta

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.backends.postgresql.psycopg_any import DateTimeTZRange

from portal.accounts.models import Team
from portal.kernel.clock import now
from portal.kernel.errors import Conflict, Invalid, NotFound, Refused
from portal.ledger.models import Event
from provisioning.contracts import Account, StorageMount
from provisioning.fleet.models import Cluster, Node, Reservation
from provisioning.orders.models import Assignment, Order
from provisioning.orders.services import place_order
from tests.personas import a_team
from tests.provisioning.builders import a_build, a_sku, some_nodes


@pytest.mark.django_db
def test_an_order_comes_with_its_cluster_and_its_nodes_reserved(team: Team) -> None:
    some_nodes(3)
    order = place_order(spec=a_build(team.slug, 2), requested_for="T-1/1", by=None)
    assert (order.status, order.cluster.status) == ("reserved", "building")  # type: ignore[union-attr]
    assert Reservation.objects.filter(order=order, cluster=order.cluster, released_at=None).count() == 2
    assert list(Event.objects.order_by("pk").values_list("name", flat=True)) == [
        "order.placed",
        "nodes.reserved",
    ]
    assert Event.objects.get(name="order.placed").payload["for"] == "T-1/1"


@pytest.mark.django_db
def test_too_few_nodes_are_refused_with_the_nearest_yes_and_nothing_is_left(team: Team) -> None:
    some_nodes(3)
    Node.objects.filter(name="gpu-001").update(spare=True)
    with pytest.raises(Refused) as refusal:
        place_order(spec=a_build(team.slug, 5), requested_for="T-1/1", by=None)
    assert refusal.value.code == "not-enough-nodes"
    assert refusal.value.data["nearest_yes"] == 2
    assert refusal.value.data["kept_back"] == 1
    assert not Order.objects.exists()
    assert not Cluster.objects.exists()
    assert not Event.objects.exists()
    assert Node.objects.filter(status="free").count() == 3


@pytest.mark.django_db
def test_a_refusal_says_when_the_next_lease_ends(team: Team) -> None:
    some_nodes(1)
    end = now() + timedelta(days=9)
    Cluster.objects.create(team=team, name="x", sku=a_sku(), status="ready", lease_end=end)
    with pytest.raises(Refused, match="next lease ends on"):
        place_order(spec=a_build(team.slug, 2), requested_for="", by=None)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("field", "more"),
    [
        ("nodes", {"nodes": 0}),
        ("nodes", {"nodes": -1}),
        ("nodes", {"nodes": 10**9}),
        ("cluster_name", {"cluster_name": "{{ lookup('pipe','id') }}"}),
        ("cluster_name", {"cluster_name": "Vision"}),
        ("cluster_name", {"cluster_name": "a\nb"}),
        ("driver_version", {"driver_version": "570; reboot"}),
        ("cluster_ref", {"cluster_ref": "C-1"}),
        ("lease_end", {"lease_end": now() - timedelta(days=1)}),
        ("accounts", {"accounts": (Account(name="root"),)}),
        ("accounts", {"accounts": (Account(name="ada\n"),)}),
        ("accounts", {"accounts": (Account(name="ada"), Account(name="ada"))}),
        ("accounts", {"accounts": (Account(name="ada", keys=('command="x" ssh-ed25519 AAAA',)),)}),
        ("storage_mounts", {"storage_mounts": (StorageMount(path="/etc", source="s:/x", fstype="nfs"),)}),
        (
            "storage_mounts",
            {"storage_mounts": (StorageMount(path="/d/../etc", source="s:/x", fstype="nfs"),)},
        ),
        ("storage_mounts", {"storage_mounts": (StorageMount(path="/d", source="-o x", fstype="nfs"),)}),
        (
            "storage_mounts",
            {"storage_mounts": (StorageMount(path="/d", source="s:/x", fstype="nfs", options="a b"),)},
        ),
    ],
)
def test_what_can_not_reach_a_node_safely_is_refused_by_field(
    team: Team, field: str, more: dict[str, object]
) -> None:
    some_nodes(1)
    with pytest.raises(Invalid) as wrong:
        place_order(spec=a_build(team.slug, **({"nodes": 1} | more)), requested_for="", by=None)  # type: ignore[arg-type]
    assert list(wrong.value.fields) == [field]
    assert not Order.objects.exists()


@pytest.mark.django_db
def test_an_unknown_team_or_sku_is_not_found(team: Team) -> None:
    some_nodes(1)
    with pytest.raises(NotFound, match="no team"):
        place_order(spec=a_build("nobody", 1), requested_for="", by=None)
    with pytest.raises(NotFound, match="Known: h100-sxm5-80g"):
        place_order(spec=a_build(team.slug, 1, sku="b300"), requested_for="", by=None)


@pytest.mark.django_db
def test_clusters_without_a_name_are_numbered_and_a_taken_name_is_refused(team: Team) -> None:
    some_nodes(4)
    for expected in ("vision-1", "vision-2"):
        order = place_order(spec=a_build(team.slug, 1), requested_for="", by=None)
        assert order.cluster.name == expected  # type: ignore[union-attr]
    with pytest.raises(Conflict, match="already"):
        place_order(spec=a_build(team.slug, 1, cluster_name="vision-1"), requested_for="", by=None)


@pytest.mark.django_db
def test_nodes_that_are_unfit_on_hold_dirty_or_of_another_kind_are_never_chosen(team: Team) -> None:
    nodes = some_nodes(4)
    some_nodes(2, sku=a_sku("a100-sxm4-80g"), prefix="old")
    Node.objects.filter(pk=nodes[0].pk).update(verdict="unfit")
    nodes[1].holds.create(owner="operator", reason_code="x", reason="x")
    order = place_order(spec=a_build(team.slug, 2), requested_for="", by=None)
    assert set(order.assignments.values_list("node__name", flat=True)) == {"gpu-003", "gpu-004"}


@pytest.mark.django_db
def test_the_database_refuses_a_second_reservation_of_a_node_for_the_same_time(team: Team) -> None:
    some_nodes(1)
    order = place_order(spec=a_build(team.slug, 1), requested_for="", by=None)
    first = Reservation.objects.get()
    with pytest.raises(IntegrityError, match="nobody_gets_the_same_node_twice"), transaction.atomic():
        Reservation.objects.create(node=first.node, order=order, period=DateTimeTZRange(now(), None))
    with pytest.raises(IntegrityError, match="reservation_ends_when_released"), transaction.atomic():
        Reservation.objects.filter(pk=first.pk).update(released_at=now())


@pytest.mark.django_db(transaction=True)
def test_many_teams_at_once_share_scarce_nodes_and_none_is_given_twice() -> None:
    some_nodes(10)
    teams = [a_team() for _ in range(8)]
    answers: list[str] = []
    start = threading.Barrier(len(teams))

    def ask(team: Team) -> None:
        try:
            start.wait()
            for _ in range(3):
                try:
                    place_order(spec=a_build(team.slug, 2), requested_for="", by=None)
                    answers.append("placed")
                except Refused:
                    answers.append("refused")
                except Conflict:
                    answers.append("contended")
        finally:
            connection.close()

    threads = [threading.Thread(target=ask, args=(team,)) for team in teams]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    told = Counter(answers)
    assert told["placed"] == 5, told
    assert told["placed"] + told["refused"] + told["contended"] == 24
    assert Order.objects.count() == Cluster.objects.count() == 5
    assert sorted(Counter(Assignment.objects.values_list("node", flat=True)).values()) == [1] * 10
    assert Reservation.objects.filter(released_at=None).count() == 10


@pytest.mark.django_db(transaction=True)
def test_an_order_steps_around_nodes_that_another_transaction_has_locked(team: Team) -> None:
    some_nodes(4)
    other = threading.Event()
    done = threading.Event()

    def lock_two() -> None:
        try:
            with transaction.atomic():
                list(Node.objects.select_for_update().filter(name__in=["gpu-001", "gpu-002"]))
                other.set()
                done.wait(timeout=30)
        finally:
            connection.close()

    thread = threading.Thread(target=lock_two)
    thread.start()
    other.wait(timeout=30)
    order = place_order(spec=a_build(team.slug, 2), requested_for="", by=None)
    done.set()
    thread.join(timeout=30)
    assert set(order.assignments.values_list("node__name", flat=True)) == {"gpu-003", "gpu-004"}


@pytest.mark.django_db(transaction=True)
def test_an_order_waits_for_a_transaction_that_gives_its_nodes_up(team: Team) -> None:
    some_nodes(2)
    locked = threading.Event()
    leave = threading.Event()

    def lock_and_give_up() -> None:
        try:
            with transaction.atomic():
                list(Node.objects.select_for_update().all())
                locked.set()
                leave.wait(timeout=0.5)
        finally:
            connection.close()

    thread = threading.Thread(target=lock_and_give_up)
    thread.start()
    locked.wait(timeout=30)
    order = place_order(spec=a_build(team.slug, 2), requested_for="", by=None)
    thread.join(timeout=30)
    assert order.assignments.count() == 2
