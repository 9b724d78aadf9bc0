"""What operators may run by hand, on which nodes, in which waves."""

from __future__ import annotations

from typing import Any

import pytest

from portal.accounts.models import Team, User
from portal.kernel.errors import Invalid, NotAllowed, Refused
from portal.ledger.dispatch import deliver_all
from provisioning.fleet.listing import NodeFilter
from provisioning.fleet.models import Node
from provisioning.jobs import claims
from provisioning.jobs.attempts import Attempt
from provisioning.jobs.models import Job
from provisioning.jobs.waves import Asked, Budget
from provisioning.maintenance.services import Wanted, preview, read_waves, runnable, start_run
from provisioning.orders import judging
from provisioning.orders.services import place_order
from tests.provisioning.builders import FakeJudge, a_build, end, some_nodes

pytestmark = pytest.mark.django_db


def wanted(*names: str, **more: Any) -> Wanted:
    fields: dict[str, Any] = {
        "playbook": "validate_node",
        "purpose": "After the new kernel",
        "variables": {},
        "names": names,
    }
    return Wanted(**(fields | more))


@pytest.fixture
def used(team: Team) -> Node:
    """A node that a team holds."""
    some_nodes(1, prefix="held")
    place_order(spec=a_build(team.slug, 1), requested_for="T-1", by=None)
    deliver_all()
    return Node.objects.get(name="held-001")


def test_run_goes_over_the_nodes_in_the_order_in_which_they_are_named(operator: User) -> None:
    some_nodes(3)
    job = start_run(wanted("gpu-003", "gpu-001", asked=Asked(canary=1)), by=operator)
    assert (job.status, job.created_by, job.purpose) == ("spread", operator, "After the new kernel")
    assert [name for row in job.shards.get().host_results.all() for name in [row.node.name]] == ["gpu-003"]


def test_run_waits_for_room_unless_it_is_to_go_in_turn(operator: User) -> None:
    some_nodes(2)
    assert start_run(wanted("gpu-001"), by=operator).priority == -1
    assert start_run(wanted("gpu-002", in_turn=True), by=operator).priority == 0


def test_nodes_are_chosen_by_what_they_are(operator: User) -> None:
    some_nodes(6)
    chosen = preview(wanted(wanted=NodeFilter(rack="r2")), by=operator)
    assert [node.name for node in chosen.nodes] == ["gpu-005", "gpu-006"]
    some_nodes(2, prefix="far", site="north")
    chosen = preview(wanted(wanted=NodeFilter(site="north")), by=operator)
    assert [node.name for node in chosen.nodes] == ["far-001", "far-002"]


def test_preview_shows_the_waves_and_keeps_nothing(operator: User) -> None:
    some_nodes(8)
    asked = Asked(canary=1, percentages=(50,), budget=Budget(count=50, is_percent=True))
    found = preview(wanted(wanted=NodeFilter(state="free"), asked=asked), by=operator)
    assert [(wave.title, len(wave.nodes), wave.parts, wave.may_fail) for wave in found.waves] == [
        ("the canary", 1, 1, 0),
        ("up to 50 %", 3, 1, 1),
        ("the rest", 4, 1, 2),
    ]
    assert not Job.objects.exists()


def test_node_in_use_is_refused_by_name_and_with_who_has_it(operator: User, used: Node, team: Team) -> None:
    some_nodes(2, prefix="free")
    with pytest.raises(Refused) as refused:
        start_run(wanted("free-001", used.name), by=operator)
    assert refused.value.data == {"nodes": [used.name]}
    assert refused.value.message.startswith(f"{used.name} (")
    assert f"of {team.slug}) is in somebody's use, and “Validate the nodes” would disturb them" in (
        refused.value.message
    )
    assert not Job.objects.filter(order=None).exists()


