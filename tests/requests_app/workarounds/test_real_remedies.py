"""A workaround from the desk to the node and back: real services, orders, jobs and Ansible, on simulated nodes."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.conf import LazySettings

from portal.accounts.models import Team, User
from portal.ledger.dispatch import deliver_all
from provisioning.fleet.models import Node
from provisioning.jobs.services import drain_queue
from provisioning.simulator import fleet, node
from requests_app.quotas.services import set_limit
from requests_app.workarounds.models import Workaround
from requests_app.workarounds.services import end_workaround
from tests.builders import H100, a_catalogue
from tests.provisioning.builders import FakeJudge, a_sku, fake_judge
from tests.requests_app.workarounds.builders import a_workaround, far_ticket
from tests.requests_app.workarounds.test_orders import a_cluster

__all__ = ["fake_judge"]
pytestmark = [pytest.mark.ansible, pytest.mark.django_db]


@pytest.fixture
def folder(tmp_path: Path, settings: LazySettings, fake_judge: FakeJudge) -> Path:
    """The folder of the one simulated node of the floor."""
    settings.JOBS_DIR = tmp_path / "jobs"
    (made,) = fleet.create(tmp_path / "fleet", count=1, sku=H100, seed=7)
    Node.objects.create(
        status="free",
        name=made.name,
        address="192.0.2.1",
        sku=a_sku(),
        connection="simulated",
        simulated=True,
        simulated_node_dir=str(made),
        node_root=str(made / "root"),
    )
    return made


def run_all() -> None:
    """Deliver and run until nothing is left to do."""
    for _ in range(6):
        deliver_all()
        if drain_queue() == 0:
            return


def test_kernel_setting_is_on_the_node_while_the_workaround_holds_and_gone_after_it(
    folder: Path, team: Team, member: User, triager: User
) -> None:
    a_catalogue()
    set_limit(team=team, sku=H100, limit=8, reason="agreed", by=None)
    cluster = a_cluster(team, nodes=1)
    was = node.read_state(folder)["sysctl"]["vm.swappiness"]
    settings = {"vm.swappiness": "7"}
    params = {"cluster": cluster, "remedy": "sysctl", "settings": settings}
    row = a_workaround(far_ticket(team, member), triager, kind="playbook", params=params)
    run_all()
    row = Workaround.objects.for_pages().get(pk=row.pk)
    assert row.status == "active", row.trouble
    assert node.read_state(folder)["sysctl"]["vm.swappiness"] == "7"
    end_workaround(workaround=row, version=row.version, by=triager)
    run_all()
    row.refresh_from_db()
    assert row.status == "ended", row.trouble
    assert node.read_state(folder)["sysctl"]["vm.swappiness"] == was
