"""An inventory holds exactly the targets, and nothing in it is ever a template."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provisioning.jobs.inert import TAG, as_data
from provisioning.jobs.inventory import SshAccess, Target, inventory

SSH = SshAccess(key_file=Path("/keys/fleet"), known_hosts=Path("/jobs/j1-1-0a/known_hosts"))
NODE = Target(
    name="gpu-001",
    address="192.0.2.1",
    connection="ssh",
    sku="h100-sxm5-80g",
    gpu_count=8,
    simulated=False,
    user="ops",
)


def hosts(*targets: Target) -> dict[str, Any]:
    found: dict[str, Any] = inventory(targets, ssh=SSH)
    assert list(found) == ["targets"]
    assert list(found["targets"]) == ["hosts"]
    return dict(found["targets"]["hosts"])


def bare_strings(value: Any) -> list[str]:
    """Strings that Ansible would read as templates."""
    if isinstance(value, dict):
        if list(value) == [TAG]:
            return []
        return [text for item in value.values() for text in bare_strings(item)]
    if isinstance(value, list):
        return [text for item in value for text in bare_strings(item)]
    return [value] if isinstance(value, str) else []


def test_inventory_holds_exactly_the_targets() -> None:
    assert list(hosts(NODE, replace(NODE, name="gpu-002"))) == ["gpu-001", "gpu-002"]


def test_inventory_leaves_no_text_that_ansible_would_read_as_a_template() -> None:
    odd = "{{ lookup('pipe', 'touch PWNED') }}"
    found = hosts(replace(NODE, sku=odd, extra={"note": odd, "many": [odd, {"deep": odd}]}))
    assert bare_strings(found["gpu-001"]) == []
    assert json.dumps(found).count("touch PWNED") == 4


def test_real_node_is_reached_with_its_key_and_its_own_known_host() -> None:
    options = hosts(NODE)["gpu-001"]["ansible_ssh_common_args"][TAG]
    assert "HostKeyAlias=gpu-001" in options
    assert "UserKnownHostsFile=/jobs/j1-1-0a/known_hosts" in options
    assert "StrictHostKeyChecking=accept-new" in options
    assert hosts(NODE)["gpu-001"]["ansible_ssh_private_key_file"] == {TAG: "/keys/fleet"}


def test_simulated_node_never_becomes_root_of_the_controller() -> None:
    node = replace(NODE, connection="simulated", simulated=True, simulated_node_dir="/fleet/gpu-001")
    told = hosts(node)["gpu-001"]
    assert told["ansible_become"] is False
    assert "ansible_ssh_common_args" not in told
    assert told["simulated_node_dir"] == {TAG: "/fleet/gpu-001"}


@pytest.mark.parametrize(
    "name",
    ["", "all", "localhost", "targets", "*", "~gpu", "!gpu-001", "gpu-[001:100]", "@/etc/passwd", "gpu-001,gpu-002", "a:b", "gpu 001",
     "gpu-001\n", "GPU-001", "gpu_001", "-gpu", "x" * 64, "{{ x }}", "gpu-001\0", "\u202egpu"],
)  # fmt: skip
def test_name_that_ansible_would_read_as_a_pattern_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="can't be the name of a host"):
        hosts(replace(NODE, name=name))


def test_node_named_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="named twice"):
        hosts(NODE, NODE)


def test_job_without_a_node_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one node"):
        hosts()


@pytest.mark.parametrize(
    "name", ["ansible_connection", "ansible_host", "node_name", "Ansible_user", "a-b", "", "x\n"]
)
def test_free_value_that_would_be_a_variable_of_ansible_or_ours_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r"can't be told|portal's own"):
        hosts(replace(NODE, extra={name: "local"}))


@pytest.mark.parametrize(
    "change",
    [
        {"address": "192.0.2.1 -oProxyCommand=sh"},
        {"address": "-oProxyCommand=sh"},
        {"connection": "community.docker"},
        {"user": "ops;id"},
        {"python_interpreter": "python3 -c x"},
        {"node_root": "relative"},
        {"simulated_node_dir": "/a\nb", "connection": "simulated"},
    ],
)
def test_value_that_ssh_or_a_shell_would_read_otherwise_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"not|can't"):
        hosts(replace(NODE, **change))


def test_folder_with_a_space_can_not_stand_in_an_option_of_ssh() -> None:
    with pytest.raises(ValueError, match="without spaces"):
        inventory([NODE], ssh=SshAccess(key_file=None, known_hosts=Path("/my jobs/known_hosts")))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.from_regex(r"[a-z]{1,8}", fullmatch=True), inner, max_size=3)
    ),
    max_leaves=10,
)


@given(JSON)
def test_any_value_is_tagged_whole_and_nothing_else_changes(value: Any) -> None:
    tagged = as_data(value)
    assert bare_strings(tagged) == []
    assert untag(tagged) == value


def untag(value: Any) -> Any:
    if isinstance(value, dict):
        return value[TAG] if list(value) == [TAG] else {key: untag(item) for key, item in value.items()}
    return [untag(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("key", ["__ansible_unsafe", "__ansible_vault", "a b", "{{ x }}", 1])
def test_key_that_ansible_would_read_is_refused(key: Any) -> None:
    with pytest.raises(ValueError, match="can't be the name"):
        as_data({key: "x"})