def test_probes_that_only_look_may_run_on_nodes_in_use(operator: User, used: Node) -> None:
    job = start_run(wanted(used.name, variables={"probe_checks": ["kernel", "mounts"]}), by=operator)
    assert job.status == "queued"
    with pytest.raises(Refused, match="Probes that only look"):
        start_run(wanted(used.name, variables={"probe_checks": ["kernel", "gemm"]}), by=operator)


def test_node_that_came_into_use_while_the_run_waited_is_not_disturbed(operator: User, team: Team) -> None:
    some_nodes(1)
    job = start_run(wanted("gpu-001"), by=operator)
    place_order(spec=a_build(team.slug, 1), requested_for="T-1", by=None)
    held = claims.claim(job.pk, worker="test:1/2")
    assert held is not None
    assert Attempt(held).run() == "failed"
    job.refresh_from_db()
    assert job.reason == "could_not_start"
    assert job.reason_text.startswith("It did not start, because: gpu-001 (")


@pytest.mark.parametrize(
    ("told", "place"),
    [
        ({"names": ("gpu-009",)}, "nodes"),
        ({"names": ()}, "nodes"),
        ({"names": ("gpu-001",), "wanted": NodeFilter(rack="r1")}, "nodes"),
        ({"names": (), "wanted": NodeFilter(rack="r9")}, "nodes"),
        ({"names": ("gpu-001",), "purpose": " "}, "purpose"),
        ({"names": ("gpu-001",), "variables": {"probe_repeats": 0}}, "probe_repeats"),
    ],
)
def test_run_that_can_not_be_is_refused_with_what_is_wrong(
    told: dict[str, Any], place: str, operator: User
) -> None:
    some_nodes(1)
    with pytest.raises(Invalid) as refused:
        start_run(wanted(**told), by=operator)
    assert list(refused.value.fields) == [place]


def test_retired_node_is_refused(operator: User) -> None:
    some_nodes(1, status="retired")
    with pytest.raises(Invalid, match="another look") as refused:
        start_run(wanted("gpu-001"), by=operator)
    assert refused.value.fields == {"nodes": ["These are retired: gpu-001."]}


def test_what_orders_alone_run_is_refused_with_what_there_is(operator: User) -> None:
    some_nodes(1)
    with pytest.raises(Refused, match="by hand there are apply_workaround, drain_node"):
        start_run(wanted("gpu-001", playbook="wipe_node"), by=operator)
    assert "wipe_node" not in {book.name for book in runnable()}


def test_only_operators_may(member: User, triager: User) -> None:
    some_nodes(1)
    for person in (member, triager):
        with pytest.raises(NotAllowed):
            start_run(wanted("gpu-001"), by=person)


def test_what_a_run_measures_is_judged(operator: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging, "judge", lambda: FakeJudge(unfit={"gpu-001": "a GPU is gone"}))
    some_nodes(2)
    end(start_run(wanted("gpu-001", "gpu-002"), by=operator))
    deliver_all()
    assert list(Node.objects.order_by("name").values_list("verdict", flat=True)) == ["unfit", "fit"]


def test_run_that_only_looked_judges_nobody(operator: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging, "judge", lambda: FakeJudge())
    some_nodes(1)
    end(start_run(wanted("gpu-001", variables={"probe_checks": ["kernel"]}), by=operator))
    deliver_all()
    assert Node.objects.get().verdict is None


@pytest.mark.parametrize("told", [{}, {"canary": None, "budget": ""}, {"canary": 0}, {"canary_budget": "0"}])
def test_no_answer_about_waves_means_none(told: dict[str, Any]) -> None:
    assert read_waves(told) is None


def test_waves_are_read_and_what_is_wrong_is_named() -> None:
    told = {"canary": 2, "percentages": [10, 50], "budget": "5%"}
    assert read_waves(told) == Asked(canary=2, percentages=(10, 50), budget=Budget(count=5, is_percent=True))
    with pytest.raises(Invalid) as refused:
        read_waves({"percentages": [50, 10], "budget": "many", "canary_budget": "-1"})
    assert sorted(refused.value.fields) == ["budget", "canary_budget", "percentages"]
