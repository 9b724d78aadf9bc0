"""The portal's own playbooks on hosts reached by real SSH: the same roles, the same results."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from django.conf import LazySettings

from provisioning.jobs.models import HostResult, Job, JobEvent
from provisioning.jobs.services import drain_queue, request_job
from provisioning.validation.services import judge_sweep
from tests.ansible.test_node_account import key
from tests.provisioning.jobs.conftest import endings, said
from tests.ssh.conftest import Hosts, Rows

pytestmark = [pytest.mark.ssh, pytest.mark.ansible, pytest.mark.django_db]

BOTH_OK = {"gpu-001": "ok", "gpu-002": "ok"}
TEAM = {
    "team": "vision",
    "team_accounts": [{"name": "grace", "keys": [key(1, "grace@desk")]}],
    "storage_mounts": [
        {"path": "/data", "source": "storage.example:/vision", "fstype": "nfs4", "options": "ro"}
    ],
    "fabric_manager": True,
}


def changes(job: Job) -> list[str]:
    """Every task of the job that changed something."""
    rows = JobEvent.objects.filter(job=job, changed=True).order_by("counter")
    return [f"{row.host}: {row.task}" for row in rows]


def files_of_ssh(home: Path) -> dict[str, bytes]:
    return {str(file): file.read_bytes() for file in sorted((home / ".ssh").glob("*")) if file.is_file()}


def left_in(folders: Iterable[Path]) -> list[Path]:
    return [each for folder in folders if folder.is_dir() for each in folder.iterdir()]


def test_nodes_are_provisioned_once_and_measured_fit(
    hosts: Hosts, rows: Rows, settings: LazySettings
) -> None:
    """One life in one test: a run of all roles costs many seconds."""
    servers = hosts(2)
    nodes = rows(servers)
    before = files_of_ssh(Path.home())
    provisioned = request_job(
        playbook="provision_node", nodes=nodes, variables=TEAM, purpose="provision", by=None
    )
    again = request_job(
        playbook="provision_node", nodes=nodes[:1], variables=TEAM, purpose="provision again", by=None
    )
    validated = request_job(playbook="validate_node", nodes=nodes, variables={}, purpose="validate", by=None)
    assert drain_queue() == 3
    for job, wanted in ((provisioned, BOTH_OK), (again, {"gpu-001": "ok"}), (validated, BOTH_OK)):
        assert endings(job) == wanted, said(job)[-3000:]
    assert changes(provisioned)
    assert changes(again) == []
    for server in servers:
        assert "grace" in (server.folder / "root/etc/passwd").read_text()
        assert "Accepted publickey" in server.log
    assert HostResult.objects.get(job=provisioned, node=nodes[0]).data["report"]["driver"]
    reports = judge_sweep(job=validated)
    assert {name: report.verdict for name, report in reports.items()} == dict.fromkeys(BOTH_OK, "fit")
    assert left_in([Path(settings.JOBS_DIR), *(server.home / ".ansible/tmp" for server in servers)]) == []
    assert files_of_ssh(Path.home()) == before
