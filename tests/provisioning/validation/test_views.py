"""Do the pages of validation show what was found, to those who may see it, and nothing that acts?"""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from portal.accounts.models import Team, User
from portal.kernel.clock import now
from provisioning.contracts import VerdictValue
from provisioning.fleet.services import note_cluster_verdict
from provisioning.orders.models import Order
from provisioning.validation import queries, shown
from provisioning.validation.models import Report
from provisioning.validation.services import judge_cluster, judge_reruns, judge_sweep
from tests.provisioning.builders import some_nodes
from tests.provisioning.validation.healthy import evidence, kernel_log, probe, smi_xml
from tests.provisioning.validation.stored import (
    all_of,
    an_order,
    client_of,
    held,
    measured,
    rerun,
    sent,
    together,
)

pytestmark = pytest.mark.django_db
NAMES = ["gpu-001", "gpu-002", "gpu-003", "gpu-004"]
EVIL = "<script>alert(1)</script><img src=x onerror=alert(2)>{{ 7*7 }}{% now 'Y' %}"


class Elements(HTMLParser):
    """Tags and attributes of a page, as a browser reads them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def is_inert(page: str) -> bool:
    found = Elements(page).found
    acts = [attrs for _, attrs in found if any(name.startswith("on") for name in attrs)]
    scripts = [attrs for tag, attrs in found if tag == "script" and not attrs.get("src")]
    return not acts and not scripts


def page(client: Client, report: Report, query: str = "") -> str:
    response = client.get(reverse("validation:report", args=[report.node.name, report.pk]) + query)
    assert response.status_code == 200
    return response.content.decode()


@pytest.fixture
def order(team: Team) -> Order:
    some_nodes(4)
    return an_order(team, 4)


def test_a_member_reads_the_report_of_a_node_of_the_team(order: Order, member: User) -> None:
    reports = judge_sweep(job=measured(all_of(NAMES, gpu_002=sent(0.94)), order=order))
    text = page(client_of(member), reports["gpu-002"])
    assert "nobody knows yet whether it is fit" in text
    assert "6.0% below its peers" in text
    assert "Aside of what is to be measured again it is fit" in text
    assert "3 other nodes of the same sweep" in text
    assert "94.0 %" in text
    assert 'data-state="not_measured"' in text
    assert '<svg role="img"' in text
    assert "simulated" in text
    assert reverse("jobs:detail", args=[reports["gpu-002"].job.ref]) in text


def test_strangers_get_404_everywhere(order: Order, stranger: User, operator: User) -> None:
    report = judge_sweep(job=measured(all_of(NAMES), order=order))["gpu-001"]
    addresses = [
        reverse("validation:node", args=["gpu-001"]),
        reverse("validation:newest", args=["gpu-001"]),
        reverse("validation:report", args=["gpu-001", report.pk]),
        reverse("validation:evidence", args=["gpu-001", report.pk, "gemm"]),
    ]
    assert [client_of(stranger).get(address).status_code for address in addresses] == [404] * 4
    assert [client_of(operator).get(address).status_code for address in addresses] == [200, 302, 200, 200]
    assert [Client().get(address).status_code for address in addresses] == [302] * 4  # to sign in


def test_a_member_reads_no_report_from_before_the_team_had_the_node(team: Team, member: User) -> None:
    some_nodes(4)
    early = judge_sweep(job=measured(all_of(NAMES)))["gpu-001"]
    an_order(team, 4)
    client = client_of(member)
    assert client.get(reverse("validation:report", args=["gpu-001", early.pk])).status_code == 404
    assert client.get(reverse("validation:evidence", args=["gpu-001", early.pk, "mounts"])).status_code == 404
    listed = client.get(reverse("validation:node", args=["gpu-001"])).content.decode()
    assert "Never measured" in listed


def test_the_three_answers_are_told_apart(operator: User) -> None:
    some_nodes(4)
    odd = probe(once={"nvidia-smi-xml": smi_xml(drop=(3,), attached=7)}, outcomes={"lspci": "missing"})
    report = judge_sweep(job=measured(all_of(NAMES, gpu_001=odd)))["gpu-001"]
    client = client_of(operator)
    response = client.get(reverse("validation:report", args=["gpu-001", report.pk]))
    groups = {group.level: group for group in response.context["groups"]}
    assert list(groups) == ["fail", "warn", "not_measured", "pass"]
    for level, group in groups.items():
        assert group.count == report.findings.filter(level=level).count()
        assert {row.level for row in group.rows} <= {level}
    assert "gpu_count" in {row.check_id for row in groups["fail"].rows}
    assert groups["not_measured"].count > 0
    text = response.content.decode()
    assert "Unfit: work on it would fail" in text
    assert "lspci is not installed" in text


def test_a_metric_that_was_not_measured_says_why_and_shows_no_number(operator: User) -> None:
    some_nodes(4)
    report = judge_sweep(job=measured(all_of(NAMES, gpu_001=probe(outcomes={"gemm": "timed_out"}))))[
        "gpu-001"
    ]
    response = client_of(operator).get(reverse("validation:report", args=["gpu-001", report.pk]))
    row = next(row for row in response.context["metrics"] if row.metric == "gemm_bf16")
    assert (row.state, row.value, row.ratio) == ("not_measured", None, None)
    assert "did not answer in time" in row.why
    assert row.why in response.content.decode()


def test_a_report_of_nothing_has_a_page(operator: User) -> None:
    some_nodes(1)
    report = judge_sweep(job=measured({"gpu-001": {"schema": 9}}))["gpu-001"]
    text = page(client_of(operator), report)
    assert "nothing can be judged" in text
    assert "keeps no evidence" in text
    assert "<svg role=" not in text


def test_the_figure_is_of_the_metric_that_was_asked_for(operator: User) -> None:
    some_nodes(4)
    report = judge_sweep(job=measured(all_of(NAMES, gpu_001=sent(0.94))))["gpu-001"]
    client = client_of(operator)
    first = page(client, report)
    assert "gpu-001 reaches 722.86 to 769 TFLOP/s, slowest on gpu:5. 3 other nodes reach 769 to 769." in first
    other = page(client, report, "?metric=mem_bw")
    assert "GPU memory bandwidth of gpu-001, GB/s" in other
    address = reverse("validation:report", args=["gpu-001", report.pk])
    assert client.get(address + "?metric=x").status_code == 422


def test_a_rerun_says_how_suspicion_ended_and_leads_to_both_evidences(operator: User) -> None:
    some_nodes(4)
    sweep = judge_sweep(job=measured(all_of(NAMES, gpu_002=sent(0.94))))["gpu-002"]
    again = judge_reruns(job=measured({"gpu-002": rerun(0.94), "gpu-001": rerun()}), control="gpu-001")[
        "gpu-002"
    ]
    text = page(client_of(operator), again)
    assert "confirmed, low in 3 of 3 reruns" in text
    assert "to be measured again" not in text
    for report in (sweep, again):
        assert reverse("validation:evidence", args=["gpu-002", report.pk, "gemm"]) in text
    assert reverse("validation:report", args=["gpu-002", sweep.pk]) in text


def test_evidence_is_shown_as_text_and_nothing_else(operator: User) -> None:
    some_nodes(1)
    raw = (EVIL + "\x1b[2J\x00\u202egnp.exe\r\nsecond line").encode() + b"\xff"
    rows = [*sent()["evidence"], evidence("odd-tool", raw)]
    rows[-1] |= {"command": ["odd", EVIL], "stderr": EVIL}
    report = judge_sweep(job=measured({"gpu-001": {**sent(), "evidence": rows}}))["gpu-001"]
    client = client_of(operator)
    text = client.get(
        reverse("validation:evidence", args=["gpu-001", report.pk, "odd-tool"])
    ).content.decode()
    assert is_inert(text)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert "{{ 7*7 }}" in text
    assert "␛[2J␀\\u202egnp.exe\nsecond line\ufffd" in text
    assert is_inert(page(client, report))


def test_words_of_a_node_render_inert_in_its_report_and_lists(operator: User) -> None:
    some_nodes(1)
    told = probe(
        once={
            "kernel": f"6.8{EVIL.replace(' ', '')}\u202e\n".encode(),
            "kernel-log": kernel_log(f"NVRM: Xid (PCI:0000:1b:00): 79, {EVIL}\u202e"),
            "nvidia-smi-xml": smi_xml().replace(
                b"NVIDIA H100 80GB HBM3", b"&lt;script&gt;alert(3)&lt;/script&gt;"
            ),
        }
    )
    told["evidence"].append(evidence("a/b <script>", EVIL.encode()))
    report = judge_sweep(job=measured({"gpu-001": told}))["gpu-001"]
    client = client_of(operator)
    for address in (
        reverse("validation:report", args=["gpu-001", report.pk]),
        reverse("validation:node", args=["gpu-001"]),
        reverse("nodes:detail", args=["gpu-001"]),
    ):
        text = client.get(address).content.decode()
        assert is_inert(text), address
    assert "\u202e" not in page(client, report)
    assert "&lt;script&gt;" in page(client, report)


def test_evidence_that_was_not_sent_is_404(operator: User) -> None:
    some_nodes(2)
    reports = judge_sweep(job=measured(all_of(NAMES[:2])))
    client = client_of(operator)
    own = f"/nodes/gpu-001/reports/{reports['gpu-001'].pk}/evidence"
    assert client.get(f"{own}/gemm/?run=3").status_code == 200
    for address in (
        f"{own}/gemm/?run=4",
        f"{own}/gemm/?run={10**30}",
        f"{own}/gemm/?run=x",
        f"{own}/gemm/?run=-1",
        f"{own}/passwd/",
        f"{own}/..%2f..%2fetc%2fpasswd/",
        f"{own}/{'x' * 500}/",
        f"/nodes/gpu-002/reports/{reports['gpu-001'].pk}/evidence/gemm/",
        f"/nodes/gpu-001/reports/{10**30}/evidence/gemm/",
    ):
        assert client.get(address).status_code == 404, address


def test_long_output_is_cut_in_the_middle(operator: User) -> None:
    some_nodes(1)
    raw = b"first line\n" + b"x" * 300_000 + b"\nlast line"
    told = {**sent(), "evidence": [*sent()["evidence"], evidence("long", raw)]}
    report = judge_sweep(job=measured({"gpu-001": told}))["gpu-001"]
    text = (
        client_of(operator)
        .get(reverse("validation:evidence", args=["gpu-001", report.pk, "long"]))
        .content.decode()
    )
    assert "first line" in text
    assert "last line" in text
    assert f"{len(raw) - shown.LIMIT} bytes are left out here" in text
    assert text.count("x" * 1000) < 201


def test_reports_are_listed_newest_first_in_pages(operator: User) -> None:
    some_nodes(1)
    made = [
        judge_sweep(job=measured({"gpu-001": {"schema": 9}}))["gpu-001"].pk for _ in range(queries.PAGE + 2)
    ]
    client = client_of(operator)
    address = reverse("validation:node", args=["gpu-001"])
    first = client.get(address)
    assert [report.pk for report, _ in first.context["rows"]] == made[:1:-1]
    second = client.get(address + first.context["older"])
    assert [report.pk for report, _ in second.context["rows"]] == made[1::-1]
    assert client.get(address + "?cursor=x").status_code == 422
    newest = client.get(reverse("validation:newest", args=["gpu-001"]))
    assert newest["Location"] == reverse("validation:report", args=["gpu-001", made[-1]])


def test_a_node_that_was_never_measured_says_so(operator: User) -> None:
    some_nodes(1)
    client = client_of(operator)
    assert (
        "Never measured"
        in client.get(reverse("validation:newest", args=["gpu-001"]), follow=True).content.decode()
    )
    assert (
        "There is no report of this node yet"
        in client.get(reverse("nodes:detail", args=["gpu-001"])).content.decode()
    )


def test_the_page_of_a_node_shows_its_newest_report(order: Order, member: User) -> None:
    judge_sweep(job=measured(all_of(NAMES), order=order))
    newest = judge_sweep(job=measured(all_of(NAMES, gpu_001=sent(0.7)), order=order))["gpu-001"]
    text = client_of(member).get(reverse("nodes:detail", args=["gpu-001"])).content.decode()
    assert reverse("validation:report", args=["gpu-001", newest.pk]) in text
    assert "Degraded: work runs on it" in text


def as_ready(order: Order, **figures: object) -> None:
    """What an order writes on its cluster when it is delivered."""
    assert order.cluster is not None
    told = {
        "speed": 0.94,
        "slowest_node": "gpu-002",
        "gpu_hours_lost_per_day": 46.1,
        "busbw_gbps": 355.0,
    } | figures
    note_cluster_verdict(cluster=order.cluster, verdict=VerdictValue.FIT, at=now(), **told)  # type: ignore[arg-type]


def test_the_page_of_a_cluster_names_its_slowest_node_and_what_it_costs(order: Order, member: User) -> None:
    assert order.cluster is not None
    judge_sweep(job=measured(all_of(NAMES, gpu_002=sent(0.94)), order=order))
    job = measured({"gpu-001": together(340.0)}, order=order, playbook="validate_cluster")
    judge_cluster(cluster=order.cluster, job=job)
    as_ready(order)
    text = client_of(member).get(reverse("clusters:detail", args=[order.cluster.ref])).content.decode()
    assert (
        "train runs at 94.0 % of its baseline: gpu-002 is its slowest node in bf16 matrix multiplication"
        in text
    )
    assert "46.1 of 768 GPU-hours a day are lost to waiting for it" in text
    assert "All-reduce over all GPUs: 340 of " in text
    rows = text[text.index("Node, slowest first") :]
    assert rows.index("gpu-002") < rows.index("gpu-001")


def test_a_cluster_of_which_nothing_was_measured_has_no_card(order: Order, member: User) -> None:
    assert order.cluster is not None
    text = client_of(member).get(reverse("clusters:detail", args=[order.cluster.ref])).content.decode()
    assert "h-validation" not in text


def test_pages_ask_the_database_as_often_for_many_nodes_and_reports_as_for_few(
    team: Team, operator: User, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    counts: list[list[int]] = []
    client = client_of(operator)
    some_nodes(12)
    for nodes in (2, 12):
        names = [f"gpu-{number:03d}" for number in range(1, nodes + 1)]
        for _ in range(nodes):
            reports = judge_sweep(job=measured(all_of(names)))
        counts.append([])
        for address in (
            reverse("validation:node", args=["gpu-001"]),
            reverse("validation:report", args=["gpu-001", reports["gpu-001"].pk]),
            reverse("validation:evidence", args=["gpu-001", reports["gpu-001"].pk, "gemm"]),
            reverse("nodes:detail", args=["gpu-001"]),
        ):
            with django_assert_max_num_queries(20) as asked:
                assert client.get(address).status_code == 200
            counts[-1].append(len(asked))
    assert counts[0] == counts[1]


def test_the_page_of_a_cluster_costs_the_same_however_many_nodes_it_has(
    team: Team, member: User, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    counts = []
    some_nodes(12)
    for nodes in (2, 8):
        order = an_order(team, nodes, name=f"train-{nodes}")
        assert order.cluster is not None
        judge_sweep(job=measured(all_of(held(order)), order=order))
        with django_assert_max_num_queries(30) as asked:
            client_of(member).get(reverse("clusters:detail", args=[order.cluster.ref]))
        counts.append(len(asked))
    assert counts[0] == counts[1]
