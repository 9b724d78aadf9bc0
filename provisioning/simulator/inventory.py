"""How does a simulated fleet look as an Ansible inventory, for the portal's importer and for trying playbooks by hand?"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from provisioning.simulator import fleet, node


def inventory(root: Path, *, python: str = "") -> dict[str, Any]:
    """The fleet below `root` as Ansible's YAML plugin reads it: group `targets` with each host's variables, one group per rack."""
    hosts = {folder.name: hostvars(folder, python=python) for folder in fleet.node_dirs(root)}
    racks: dict[str, Any] = {}
    for name, told in hosts.items():
        racks.setdefault(f"rack_{told['rack']}", {"hosts": {}})["hosts"][name] = {}
    return {"targets": {"hosts": hosts}, **dict(sorted(racks.items()))}


def hostvars(node_dir: Path, *, python: str = "") -> dict[str, Any]:
    """What Ansible and the importer are told of one node."""
    state = node.read_state(node_dir)
    folder = node_dir.resolve()
    return {
        "ansible_host": state["address"],
        "ansible_connection": "simulated",
        "ansible_become": False,
        "ansible_python_interpreter": python or sys.executable,
        "node_name": state["name"],
        "node_root": str(folder / "root"),
        "simulated": True,
        "simulated_node_dir": str(folder),
        "sku": state["sku"]["slug"],
        "gpu_count": int(state["sku"]["gpu_count"]),
        "rack": state["rack"],
    }
