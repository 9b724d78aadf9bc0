#!/usr/bin/python
"""How fast is the all-reduce over all nodes of a cluster? Run on the first of them, as raw evidence; nothing is judged here."""

from __future__ import annotations

import os
import re
import time

from ansible.module_utils.basic import AnsibleModule

from ansible.module_utils.bounded_run import Runner

DOCUMENTATION = """
---
module: collective_probe
short_description: Measures the all-reduce over several GPU nodes from this one
description:
  - Runs C(mpirun ... all_reduce_perf) over the hosts, one process per GPU, for a bounded time, and returns what it printed.
  - Judges nothing. Changes nothing, so that check mode runs it in full.
options:
  node_root:
    description: Prefix of every file path; empty on a real node.
    type: str
    default: ""
  node:
    description: This node's name in the portal.
    type: str
    required: true
  hosts:
    description: Every node of the cluster; this one first.
    type: list
    elements: dict
    required: true
    suboptions:
      name: {type: str, required: true, description: The node's name.}
      address: {type: str, default: "", description: Its address inside the cluster; the name when empty.}
  min_bytes:
    description: Smallest message.
    type: str
    default: 1G
  max_bytes:
    description: Largest message.
    type: str
    default: 8G
  repeats:
    description: How often the measurement runs.
    type: int
    default: 3
  time_limit:
    description: Seconds one run may take.
    type: float
    default: 600
  gpu_count:
    description: GPUs per node.
    type: int
    default: 8
  simulated:
    description: Whether the nodes are simulated ones.
    type: bool
    default: false
  launcher_options:
    description: Further options of mpirun, such as the interface to use.
    type: list
    elements: str
    default: []
author: Quartermaster
"""
EXAMPLES = """
- name: Measure the collective
  collective_probe:
    node: gpu-001
    hosts: [{name: gpu-001, address: 10.0.0.1}, {name: gpu-002, address: 10.0.0.2}]
"""
RETURN = """
probe:
  description: The evidence, as the portal reads it.
  returned: always
  type: dict
"""

IDENTITY = "nccl-all-reduce-cluster"
MARK = "QM_ATTEMPT"
HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]{0,252}\Z")
ADDRESS = re.compile(r"[0-9A-Fa-f:.]{2,45}\Z")
SIZE = re.compile(r"[1-9][0-9]{0,11}[KMG]?\Z")


def command(given, marked=False):
    """One process per GPU over all hosts; NCCL warns of what it can't use, and no file system is needed between them.

    `marked`: what runs on the other hosts carries the attempt's mark too, or nobody could find it there.
    """
    places = [host["address"] or host["name"] for host in given["hosts"]]
    slots = ["%s:%d" % ("[%s]" % place if ":" in place else place, given["gpu_count"]) for place in places]
    total = given["gpu_count"] * len(places)
    return (
        [
            "mpirun",
            "--allow-run-as-root",
            "-np",
            str(total),
            "-H",
            ",".join(slots),
            "--bind-to",
            "none",
            "-x",
            "NCCL_DEBUG=WARN",
        ]
        + (["-x", MARK] if marked else [])
        + given["launcher_options"]
        + ["all_reduce_perf", "-b", given["min_bytes"], "-e", given["max_bytes"], "-f", "2", "-g", "1"]
    )


def complaint(given):
    """Why these arguments can't be run, or None."""
    if not given["hosts"]:
        return "hosts is empty: name every node of the cluster"
    for host in given["hosts"]:
        if not HOST.match(host["name"]):
            return "%r is no host name" % host["name"]
        if host["address"] and not ADDRESS.match(host["address"]) and not HOST.match(host["address"]):
            return "%r is no address of %s" % (host["address"], host["name"])
    for size in (given["min_bytes"], given["max_bytes"]):
        if not SIZE.match(size):
            return "%r is no size: use a number with K, M or G" % size
    if not 1 <= given["repeats"] <= 50 or given["time_limit"] <= 0 or given["gpu_count"] < 1:
        return "repeats must be 1 to 50, time_limit above 0 and gpu_count at least 1"
    return None


def boot_id(root):
    try:
        with open(root + "/proc/sys/kernel/random/boot_id") as handle:
            return handle.read().strip()
    except OSError:
        return ""


def main():
    module = AnsibleModule(
        argument_spec={
            "node_root": {"type": "str", "default": ""},
            "node": {"type": "str", "required": True},
            "hosts": {
                "type": "list",
                "elements": "dict",
                "required": True,
                "options": {
                    "name": {"type": "str", "required": True},
                    "address": {"type": "str", "default": ""},
                },
            },
            "min_bytes": {"type": "str", "default": "1G"},
            "max_bytes": {"type": "str", "default": "8G"},
            "repeats": {"type": "int", "default": 3},
            "time_limit": {"type": "float", "default": 600},
            "gpu_count": {"type": "int", "default": 8},
            "simulated": {"type": "bool", "default": False},
            "launcher_options": {"type": "list", "elements": "str", "default": []},
        },
        supports_check_mode=True,
    )
    given = module.params
    why = complaint(given)
    if why is not None:
        module.fail_json(msg=why)
    root = given["node_root"].rstrip("/")
    if root and not os.path.isdir(root):
        module.fail_json(msg="node_root %s is not a folder: create the simulated node first" % root)
    runner = Runner(root, given["time_limit"])
    taken = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    argv = command(given, marked=MARK in runner.env)
    rows = []
    for run in range(1, given["repeats"] + 1):
        rows.append(runner.evidence(IDENTITY, argv, run=run))
        if rows[-1]["outcome"] != "ran":
            break
    runner.close()
    module.exit_json(
        changed=False,
        probe={
            "schema": 1,
            "node": given["node"],
            "boot_id": boot_id(root),
            "taken_at": taken,
            "simulated": given["simulated"],
            "evidence": rows,
        },
    )


if __name__ == "__main__":
    main()
