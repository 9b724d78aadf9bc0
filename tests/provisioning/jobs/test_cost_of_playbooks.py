"""What does a playbook cost for each node, in tasks and in events? Held to what was recorded, without a clock.

A task is a round trip and about 0.2 seconds of a worker's CPU, an event is a row that is kept: a fifth more of either fails.
A fifth less fails too, so that the record follows and stays worth something.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings

from provisioning.fleet.models import Node, Sku
from provisioning.jobs.models import HostResult, JobEvent
from provisioning.jobs.playbooks import REGISTRY
from provisioning.jobs.services import drain_queue, request_job
from provisioning.simulator import fleet
from tests.provisioning.jobs.conftest import endings, said

pytestmark = [pytest.mark.ansible, pytest.mark.django_db]

RECORDED: dict[str, tuple[int, int]] = {
    "provision_node": (36, 78),
    "join_cluster": (9, 23),
    "validate_node": (5, 13),
    "validate_cluster": (5, 13),
    "apply_workaround": (4, 11),
    "revert_workaround": (4, 11),
    "drain_node": (4, 11),
    "wipe_node": (11, 25),
}
"""Tasks and events for one node."""
TEAM: dict[str, Any] = {"team_accounts": [{"name": "ada", "keys": [], "uid": 20007}], "storage_mounts": []}
REMEDY: dict[str, Any] = {
    "remedy_name": "nccl-env",
    "remedy_settings": [{"name": "NCCL_P2P_LEVEL", "value": "NVL"}],
}
HOSTS = [{"name": "gpu-001", "address": "192.0.2.1"}]
LIFE: dict[str, dict[str, Any]] = {
    "provision_node": {"team": "vision", "fabric_manager": True, **TEAM},
    "join_cluster": {"cluster_name": "vision-a", "cluster_hosts": HOSTS, "partition": "vision"},
    "validate_node": {"probe_repeats": 1},
    "validate_cluster": {"cluster_hosts": HOSTS, "collective_repeats": 1},
    "apply_workaround": REMEDY,
    "revert_workaround": REMEDY,
    "drain_node": {"reason": "maintenance"},
    "wipe_node": TEAM,
}


def test_every_playbook_is_held_to_a_number() -> None:
    assert set(LIFE) == set(RECORDED) == set(REGISTRY)


def test_playbook_costs_what_was_recorded(tmp_path: Path, sku: Sku, settings: LazySettings) -> None:
    settings.JOBS_DIR = tmp_path / "jobs"
    [folder] = fleet.create(tmp_path / "fleet", count=1, sku=sku.slug, seed=7)
    node = Node.objects.create(
        status="free",
        name=folder.name,
        address="192.0.2.1",
        sku=sku,
        connection="simulated",
        simulated=True,
        simulated_node_dir=str(folder),
        node_root=str(folder / "root"),
    )
    cost: dict[str, tuple[int, int]] = {}
    for name, variables in LIFE.items():
        job = request_job(playbook=name, nodes=[node], variables=variables, purpose="cost", by=None)
        drain_queue()
        assert endings(job) == {node.name: "ok"}, said(job)[-3000:]
        cost[name] = (HostResult.objects.get(job=job).tasks_done, JobEvent.objects.filter(job=job).count())
    for name, (tasks, events) in cost.items():
        for now, recorded in zip((tasks, events), RECORDED[name], strict=True):
            assert 0.8 * recorded <= now <= 1.2 * recorded, (
                f"{name}: {cost[name]} for a node, recorded {RECORDED[name]}"
            )
