"""Does the API tell what validation found, to whom it may, in its one shape?"""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from portal.accounts.models import Team, User
from portal.accounts.services import issue_token
from portal.kernel.clock import now
from provisioning.contracts import VerdictValue
from provisioning.fleet.services import note_cluster_verdict
from provisioning.orders.models import Order
from provisioning.validation.services import judge_cluster, judge_sweep
from tests.provisioning.builders import some_nodes
from tests.provisioning.validation.healthy import probe
from tests.provisioning.validation.stored import all_of, an_order, client_of, held, measured, sent, together

pytestmark = pytest.mark.django_db
NAMES = ["gpu-001", "gpu-002", "gpu-003", "gpu-004"]


@pytest.fixture
def order(team: Team) -> Order:
    some_nodes(4)
    return an_order(team, 4)


def test_a_member_lists_the_reports_of_a_node(order: Order, member: User) -> None:
    judge_sweep(job=measured(all_of(NAMES), order=order))
    job = measured(all_of(NAMES, gpu_002=sent(0.94)), order=order)
    judge_sweep(job=job)
    client = client_of(member)
    told = client.get("/api/v1/nodes/gpu-002/reports").json()
    assert [one["verdict"] for one in told["results"]] == ["not_measured", "fit"]
    assert told["results"][0]["job"] == job.ref
    assert told["results"][0]["suspected_of"] == ["gemm_bf16"]
    assert told["results"][0]["verdict_aside"] == "fit"
    assert "findings" not in told["results"][0]
    assert [
        one["verdict"] for one in client.get("/api/v1/nodes/gpu-002/reports?verdict=fit").json()["results"]
    ] == ["fit"]
    page = client.get("/api/v1/nodes/gpu-002/reports?limit=1").json()
    assert len(page["results"]) == 1
    assert client.get(page["next"]).json()["results"][0]["verdict"] == "fit"
    for query in ("?verdict=fine", "?colour=red", "?limit=0"):
        answer = client.get(f"/api/v1/nodes/gpu-002/reports{query}")
        assert (answer.status_code, answer["Content-Type"]) == (422, "application/problem+json")


def test_a_member_reads_one_report_whole(order: Order, member: User) -> None:
    report = judge_sweep(job=measured(all_of(NAMES, gpu_002=sent(0.94)), order=order))["gpu-002"]
    told = client_of(member).get(f"/api/v1/nodes/gpu-002/reports/{report.pk}").json()
    score = told["scores"]["gemm_bf16"]
    assert (score["device"], score["unit"], score["runs"]) == ("gpu:5", "TFLOP/s", 3)
    assert score["by_device"]["gpu:0"] == pytest.approx(769.0)
    assert told["references"]["gemm_bf16"]["origin"] == "peers"
    assert told["references"]["gemm_bf16"]["nodes"] == 3
    assert told["ratios"]["gemm_bf16"] == told["speed"] == pytest.approx(0.94)
    assert "6.0% below its peers" in told["reasons"][0]
    found = next(one for one in told["findings"] if one["check_id"] == "gemm_bf16")
    assert (found["level"], found["evidence"]) == ("warn", ["gemm#1", "gemm#2", "gemm#3"])
    assert told["versions"]["driver"]
    assert told["baseline"].startswith("baseline-")


def test_the_levels_stay_three_answers(order: Order, member: User) -> None:
    report = judge_sweep(
        job=measured(all_of(NAMES, gpu_001=probe(outcomes={"gemm": "missing"})), order=order)
    )["gpu-001"]
    told = client_of(member).get(f"/api/v1/nodes/gpu-001/reports/{report.pk}").json()
    assert told["verdict"] == "not_measured"
    assert "gemm_bf16" not in told["scores"]
    levels = {one["level"] for one in told["findings"] if one["check_id"] == "gemm_bf16"}
    assert levels == {"not_measured"}


def test_a_cluster_tells_its_slowest_node_and_the_nodes_together(order: Order, member: User) -> None:
    assert order.cluster is not None
    client = client_of(member)
    address = f"/api/v1/clusters/{order.cluster.ref}/report"
    before = client.get(address).json()
    assert (before["verdict"], before["speed"], before["together"]) == (None, None, None)
    assert {one["report"] for one in before["nodes"]} == {None}
    reports = judge_sweep(job=measured(all_of(NAMES, gpu_002=sent(0.94)), order=order))
    job = measured({"gpu-001": together(200.0)}, order=order, playbook="validate_cluster")
    judge_cluster(cluster=order.cluster, job=job)
    note_cluster_verdict(
        cluster=order.cluster,
        verdict=VerdictValue.DEGRADED,
        at=now(),
        speed=0.94,
        slowest_node="gpu-002",
        gpu_hours_lost_per_day=46.08,
    )
    told = client.get(address).json()
    assert (told["verdict"], told["slowest_node"], told["gpu_hours_lost_per_day"]) == (
        "degraded",
        "gpu-002",
        46.08,
    )
    assert "46.1 of 768 GPU-hours a day" in told["words"]
    first = told["nodes"][0]
    assert (first["node"], first["report"], first["slowest_metric"]) == (
        "gpu-002",
        reports["gpu-002"].pk,
        "gemm_bf16",
    )
    assert (told["together"]["verdict"], told["together"]["busbw_gbps"]) == ("degraded", pytest.approx(200.0))


def test_strangers_get_404(order: Order, stranger: User) -> None:
    assert order.cluster is not None
    report = judge_sweep(job=measured(all_of(NAMES), order=order))["gpu-001"]
    client = client_of(stranger)
    for address in (
        "nodes/gpu-001/reports",
        f"nodes/gpu-001/reports/{report.pk}",
        f"clusters/{order.cluster.ref}/report",
        "clusters/C-999999/report",
        "clusters/x/report",
        "nodes/nobody/reports",
    ):
        assert client.get(f"/api/v1/{address}").status_code == 404, address


def test_a_token_needs_to_read_the_fleet(order: Order, member: User) -> None:
    report = judge_sweep(job=measured(all_of(NAMES), order=order))["gpu-001"]
    address = f"/api/v1/nodes/gpu-001/reports/{report.pk}"
    codes = {}
    for scope in ("fleet:read", "requests:read"):
        _, raw = issue_token(name=scope, scopes=[scope], by=member)
        codes[scope] = Client().get(address, headers={"Authorization": f"Bearer {raw}"}).status_code
    assert codes == {"fleet:read": 200, "requests:read": 403}
    assert Client().get(address).status_code == 401


def test_lists_ask_the_database_as_often_for_many_as_for_few(
    team: Team, operator: User, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    some_nodes(10)
    counts = []
    client = client_of(operator)
    for nodes in (2, 8):
        order = an_order(team, nodes, name=f"train-{nodes}")
        assert order.cluster is not None
        for _ in range(nodes):
            judge_sweep(job=measured(all_of(held(order)), order=order))
        first = held(order)[0]
        for address in (f"/api/v1/nodes/{first}/reports", f"/api/v1/clusters/{order.cluster.ref}/report"):
            with django_assert_max_num_queries(20) as asked:
                assert client.get(address).status_code == 200
            counts.append(len(asked))
    assert counts[:2] == counts[2:]


def test_the_addresses_are_mounted_and_described(client: Client) -> None:
    assert reverse("api:node-reports", args=["gpu-001"]) == "/api/v1/nodes/gpu-001/reports"
    paths = client.get("/api/v1/schema").json()["paths"]
    shown = paths["/api/v1/nodes/{name}/reports/{report_id}"]["get"]
    assert shown["operationId"] == "nodes_reports_show"
    assert "/api/v1/clusters/{ref}/report" in paths
