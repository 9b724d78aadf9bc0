"""Are holds, verdicts and moves of nodes kept as promised, and are they scoped?"""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import AnonymousUser
from django.db import IntegrityError, transaction
from pytest_django import DjangoAssertNumQueries

from portal.accounts.models import Team, User
from portal.kernel.clock import now
from portal.kernel.errors import IllegalMove, LostRace, Refused
from portal.ledger.models import Event
from provisioning.contracts import VerdictValue
from provisioning.fleet.models import Cluster, Node
from provisioning.fleet.queries import capacities
from provisioning.fleet.services import close_hold, move_node, note_verdict, quarantine_node
from provisioning.fleet.states import NodeAction
from provisioning.orders.services import place_order
from tests.provisioning.builders import a_build, a_sku, some_nodes

pytestmark = pytest.mark.django_db


def test_a_quarantined_node_keeps_its_evidence_and_leaves_the_pool(operator: User) -> None:
    node = some_nodes(1)[0]
    quarantine_node(node=node, reason_code="unfit", reason="7 of 8", evidence={"gpus": 7}, by=operator)
    assert (node.status, node.holds.get().evidence) == ("quarantined", {"gpus": 7})
    assert not Node.objects.placeable().exists()
    event = Event.objects.get(name="node.quarantined")
    assert (event.subject, event.actor, event.payload["reason"]) == ("node:gpu-001", operator, "7 of 8")


def test_the_same_hold_twice_is_one_hold_and_one_event() -> None:
    node = some_nodes(1)[0]
    for _ in range(2):
        quarantine_node(node=node, reason_code="unfit", reason="7 of 8", by=None)
    assert (node.holds.count(), Event.objects.count()) == (1, 1)


def test_closing_a_hold_does_not_bring_the_node_back_and_works_once(operator: User) -> None:
    node = some_nodes(1)[0]
    hold = quarantine_node(node=node, reason_code="by-hand", reason="loud", owner="operator", by=operator)
    close_hold(hold=hold, note="new fan", by=operator)
    node.refresh_from_db()
    assert node.status == "quarantined"
    with pytest.raises(LostRace):
        close_hold(hold=hold, note="", by=operator)


def test_an_operator_retires_and_reinstates_by_hand_but_reserves_nothing(operator: User) -> None:
    node = some_nodes(1)[0]
    for action, status in (
        (NodeAction.RETIRE, "retired"),
        (NodeAction.REINSTATE, "registered"),
        (NodeAction.ADMIT, "free"),
    ):
        assert move_node(node=node, action=action, note="", by=operator).status == status
    with pytest.raises(Refused, match="by hand"):
        move_node(node=node, action=NodeAction.RESERVE, note="", by=operator)
    with pytest.raises(IllegalMove):
        move_node(node=node, action=NodeAction.END_REPAIR, note="", by=operator)


def test_an_older_verdict_never_replaces_a_newer_one() -> None:
    node = some_nodes(1)[0]
    note_verdict(node=node, verdict=VerdictValue.FIT, speed=1.0, at=now())
    note_verdict(node=node, verdict=VerdictValue.UNFIT, speed=0.1, at=now() - timedelta(hours=1))
    node.refresh_from_db()
    assert (node.verdict, node.speed) == ("fit", 1.0)


def test_the_database_lets_no_dirty_node_be_free_and_no_simulated_one_look_real() -> None:
    node = some_nodes(1)[0]
    for change in ({"needs_wipe": True}, {"simulated": False}, {"simulated_node_dir": ""}, {"speed": -1}):
        with pytest.raises(IntegrityError), transaction.atomic():
            Node.objects.filter(pk=node.pk).update(**change)


def test_a_team_sees_the_nodes_of_its_clusters_and_nothing_else(
    team: Team, member: User, stranger: User, triager: User
) -> None:
    some_nodes(4)
    place_order(spec=a_build(team.slug, 2), requested_for="", by=None)
    assert Node.objects.visible_to(member).count() == 2
    assert Node.objects.visible_to(triager).count() == 4
    assert not Node.objects.visible_to(stranger).exists()
    assert not Node.objects.visible_to(AnonymousUser()).exists()
    assert Cluster.objects.visible_to(member).count() == 1
    assert not Cluster.objects.visible_to(stranger).exists()


def test_a_person_who_was_shut_out_sees_nothing(team: Team, member: User) -> None:
    some_nodes(2)
    place_order(spec=a_build(team.slug, 2), requested_for="", by=None)
    member.is_active = False
    assert not Node.objects.visible_to(member).exists()
    assert not Cluster.objects.visible_to(member).exists()


def test_capacity_counts_every_node_once_and_says_why_some_are_out(team: Team) -> None:
    nodes = some_nodes(10)
    a_sku("a100-sxm4-80g")
    Node.objects.filter(name="gpu-010").update(spare=True)
    quarantine_node(node=nodes[0], reason_code="unfit", reason="x", by=None)
    Node.objects.filter(name="gpu-002").update(status="registered")
    Node.objects.filter(name="gpu-003").update(status="retired")
    place_order(spec=a_build(team.slug, 3), requested_for="", by=None)
    told = capacities()["h100-sxm5-80g"]
    assert (told.total, told.free, told.spares, told.reserved, told.out) == (9, 3, 1, 3, 2)
    assert told.reasons == {"unfit": 1, "registered": 1}
    assert capacities()["a100-sxm4-80g"].total == 0


def test_capacity_costs_the_same_queries_however_many_nodes_and_skus_there_are(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    some_nodes(3)
    with django_assert_num_queries(4):
        capacities()
    for number in range(5):
        some_nodes(10, sku=a_sku(f"sku-{number}"), prefix=f"x{number}")
    with django_assert_num_queries(4):
        capacities()
