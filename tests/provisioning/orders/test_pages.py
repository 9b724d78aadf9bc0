"""Do pages and API of orders and clusters show what the person may see, and let them do what they may?"""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from portal.accounts.models import Team, User
from provisioning.fleet.models import Cluster, Node
from provisioning.fleet.services import quarantine_node
from provisioning.orders.advancing import advance
from provisioning.orders.models import Order
from provisioning.orders.services import place_order
from tests.provisioning.builders import FakeJudge, a_build, some_nodes, step

pytestmark = pytest.mark.django_db


def client_of(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def order(team: Team, fake_judge: FakeJudge) -> Order:
    some_nodes(4)
    fake_judge.unfit = {"gpu-001": "7 of 8 GPUs"}
    made = place_order(spec=a_build(team.slug, 2), requested_for="T-1/1", by=None)
    advance(order_id=made.pk)
    return made


@pytest.fixture
def cluster(order: Order) -> Cluster:
    while not order.is_final:
        step(order)
    return Cluster.objects.get()


def test_a_member_follows_the_order_and_the_page_asks_again_until_it_is_over(
    order: Order, member: User, cluster: Cluster
) -> None:
    page = client_of(member).get(reverse("orders:detail", args=[order.ref])).content.decode()
    assert "gpu-001 → gpu-003" in page
    assert "7 of 8 GPUs" in page
    assert 'hx-trigger="every 3s"' not in page
    assert "Cancel O-" not in page


def test_a_running_order_is_polled_by_its_part_alone(order: Order, member: User) -> None:
    client = client_of(member)
    url = reverse("orders:detail", args=[order.ref])
    assert 'hx-trigger="every 3s"' in client.get(url).content.decode()
    part = client.get(url, headers={"HX-Request": "true"}).content.decode()
    assert "<html" not in part
    assert "Provision the nodes" in part


def test_only_leads_and_operators_see_and_use_the_buttons(
    order: Order, member: User, lead: User, operator: User, triager: User
) -> None:
    url = reverse("orders:cancel", args=[order.ref])
    for user in (member, triager):
        assert client_of(user).post(url).status_code == 403
    for user in (lead, operator):
        page = client_of(user).get(reverse("orders:detail", args=[order.ref])).content.decode()
        assert f"Cancel {order.ref}" in page
    assert client_of(lead).post(url, {"reason": "no need"}).status_code == 302
    order.refresh_from_db()
    assert (order.status, order.reason) == ("cancelled", "no need")


def test_a_lead_releases_the_cluster_from_its_page(cluster: Cluster, lead: User, member: User) -> None:
    url = reverse("clusters:release", args=[cluster.ref])
    assert client_of(member).post(url).status_code == 403
    page = client_of(lead).get(reverse("clusters:detail", args=[cluster.ref])).content.decode()
    assert "Release vision-1" in page
    assert "data-confirm" in page
    answer = client_of(lead).post(url, {"reason": "done"})
    assert answer.status_code == 302
    cluster.refresh_from_db()
    assert cluster.status == "releasing"
    assert client_of(lead).post(url).status_code == 409


def test_the_cluster_page_tells_how_to_connect(cluster: Cluster, member: User) -> None:
    page = client_of(member).get(reverse("clusters:detail", args=[cluster.ref])).content.decode()
    assert "ssh ada@10.0.0.3" in page
    assert "srun --partition=vision-1" in page
    assert "simulated" in page


@pytest.mark.parametrize("method", ["get", "post"])
def test_a_stranger_finds_nothing(order: Order, cluster: Cluster, stranger: User, method: str) -> None:
    client = client_of(stranger)
    urls = {
        "get": [
            reverse("orders:detail", args=[order.ref]),
            reverse("clusters:detail", args=[cluster.ref]),
            reverse("nodes:detail", args=["gpu-002"]),
            f"/api/v1/orders/{order.ref}",
            f"/api/v1/clusters/{cluster.ref}",
            "/api/v1/nodes/gpu-002",
        ],
        "post": [
            reverse("orders:cancel", args=[order.ref]),
            reverse("clusters:release", args=[cluster.ref]),
            reverse("nodes:hold", args=["gpu-002"]),
            reverse("nodes:act", args=["gpu-002"]),
            reverse("orders:recheck", args=["gpu-002"]),
            f"/api/v1/orders/{order.ref}/cancel",
            f"/api/v1/clusters/{cluster.ref}/release",
            "/api/v1/nodes/gpu-002/recheck",
        ],
    }
    for url in urls[method]:
        more = {"content_type": "application/json"} if "/api/" in url else {}
        assert getattr(client, method)(url, **more).status_code == 404, url
    for name in ("orders:list", "clusters:list", "nodes:list"):
        page = client.get(reverse(name)).content.decode()
        assert "vision-1" not in page
        assert "gpu-002" not in page


def test_nobody_signed_out_sees_anything(cluster: Cluster) -> None:
    for name in ("orders:list", "clusters:list", "nodes:list"):
        assert Client().get(reverse(name)).status_code == 302
    assert Client().get("/api/v1/clusters").status_code == 401


def test_the_api_tells_the_order_and_the_cluster(order: Order, cluster: Cluster, member: User) -> None:
    client = client_of(member)
    told = client.get(f"/api/v1/orders/{order.ref}").json()
    assert (told["state"], told["progress"], told["cluster"]) == ("ready", 1.0, cluster.ref)
    assert told["swaps"][0]["old"] == "gpu-001"
    assert [one["name"] for one in told["members"]] == ["gpu-002", "gpu-003"]
    told = client.get(f"/api/v1/clusters/{cluster.ref}").json()
    assert (told["state"], told["gpus"], told["verdict"], told["order"]) == ("ready", 16, "fit", order.ref)


def test_the_api_lists_in_pages_and_refuses_unknown_filters(cluster: Cluster, member: User) -> None:
    client = client_of(member)
    assert [one["ref"] for one in client.get("/api/v1/clusters?state=living").json()["results"]] == [
        cluster.ref
    ]
    assert client.get("/api/v1/clusters?state=released").json()["results"] == []
    assert client.get("/api/v1/orders?kind=build").json()["next"] is None
    for wrong in (
        "clusters?state=x",
        "orders?state=x",
        "orders?kind=x",
        "orders?stat=ready",
        "clusters?limit=0",
    ):
        assert client.get(f"/api/v1/{wrong}").status_code == 422, wrong


def test_a_lead_releases_by_api_and_gets_the_order_that_does_it(cluster: Cluster, lead: User) -> None:
    answer = client_of(lead).post(
        f"/api/v1/clusters/{cluster.ref}/release", {"reason": "done"}, content_type="application/json"
    )
    assert (answer.status_code, answer.json()["kind"]) == (202, "release")


def test_an_operator_rechecks_by_page_and_by_api(operator: User, member: User) -> None:
    for node in some_nodes(2):
        quarantine_node(node=node, reason_code="unfit", reason="x", by=None)
    client = client_of(operator)
    assert client.post(reverse("orders:recheck", args=["gpu-001"])).status_code == 302
    answer = client.post("/api/v1/nodes/gpu-002/recheck", content_type="application/json")
    assert (answer.status_code, answer.json()["kind"]) == (202, "recheck")
    assert Node.objects.filter(status="draining").count() == 2


def test_an_operator_changes_the_lease_and_nobody_else(cluster: Cluster, operator: User, lead: User) -> None:
    url = reverse("clusters:lease", args=[cluster.ref])
    assert client_of(lead).post(url, {"until": "2099-01-31"}).status_code == 403
    client = client_of(operator)
    assert client.post(url, {"until": "2099-01-31"}).status_code == 302
    cluster.refresh_from_db()
    assert str(cluster.lease_end) == "2099-01-31 23:59:59+00:00"
    for wrong in ("2001-01-01", "soon"):
        assert client.post(url, {"until": wrong}).status_code == 422
    client.post(url, {"until": ""})
    cluster.refresh_from_db()
    assert cluster.lease_end is None


def test_what_a_person_wrote_is_shown_as_text(order: Order, lead: User) -> None:
    evil = "<script>alert(1)</script>{{ 7*7 }}\u202e"
    client_of(lead).post(reverse("orders:cancel", args=[order.ref]), {"reason": evil})
    page = client_of(lead).get(reverse("orders:detail", args=[order.ref])).content.decode()
    assert "<script>alert" not in page
    assert "{{ 7*7 }}" in page


@pytest.mark.parametrize("name", ["orders:list", "clusters:list"])
def test_lists_cost_the_same_queries_for_few_and_many_rows(
    team: Team, operator: User, name: str, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    some_nodes(40)
    client = client_of(operator)
    for wanted in (1, 30):
        while Order.objects.count() < wanted:
            made = place_order(spec=a_build(team.slug, 1), requested_for="", by=None)
            advance(order_id=made.pk)
        with django_assert_max_num_queries(9):
            client.get(reverse(name))
        url = f"/api/v1/{name.split(':')[0]}"
        with django_assert_max_num_queries(9):
            assert len(client.get(url).json()["results"]) == wanted


def test_lists_are_cut_into_pages(team: Team, operator: User, settings: Any) -> None:
    some_nodes(55)
    for _ in range(52):
        place_order(spec=a_build(team.slug, 1), requested_for="", by=None)
    client = client_of(operator)
    page = client.get(reverse("orders:list"))
    assert len(page.context["orders"]) == 50
    rest = client.get(reverse("orders:list") + page.context["older_url"])
    assert len(rest.context["orders"]) == 2
    assert client.get(reverse("orders:list") + "?before=x").status_code == 422
