"""Whatever stops a job at work on a host behind SSH: nobody else gets the node while its command goes on there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from django.conf import LazySettings

from portal.embedded import processes
from provisioning.jobs import adoption, claims, draining, looking
from provisioning.jobs.models import HostResult, NodeLease
from provisioning.jobs.services import request_job
from tests.provisioning.jobs import test_stop_matrix as matrix
from tests.provisioning.jobs.conftest import Tiny
from tests.ssh.conftest import Hosts, Rows

pytestmark = [pytest.mark.ssh, pytest.mark.ansible, pytest.mark.django_db(transaction=True)]

STATES = {
    "cancel": "cancelled",
    "force": "cancelled",
    "deadline": "timed_out",
    "idle": "timed_out",
    "worker SIGTERM": "queued",
    "worker SIGKILL": "cancelled",  # it goes on, and is cancelled then
    "child SIGKILL": "queued",
}


def is_at_work(command: Callable[[], list[int]]) -> bool:
    return processes.wait_until(lambda: bool(command()), 240)


@pytest.mark.gate
@pytest.mark.parametrize("how", sorted(STATES), ids=lambda how: how.replace(" ", "-"))
def test_stop_on_a_real_host(
    how: str,
    hosts: Hosts,
    rows: Rows,
    small: Tiny,
    settings: LazySettings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kept: list[claims.Claim] = []
    monkeypatch.setattr(adoption, "start_keeper", kept.append)
    [server] = servers = hosts(1)
    small.says("- name: Sleep\n  ansible.builtin.command: sleep 987")
    job = request_job(playbook="small", nodes=rows(servers), variables={}, purpose="stop", by=None)
    worker = matrix.Worker("running remote", job, monkeypatch)
    assert is_at_work(lambda: server.commands("sleep 987"))
    assert processes.wait_until(lambda: worker.watch is not None, 60)
    matrix.STOPS[how](worker)
    worker.ends()
    matrix.settle(worker, how, kept)

    assert job.status == STATES[how]
    assert HostResult.objects.get(job=job, attempt=1).ending == "interrupted"
    assert processes.marked(matrix.MARK, job.mark) == []
    assert list(Path(settings.JOBS_DIR).glob("*")) == []
    assert server.commands("sleep 987"), "a cut connection ends nothing there"
    [lease] = NodeLease.objects.filter(released_at=None)
    assert lease.draining_since is not None

    assert looking.prove_quiet() == 1
    assert not server.commands("sleep 987")
    assert not draining.draining().exists()
