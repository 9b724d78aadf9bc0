"""The registry, the playbooks' files and their roles' specifications say the same; nothing unfit gets through."""

from __future__ import annotations

import ast
from dataclasses import MISSING, fields
from typing import Any, get_type_hints

import pytest
import yaml
from django.conf import settings

from portal.kernel.errors import Invalid, Refused
from provisioning.jobs.inventory import SshAccess, Target, inventory
from provisioning.jobs.playbooks import LOOKS, REGISTRY, playbook, read_variables

ANSIBLE = settings.BASE_DIR / "ansible"
OWN = {"job_ref", "attempt", "cluster_ref"}
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f lead@laptop"
TYPES = {str: "str", int: "int", bool: "bool", list: "list", dict: "dict"}

GOOD: dict[str, dict[str, Any]] = {
    "provision_node": {
        "team": "vision",
        "team_accounts": [{"name": "lead", "keys": [KEY]}],
        "gpu_driver_version": "570.124.06",
        "storage_mounts": [{"path": "/data", "source": "storage1:/export/vision", "fstype": "nfs"}],
        "fabric_manager": True,
    },
    "join_cluster": {
        "cluster_name": "vision-train",
        "cluster_hosts": [{"name": "gpu-001", "address": "192.0.2.1"}],
        "partition": "vision-train",
    },
    "validate_node": {"probe_checks": ["nvidia-smi-xml"], "probe_repeats": 2, "probe_time_limit": 60},
    "validate_cluster": {
        "cluster_hosts": [{"name": "gpu-001", "address": "2001:db8::1"}],
        "collective_sizes": {"min": "64M", "max": "8G"},
        "collective_repeats": 2,
    },
    "drain_node": {"reason": "The lease ends on Friday."},
    "wipe_node": {"team_accounts": [{"name": "lead"}], "storage_mounts": []},
    "apply_workaround": {
        "remedy_name": "nccl-env",
        "remedy_settings": [{"name": "NCCL_IB_HCA", "value": "^mlx5_3"}],
    },
    "revert_workaround": {
        "remedy_name": "sysctl",
        "remedy_settings": [{"name": "vm.swappiness", "value": "10"}],
    },
}


def specified(name: str) -> dict[str, dict[str, Any]]:
    """Every option of the roles of a playbook's file."""
    plays = yaml.safe_load((ANSIBLE / "playbooks" / REGISTRY[name].file).read_text(encoding="utf-8"))
    found: dict[str, dict[str, Any]] = {}
    for play in plays:
        for role in play["roles"]:
            specs = ANSIBLE / "roles" / role["role"] / "meta" / "argument_specs.yml"
            found |= yaml.safe_load(specs.read_text(encoding="utf-8"))["argument_specs"]["main"]["options"]
    return found


def told_of_a_node() -> set[str]:
    target = Target(
        name="gpu-001",
        address="192.0.2.1",
        connection="ssh",
        sku="h100-sxm5-80g",
        gpu_count=8,
        simulated=False,
    )
    hosts = inventory([target], ssh=SshAccess(key_file=None, known_hosts=ANSIBLE))["targets"]["hosts"]
    return set(hosts["gpu-001"])


def test_registry_has_every_playbook_and_every_playbook_is_in_it() -> None:
    files = {file.name for file in (ANSIBLE / "playbooks").glob("*.yml")}
    assert {book.file for book in REGISTRY.values()} == files


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_roles_know_every_variable_of_their_playbook(name: str) -> None:
    known = specified(name)
    hints = get_type_hints(REGISTRY[name].variables)
    for entry in fields(REGISTRY[name].variables):
        assert entry.name in known, f"no role of {name} specifies {entry.name}"
        wanted = hints[entry.name]
        assert known[entry.name]["type"] == TYPES[getattr(wanted, "__origin__", wanted)]


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_playbook_is_told_everything_its_roles_require(name: str) -> None:
    required = {option for option, spec in specified(name).items() if spec.get("required")}
    told = {entry.name for entry in fields(REGISTRY[name].variables)} | OWN | told_of_a_node()
    assert required <= told


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_playbook_goes_on_with_the_other_nodes_when_one_fails(name: str) -> None:
    """One node must not end the others: the nodes' endings could not be told apart then."""
    plays = yaml.safe_load((ANSIBLE / "playbooks" / REGISTRY[name].file).read_text(encoding="utf-8"))
    for play in plays:
        assert play["hosts"] == "targets"
        assert play["any_errors_fatal"] is False
        assert "max_fail_percentage" not in play


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_good_variables_come_through_as_they_are(name: str) -> None:
    read = read_variables(REGISTRY[name], GOOD[name])
    assert {
        key: read[key] for key in ("team", "cluster_name", "probe_repeats", "reason") if key in GOOD[name]
    } == {
        key: GOOD[name][key]
        for key in ("team", "cluster_name", "probe_repeats", "reason")
        if key in GOOD[name]
    }


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_variable_that_a_playbook_does_not_know_is_refused(name: str) -> None:
    with pytest.raises(Invalid) as refusal:
        read_variables(REGISTRY[name], {**GOOD[name], "ansible_connection": "local"})
    assert list(refusal.value.fields) == ["ansible_connection"]


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_variable_that_is_needed_is_asked_for(name: str) -> None:
    needed = {
        entry.name
        for entry in fields(REGISTRY[name].variables)
        if entry.default is MISSING and entry.default_factory is MISSING
    }
    if not needed:
        assert read_variables(REGISTRY[name], {}) is not None
        return
    with pytest.raises(Invalid) as refusal:
        read_variables(REGISTRY[name], {})
    assert set(refusal.value.fields) == needed


