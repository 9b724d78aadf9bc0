"""The portal's own playbooks, run by the portal's own engine on simulated nodes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from django.conf import LazySettings

from portal.accounts.models import User
from provisioning.fleet.models import Node, Sku
from provisioning.jobs import draining, log_files
from provisioning.jobs.models import HostResult, JobEvent
from provisioning.jobs.playbooks import REGISTRY
from provisioning.jobs.services import drain_queue, request_job, resume_job
from provisioning.jobs.waves import Asked
from provisioning.simulator import faults, fleet
from provisioning.validation import services
from tests.provisioning.jobs.conftest import endings, said

pytestmark = [pytest.mark.ansible, pytest.mark.django_db]


@pytest.fixture
def nodes(tmp_path: Path, sku: Sku, settings: LazySettings) -> list[Node]:
    settings.JOBS_DIR = tmp_path / "jobs"
    folders = fleet.create(tmp_path / "fleet", count=2, sku="h100-sxm5-80g", seed=7)
    return [
        Node.objects.create(
            status="free",
            name=folder.name,
            address=f"192.0.2.{number}",
            sku=sku,
            connection="simulated",
            simulated=True,
            simulated_node_dir=str(folder),
            node_root=str(folder / "root"),
        )
        for number, folder in enumerate(folders, start=1)
    ]


def test_node_is_provisioned_and_measured(nodes: list[Node]) -> None:
    nodes = nodes[:1]
    told = {"team": "vision", "team_accounts": [], "fabric_manager": True}
    provisioned = request_job(
        playbook="provision_node", nodes=nodes, variables=told, purpose="provision", by=None
    )
    validated = request_job(
        playbook="validate_node", nodes=nodes, variables={"probe_repeats": 1}, purpose="validate", by=None
    )
    assert drain_queue() == 2
    assert endings(provisioned) == {"gpu-001": "ok"}, said(provisioned)[-3000:]
    assert endings(validated) == {"gpu-001": "ok"}, said(validated)[-3000:]
    report = HostResult.objects.get(job=provisioned, node=nodes[0]).data["report"]
    assert report["driver"]
    done = HostResult.objects.get(job=provisioned).tasks_done
    provisioned.refresh_from_db()
    assert provisioned.expected_tasks is not None
    assert 0.7 <= done / provisioned.expected_tasks <= 1.5, "the tasks in the files are about those that run"
    probe = HostResult.objects.get(job=validated, node=nodes[0]).data["probe"]
    assert (probe["node"], probe["simulated"]) == ("gpu-001", True)
    assert {"nvidia-smi-xml", "gemm", "nvbandwidth"} <= {each["id"] for each in probe["evidence"]}
    assert not JobEvent.objects.filter(job=validated, truncated=True).exists()


def test_node_that_is_away_does_not_stop_the_others(nodes: list[Node]) -> None:
    faults.inject(Path(nodes[0].simulated_node_dir), "unreachable")
    job = request_job(
        playbook="validate_node", nodes=nodes, variables={"probe_checks": ["kernel"]}, purpose="look", by=None
    )
    drain_queue()
    assert endings(job) == {"gpu-001": "unreachable", "gpu-002": "ok"}
    assert job.status == "partial"


def test_nodes_in_two_shards_are_one_job_with_their_results(
    nodes: list[Node], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(REGISTRY, "validate_node", replace(REGISTRY["validate_node"], shard_nodes=1))
    whole = request_job(
        playbook="validate_node",
        nodes=nodes,
        variables={"probe_checks": ["kernel"], "probe_repeats": 1},
        purpose="sweep",
        by=None,
    )
    assert drain_queue() == 2
    whole.refresh_from_db()
    assert (whole.status, endings(whole)) == ("succeeded", {"gpu-001": "ok", "gpu-002": "ok"})
    assert [shard.status for shard in whole.shards.order_by("shard")] == ["succeeded", "succeeded"]
    sent = {row.node.name: row.data["probe"]["node"] for row in HostResult.objects.filter(job=whole)}
    assert sent == {"gpu-001": "gpu-001", "gpu-002": "gpu-002"}
    assert set(services.probes_of(whole).probes) == {"gpu-001", "gpu-002"}, (
        "a judge finds them with the whole"
    )
    log = "".join(log_files.as_text(whole))
    assert all(f"== {shard.ref} attempt 1 ==" in log for shard in whole.shards.all())


def test_canary_that_fails_pauses_before_the_rest_and_resumes(nodes: list[Node], operator: User) -> None:
    faults.inject(Path(nodes[0].simulated_node_dir), "unreachable")
    whole = request_job(
        playbook="validate_node",
        nodes=nodes,
        variables={"probe_checks": ["kernel"], "probe_repeats": 1},
        purpose="look",
        asked=Asked(canary=1),
        by=operator,
    )
    assert drain_queue() == 1
    whole.refresh_from_db()
    assert (whole.status, endings(whole)) == ("paused", {"gpu-001": "unreachable", "gpu-002": "waiting"})
    faults.clear(Path(nodes[0].simulated_node_dir))
    draining.declare_quiet("gpu-001", reason="it was switched on again", by=operator)
    resume_job(whole, again=True, by=operator)
    assert drain_queue() == 2
    whole.refresh_from_db()
    assert (whole.status, endings(whole)) == ("succeeded", {"gpu-001": "ok", "gpu-002": "ok"})
