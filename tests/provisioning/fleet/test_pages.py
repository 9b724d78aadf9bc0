"""Do the pages and the API of nodes show, narrow and change what they should?"""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from portal.accounts.models import Team, User
from provisioning.fleet.models import Node
from provisioning.fleet.services import quarantine_node
from provisioning.orders.services import place_order
from tests.provisioning.builders import a_build, some_nodes

pytestmark = pytest.mark.django_db


def client_of(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def shown(client: Client, query: str = "") -> list[str]:
    return [node.name for node in client.get(reverse("nodes:list") + query).context["nodes"]]


def test_an_operator_narrows_nodes_by_state_sku_rack_and_name(operator: User) -> None:
    some_nodes(6)
    quarantine_node(node=Node.objects.get(name="gpu-002"), reason_code="unfit", reason="x", by=None)
    client = client_of(operator)
    assert len(shown(client)) == 6
    assert shown(client, "?state=out") == ["gpu-002"]
    assert shown(client, "?state=free&rack=r2") == ["gpu-005", "gpu-006"]
    assert shown(client, "?q=GPU-00&sku=h100-sxm5-80g&rack=r2") == ["gpu-005", "gpu-006"]
    assert shown(client, "?q=10.0.0.2") == ["gpu-001"]
    assert shown(client, "?sku=b300") == []
    assert client.get(reverse("nodes:list") + "?state=x").status_code == 422
    assert shown(client, "?q=%25") == []


def test_the_map_draws_racks(operator: User) -> None:
    some_nodes(6)
    page = client_of(operator).get(reverse("nodes:list") + "?view=map")
    assert [(rack, len(members)) for rack, members in page.context["racks"]] == [("r1", 4), ("r2", 2)]
    assert "gpu-006: free" in page.content.decode()


def test_long_lists_are_cut_and_the_rest_is_reached(operator: User) -> None:
    some_nodes(53)
    client = client_of(operator)
    page = client.get(reverse("nodes:list"))
    assert len(page.context["nodes"]) == 50
    assert shown(client, page.context["older_url"]) == ["gpu-051", "gpu-052", "gpu-053"]


def test_lists_cost_the_same_queries_for_few_and_many_nodes(
    operator: User, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    client = client_of(operator)
    for count in (1, 60):
        some_nodes(count, prefix=f"of-{count}")
        with django_assert_max_num_queries(10):
            client.get(reverse("nodes:list"))
        with django_assert_max_num_queries(10):
            client.get(reverse("nodes:list") + "?view=map")
        with django_assert_max_num_queries(4):
            client.get("/api/v1/nodes")


def test_infra_sees_holds_and_history_and_a_member_does_not(team: Team, member: User, triager: User) -> None:
    some_nodes(1)
    place_order(spec=a_build(team.slug, 1), requested_for="", by=None)
    node = Node.objects.get()
    quarantine_node(node=node, reason_code="by-hand", reason="smells of smoke", owner="operator", by=None)
    place_order_page = reverse("nodes:detail", args=["gpu-001"])
    assert "smells of smoke" in client_of(triager).get(place_order_page).content.decode()


def test_a_member_sees_the_node_but_not_what_infra_says_of_it(team: Team, member: User) -> None:
    some_nodes(1)
    place_order(spec=a_build(team.slug, 1), requested_for="", by=None)
    Node.objects.get().holds.create(owner="operator", reason_code="x", reason="smells of smoke")
    page = client_of(member).get(reverse("nodes:detail", args=["gpu-001"])).content.decode()
    assert "10.0.0.2" in page
    assert "smells of smoke" not in page
    assert "Take it out" not in page
    assert client_of(member).get("/api/v1/nodes/gpu-001").json()["holds"] == []


def test_an_operator_holds_closes_and_moves_a_node_by_hand(operator: User) -> None:
    node = some_nodes(1)[0]
    client = client_of(operator)
    assert client.post(reverse("nodes:hold", args=[node.name]), {"reason": " "}).status_code == 422
    assert client.post(reverse("nodes:hold", args=[node.name]), {"reason": "loud fan"}).status_code == 302
    hold = node.holds.get()
    assert (hold.reason, hold.opened_by, hold.owner) == ("loud fan", operator, "operator")
    assert client.post(reverse("nodes:act", args=[node.name]), {"action": "repair"}).status_code == 302
    node.refresh_from_db()
    assert node.status == "repairing"
    assert client.post(reverse("nodes:act", args=[node.name]), {"action": "reserve"}).status_code == 422
    assert client.post(reverse("nodes:act", args=[node.name]), {"action": "x"}).status_code == 422
    url = reverse("nodes:close-hold", args=[node.name, hold.pk])
    assert client.post(url, {"reason": "new fan"}).status_code == 302
    assert client.post(reverse("nodes:close-hold", args=[node.name, 999])).status_code == 404
    page = client.get(reverse("nodes:detail", args=[node.name])).content.decode()
    assert "new fan" in page


def test_triagers_may_look_but_not_touch(triager: User) -> None:
    node = some_nodes(1)[0]
    client = client_of(triager)
    assert client.get(reverse("nodes:detail", args=[node.name])).status_code == 200
    assert client.post(reverse("nodes:hold", args=[node.name]), {"reason": "x"}).status_code == 403


def test_the_api_tells_nodes_skus_and_capacity(operator: User, member: User) -> None:
    some_nodes(3)
    client = client_of(operator)
    told = client.get("/api/v1/nodes?state=free&limit=2").json()
    assert [one["name"] for one in told["results"]] == ["gpu-001", "gpu-002"]
    assert client.get(told["next"]).json()["results"][0]["name"] == "gpu-003"
    assert client.get("/api/v1/nodes/gpu-001").json()["rack"] == "r1"
    assert client.get("/api/v1/nodes?colour=red").status_code == 422
    other = client_of(member)
    assert other.get("/api/v1/nodes").json()["results"] == []
    assert other.get("/api/v1/capacity/h100-sxm5-80g").json()["free"] == 3
    assert other.get("/api/v1/capacity").json()[0]["sku"] == "h100-sxm5-80g"
    assert other.get("/api/v1/capacity/x").status_code == 404
    assert other.get("/api/v1/skus").json()[0]["gpus_per_node"] == 8


def test_an_operator_takes_a_node_out_by_api(operator: User, triager: User) -> None:
    some_nodes(1)
    body = {"reason": "loud fan"}
    url = "/api/v1/nodes/gpu-001/hold"
    assert client_of(triager).post(url, body, content_type="application/json").status_code == 403
    told = client_of(operator).post(url, body, content_type="application/json").json()
    assert (told["state"], told["holds"][0]["reason"]) == ("quarantined", "loud fan")
    assert client_of(operator).post(url, {}, content_type="application/json").status_code in (400, 422)