def test_unknown_playbook_is_refused_with_the_names_of_those_there_are() -> None:
    with pytest.raises(Refused, match="validate_node"):
        playbook("../../etc/passwd")


@pytest.mark.parametrize(
    ("name", "change", "field"),
    [
        ("provision_node", {"team": "{{ lookup('pipe','touch PWNED') }}"}, "team"),
        ("provision_node", {"team": "Vision"}, "team"),
        ("provision_node", {"team": "vision\n"}, "team"),
        ("provision_node", {"gpu_driver_version": "570; reboot"}, "gpu_driver_version"),
        ("provision_node", {"fabric_manager": "yes"}, "fabric_manager"),
        ("provision_node", {"fabric_manager": 1}, "fabric_manager"),
        ("provision_node", {"team_accounts": [{"name": "root:0"}]}, "team_accounts"),
        ("provision_node", {"team_accounts": [{"name": "lead", "uid": 0}]}, "team_accounts"),
        ("provision_node", {"team_accounts": [{"name": "lead", "shell": "/bin/sh"}]}, "team_accounts"),
        (
            "provision_node",
            {"team_accounts": [{"name": "lead", "keys": [KEY + "\n" + KEY]}]},
            "team_accounts",
        ),
        (
            "provision_node",
            {"team_accounts": [{"name": "lead", "keys": ['command="sh" ' + KEY]}]},
            "team_accounts",
        ),
        (
            "provision_node",
            {"storage_mounts": [{"path": "/data/../etc", "source": "s:/e"}]},
            "storage_mounts",
        ),
        ("provision_node", {"storage_mounts": [{"path": "/data", "source": "-o exec"}]}, "storage_mounts"),
        ("provision_node", {"storage_mounts": "all"}, "storage_mounts"),
        ("join_cluster", {"cluster_hosts": [{"name": "gpu_001", "address": "192.0.2.1"}]}, "cluster_hosts"),
        (
            "join_cluster",
            {"cluster_hosts": [{"name": "gpu-001", "address": "192.0.2.1 evil"}]},
            "cluster_hosts",
        ),
        ("validate_node", {"probe_repeats": 0}, "probe_repeats"),
        ("validate_node", {"probe_repeats": 2**70}, "probe_repeats"),
        ("validate_node", {"probe_repeats": True}, "probe_repeats"),
        ("validate_cluster", {"collective_sizes": {"min": "64M"}}, "collective_sizes"),
        ("drain_node", {"reason": "line\nbreak"}, "reason"),
        ("drain_node", {"reason": "nul\0"}, "reason"),
        ("drain_node", {"reason": "turned \u202e round"}, "reason"),
        ("drain_node", {"reason": "half \ud800"}, "reason"),
        ("drain_node", {"reason": "x" * 1_000_000}, "reason"),
        ("drain_node", {"reason": "   "}, "reason"),
    ],
)
def test_value_that_is_no_such_thing_is_refused(name: str, change: dict[str, Any], field: str) -> None:
    with pytest.raises(Invalid) as refusal:
        read_variables(REGISTRY[name], {**GOOD[name], **change})
    assert list(refusal.value.fields) == [field]


def test_complaint_says_which_of_many_is_wrong() -> None:
    accounts = [{"name": "lead"}, {"name": "No Such"}]
    with pytest.raises(Invalid) as refusal:
        read_variables(REGISTRY["wipe_node"], {"team_accounts": accounts})
    assert refusal.value.fields["team_accounts"][0].startswith("number 2: name:")


def test_probes_that_only_look_are_those_that_load_nothing_on_the_node() -> None:
    source = (ANSIBLE / "library" / "gpu_probe.py").read_text(encoding="utf-8")
    table = next(
        node.value
        for node in ast.parse(source).body
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "PASSIVE"
    )
    assert isinstance(table, ast.Dict)
    passive = {key.value for key in table.keys if isinstance(key, ast.Constant)}
    assert passive | {"ib-sysfs"} == LOOKS
    assert not REGISTRY["validate_node"].is_harmless({"probe_checks": []}), "none chosen means all"
