"""What do the playbooks do with a broken node, and with text that would like to be code?"""

from __future__ import annotations

from typing import Any

import pytest

from provisioning.simulator import faults
from tests.ansible.simulated import JOB, PROVISION, Fleet, Outcome, unsafe

pytestmark = [pytest.mark.ansible, pytest.mark.xdist_group("simulated-trouble")]

EVIL = "{{ lookup('pipe','touch PWNED') }}"
HOSTS = [{"name": "gpu-001", "address": "10.0.0.1"}]
GOOD: dict[str, dict[str, Any]] = {
    "provision_node": PROVISION,
    "join_cluster": {"cluster_name": "vision-a", "cluster_hosts": HOSTS, "partition": "vision"},
    "validate_node": {"probe_checks": ["kernel"], "probe_repeats": 1, "probe_time_limit": 60},
    "validate_cluster": {
        "cluster_hosts": HOSTS,
        "collective_sizes": {"min": "1G", "max": "1G"},
        "collective_repeats": 1,
    },
    "drain_node": {"reason": "maintenance"},
    "wipe_node": {"team_accounts": [], "storage_mounts": [], "wipe_force": False},
}
# What stays text, because it only ever is text on the node. Everything else must be refused.
WRITTEN_LITERALLY = {("drain_node", "reason")}


@pytest.fixture(scope="session")
def trouble(tmp_path_factory: pytest.TempPathFactory) -> tuple[Fleet, Outcome]:
    """One run of provision_node on two broken nodes."""
    fleet = Fleet.made_in(tmp_path_factory.mktemp("trouble"))
    faults.inject(fleet.nodes[0], "apt-fails", kind="unmet")
    faults.inject(fleet.nodes[1], "driver-mismatch")
    return fleet, fleet.run("provision_node", {**JOB, **unsafe(PROVISION)})


def test_node_where_apt_fails_ends_failed_with_apt_s_words(trouble: tuple[Fleet, Outcome]) -> None:
    _fleet, run = trouble
    assert "you have held broken packages" in run.failure("gpu-001")
    assert run.of("gpu-001", "failed") == ["Install the baseline packages"]


def test_node_with_two_driver_versions_ends_failed_with_what_to_do(trouble: tuple[Fleet, Outcome]) -> None:
    _fleet, run = trouble
    assert "Driver/library version mismatch" in run.failure("gpu-002")
    assert "reboot the node" in run.failure("gpu-002")


def test_one_broken_node_does_not_stop_the_other(trouble: tuple[Fleet, Outcome]) -> None:
    _fleet, run = trouble
    assert run.of("gpu-002", "failed") == ["Compare the loaded driver with the installed one"]


def poisoned(value: Any) -> list[Any]:
    """The value with its evil twin in each place where text can stand."""
    if isinstance(value, list):
        return [EVIL, *([[twin] for twin in poisoned(value[0])] if value else [])]
    if isinstance(value, dict):
        return [EVIL, *({**value, name: twin} for name, part in value.items() for twin in poisoned(part))]
    return [EVIL]


@pytest.fixture(scope="session")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Fleet, Outcome, dict[str, str]]]:
    """Each playbook once, on one node under many names: each name has one poisoned variable, as a host variable. What all playbooks
    have in common is checked by the same role, so one playbook stands for all."""
    found = {}
    for playbook, good in GOOD.items():
        fleet = Fleet.made_in(tmp_path_factory.mktemp(playbook), count=1)
        hosts, what = {}, {}
        common = (
            {**JOB, "node_name": "gpu-001", "sku": "h100-sxm5-80g", "gpu_count": 8}
            if playbook == "drain_node"
            else {}
        )
        for name, value in {**common, **good}.items():
            for number, twin in enumerate(poisoned(value)):
                alias = f"{name}-{number}".replace("_", "-")
                hosts[alias] = {**fleet.host("gpu-001"), **JOB, **unsafe(good), name: unsafe(twin)}
                what[alias] = name
        found[playbook] = (fleet, fleet.run(playbook, {}, "--forks", "4", hosts=hosts), what)
    return found


@pytest.mark.parametrize("playbook", sorted(GOOD))
def test_template_text_in_any_variable_never_runs(
    attacked: dict[str, tuple[Fleet, Outcome, dict[str, str]]], playbook: str
) -> None:
    fleet, run, _what = attacked[playbook]
    assert run.rows, run.text
    assert list(fleet.folder.rglob("PWNED")) == []


@pytest.mark.parametrize("playbook", sorted(GOOD))
def test_template_text_is_refused_or_stays_text(
    attacked: dict[str, tuple[Fleet, Outcome, dict[str, str]]], playbook: str
) -> None:
    _fleet, run, what = attacked[playbook]
    for host, variable in what.items():
        if (playbook, variable) in WRITTEN_LITERALLY:
            assert run.of(host, "failed") == [], run.failure(host)
        else:
            assert run.of(host, "failed"), f"{host} was not refused"
            assert "rror while" not in run.failure(host), run.failure(host)


@pytest.mark.parametrize("playbook", ["provision_node", "wipe_node", "join_cluster", "validate_cluster"])
def test_refused_data_leaves_the_node_untouched(
    attacked: dict[str, tuple[Fleet, Outcome, dict[str, str]]], playbook: str
) -> None:
    _fleet, run, _what = attacked[playbook]
    assert [row for row in run.rows if row["outcome"] == "changed"] == []
