"""Which hosts does a job talk to, and what is each told? Exactly the targets, and only inert values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from provisioning.jobs.fields import HOST_NAME, address
from provisioning.jobs.inert import as_data

GROUP = "targets"
RESERVED = frozenset({GROUP, "all", "ungrouped", "localhost"})
CONNECTIONS = frozenset({"ssh", "simulated", "local"})
_VARIABLE = re.compile(r"[a-z][a-z0-9_]{0,59}")
_USER = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,31}")
_FILE = re.compile(r"(/[^\x00-\x1f/]{1,255}){1,40}")


@dataclass(frozen=True, kw_only=True)
class Target:
    """A node as Ansible is told of it. `extra` is free and may never name one of Ansible's own variables."""

    name: str
    address: str
    connection: str
    sku: str
    gpu_count: int
    simulated: bool
    node_root: str = ""
    user: str = ""
    port: int | None = None
    python_interpreter: str = ""
    simulated_node_dir: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class SshAccess:
    """How real nodes are reached: the key, and the file of host keys that this attempt knows."""

    key_file: Path | None
    known_hosts: Path


def inventory(targets: Iterable[Target], *, ssh: SshAccess) -> dict[str, Any]:
    """The inventory as the JSON that Ansible's YAML plugin reads. ValueError for a target that can't be one."""
    hosts: dict[str, Any] = {}
    for target in targets:
        if HOST_NAME.fullmatch(target.name) is None or target.name in RESERVED:
            raise ValueError(f"{target.name[:60]!r} can't be the name of a host")
        if target.name in hosts:
            raise ValueError(f"{target.name} is named twice")
        hosts[target.name] = as_data(_variables(target, ssh))
    if not hosts:
        raise ValueError("a job needs at least one node")
    return {GROUP: {"hosts": hosts}}


def _variables(target: Target, ssh: SshAccess) -> dict[str, Any]:
    told: dict[str, Any] = {
        "ansible_host": address(target.address),
        "ansible_connection": _one_of(target.connection, CONNECTIONS),
        "node_name": target.name,
        "node_root": _file(target.node_root),
        "sku": target.sku,
        "gpu_count": target.gpu_count,
        "simulated": target.simulated,
    }
    if target.user:
        told["ansible_user"] = _matching(_USER, target.user, "the name of an account")
    if target.port is not None:
        told["ansible_port"] = target.port
    if target.python_interpreter:
        told["ansible_python_interpreter"] = _file(target.python_interpreter)
    if target.connection == "simulated":
        told["simulated_node_dir"] = _file(target.simulated_node_dir)
    if target.connection == "ssh":
        told |= _ssh_variables(target, ssh)
    else:
        told["ansible_become"] = False  # it would become root of the controller
    return told | _free(target.extra, told)


def _ssh_variables(target: Target, ssh: SshAccess) -> dict[str, Any]:
    """The host key belongs to the node, not to the address it has today: HostKeyAlias."""
    options = (
        f"-o HostKeyAlias={target.name} -o StrictHostKeyChecking=accept-new -o HashKnownHosts=no "
        f"-o UserKnownHostsFile={_plain(ssh.known_hosts)} -o GlobalKnownHostsFile=/dev/null "
        "-o UpdateHostKeys=no -o IdentitiesOnly=yes -o ForwardAgent=no -o ConnectTimeout=10 "
        "-o ServerAliveInterval=10 -o ServerAliveCountMax=3"
    )
    told: dict[str, Any] = {"ansible_ssh_common_args": options}
    told |= {
        "mitogen_ssh_keepalive_interval": 10,
        "mitogen_ssh_keepalive_count": 3,
    }  # it has words of its own
    if ssh.key_file is not None:
        told["ansible_ssh_private_key_file"] = _plain(ssh.key_file)
    return told


def _free(extra: Mapping[str, Any], told: Mapping[str, Any]) -> dict[str, Any]:
    for name in extra:
        if _VARIABLE.fullmatch(name) is None or name.startswith("ansible_"):
            raise ValueError(f"{name[:60]!r} can't be told to a playbook")
        if name in told:
            raise ValueError(f"{name} is the portal's own")
    return dict(extra)


def _one_of(value: str, known: frozenset[str]) -> str:
    if value not in known:
        raise ValueError(f"{value[:60]!r} is not one of {', '.join(sorted(known))}")
    return value


def _matching(pattern: re.Pattern[str], value: str, what: str) -> str:
    if pattern.fullmatch(value) is None:
        raise ValueError(f"{value[:60]!r} is not {what}")
    return value


def _file(value: str) -> str:
    return value if value == "" else _matching(_FILE, value, "an absolute path")


def _plain(path: Path) -> str:
    """A path that ssh's option line can hold: Ansible splits that line as a shell would."""
    text = str(path)
    if re.fullmatch(r"[A-Za-z0-9_./+@,-]+", text) is None:
        raise ValueError(f"{text!r} can't stand in an option of ssh: choose a folder without spaces")
    return text
