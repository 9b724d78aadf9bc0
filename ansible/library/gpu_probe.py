#!/usr/bin/python
"""What do this node's own tools say and measure? Everything in one round trip, as raw evidence; nothing is judged here.

The passive tools run side by side, since they only read. The measured ones run one after the other and `repeats` times, because
each needs the node to itself. A tool that is missing or does not end in time is told as such and is not tried again.
"""

from __future__ import annotations

import base64
import gzip
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from ansible.module_utils.basic import AnsibleModule

from ansible.module_utils.bounded_run import CAP, Kept, Runner, finish

DOCUMENTATION = """
---
module: gpu_probe
short_description: Gathers the raw evidence of one GPU node in one round trip
description:
  - Runs the node's own tools, each for a bounded time, and returns what they printed, packed, with exit codes and times.
  - Judges nothing. Changes nothing, so that check mode runs it in full.
options:
  node_root:
    description: Prefix of every file path; empty on a real node.
    type: str
    default: ""
  node:
    description: The node's name in the portal.
    type: str
    required: true
  checks:
    description: Evidence to gather; empty for all.
    type: list
    elements: str
    default: []
  repeats:
    description: How often each measured tool runs.
    type: int
    default: 3
  time_limit:
    description: Seconds one run of one tool may take.
    type: float
    default: 120
  gpu_count:
    description: How many GPUs the all-reduce runs over.
    type: int
    default: 8
  simulated:
    description: Whether the node is a simulated one.
    type: bool
    default: false
author: Quartermaster
"""
EXAMPLES = """
- name: Probe the node
  gpu_probe: {node: gpu-001, gpu_count: 8}
"""
RETURN = """
probe:
  description: The evidence, as the portal reads it.
  returned: always
  type: dict
"""

NVIDIA, MELLANOX = "10de:", "15b3:"
COPY_TESTS = [
    "host_to_device_memcpy_ce",
    "device_to_host_memcpy_ce",
    "device_to_device_memcpy_read_ce",
    "device_to_device_bidirectional_memcpy_read_ce",
]
# id -> commands. Of several, "also" adds the output of the second, "else" takes the second when the first is not there or fails.
PASSIVE = {
    "nvidia-smi-xml": ("only", ["nvidia-smi", "-q", "-x"]),
    "nvidia-smi-nvlink": ("only", ["nvidia-smi", "nvlink", "-s"]),
    "lspci": ("also", ["lspci", "-vvv", "-d", NVIDIA], ["lspci", "-vvv", "-d", MELLANOX]),
    "kernel-log": (
        "else",
        ["journalctl", "-k", "-b", "-o", "short-iso", "--no-pager"],
        ["dmesg", "--time-format=iso"],
    ),
    "ibstat": ("only", ["ibstat"]),
    "chronyc-tracking": ("only", ["chronyc", "-c", "tracking"]),
    "mounts": ("only", ["findmnt", "-J", "-o", "TARGET,SOURCE,FSTYPE,OPTIONS"]),
    "kernel": ("only", ["uname", "-r"]),
    "fabric-manager": (
        "only",
        ["systemctl", "show", "nvidia-fabricmanager", "-p", "ActiveState,SubState,ExecMainStatus"],
    ),
}
SYSFS = "ib-sysfs"
DIAGNOSTICS = {
    "dcgmi-health": ["dcgmi", "health", "-c", "-j"],
    "dcgmi-diag": ["dcgmi", "diag", "-r", "1", "-j"],
}
PORT_FILES = ("state", "phys_state", "rate", "link_layer", "lid")
DEVICE_FILES = ("board_id", "fw_ver", "hca_type")


def measured(gpus):
    """id -> command of what loads the node."""
    return {
        "gemm": ["gpu-gemm"],
        "nvbandwidth": ["nvbandwidth", "-t"] + COPY_TESTS,
        "gpu-stream": ["gpu_stream"],
        "nccl-all-reduce": ["all_reduce_perf", "-b", "1G", "-e", "8G", "-f", "2", "-g", str(gpus)],
    }


def gather(runner, wanted, repeats, gpus):
    """The rows of evidence, in the order of the table."""
    passive = [name for name in list(PASSIVE) + [SYSFS] if name in wanted]
    rows = []
    if passive:
        with ThreadPoolExecutor(max_workers=min(8, len(passive))) as pool:
            rows += list(pool.map(lambda name: look(runner, name), passive))
    rows += [runner.evidence(name, argv) for name, argv in DIAGNOSTICS.items() if name in wanted]
    for name, argv in measured(gpus).items():
        if name in wanted:
            rows += repeat(runner, name, argv, repeats)
    return rows


def repeat(runner, name, argv, repeats):
    """Run it again while it runs: a tool that is missing or hung would only be so once more."""
    rows = []
    for run in range(1, repeats + 1):
        rows.append(runner.evidence(name, argv, run=run))
        if rows[-1]["outcome"] != "ran":
            break
    return rows


def look(runner, name):
    """One passive piece of evidence."""
    if name == SYSFS:
        return sysfs(runner)
    how, first = PASSIVE[name][:2]
    row = runner.evidence(name, first)
    if how == "else" and (row["outcome"] != "ran" or row["rc"] != 0):
        other = runner.evidence(name, PASSIVE[name][2])
        return other if other["outcome"] == "ran" else row
    if how == "also" and row["outcome"] == "ran":
        return joined(row, runner.evidence(name, PASSIVE[name][2]))
    return row


def joined(row, more):
    """Two outputs of the same tool as one piece of evidence; a second call that did not run leaves a note."""

    if more["outcome"] != "ran":
        row["stderr"] = (row["stderr"] + "\n" + more["stderr"]).strip()
        row["truncated"] = True
        return row
    out = Kept(CAP)
    for part in (row, more):
        out.add(gzip.decompress(base64.b64decode(part["stdout"])))
    out.total = max(out.total, row["stdout_bytes"] + more["stdout_bytes"])
    row["command"] = row["command"] + ["+"] + more["command"]
    row["rc"] = row["rc"] or more["rc"]
    row["seconds"] = round(row["seconds"] + more["seconds"], 3)
    return finish(row, "ran", out, (row["stderr"] + more["stderr"]))


def sysfs(runner):
    """/sys/class/infiniband folded into lines of `path: value`; reading it may hang with a dying card, so it is bounded, too."""
    base = runner.root + "/sys/class/infiniband"
    row = {"id": SYSFS, "command": ["read", base], "run": 1, "rc": None, "seconds": 0.0, "stderr": ""}
    if not os.path.isdir(base):
        return finish(row, "missing", stderr="%s is not there" % base)
    started, lines = time.monotonic(), []
    reader = threading.Thread(target=lambda: lines.extend(fold(base)), daemon=True)
    reader.start()
    reader.join(runner.limit)
    row["seconds"] = round(time.monotonic() - started, 3)
    out = Kept(CAP)
    out.add("".join(line + "\n" for line in list(lines)).encode("utf-8", "replace"))
    if reader.is_alive():
        return finish(row, "timed_out", out, "no end within %g s" % runner.limit)
    row["rc"] = 0
    return finish(row, "ran", out)


def fold(base):
    """Every file of interest below the cards, sorted, one line each; a file that can't be read is left out."""
    lines = []
    for card in sorted(os.listdir(base)):
        paths = ["%s/%s" % (card, name) for name in DEVICE_FILES]
        for port in listed(os.path.join(base, card, "ports")):
            place = "%s/ports/%s" % (card, port)
            for group in ("counters", "hw_counters"):
                paths += [
                    "%s/%s/%s" % (place, group, name) for name in listed(os.path.join(base, place, group))
                ]
            paths += ["%s/%s" % (place, name) for name in PORT_FILES]
        for path in sorted(paths):
            value = text_of(os.path.join(base, path))
            if value is not None:
                lines.append("%s: %s" % (path, value))
    return lines


def listed(folder):
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def text_of(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as handle:
            return " ".join(handle.read(4096).split())
    except OSError:
        return None


def main():
    module = AnsibleModule(
        argument_spec={
            "node_root": {"type": "str", "default": ""},
            "node": {"type": "str", "required": True},
            "checks": {"type": "list", "elements": "str", "default": []},
            "repeats": {"type": "int", "default": 3},
            "time_limit": {"type": "float", "default": 120},
            "gpu_count": {"type": "int", "default": 8},
            "simulated": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )
    given = module.params
    known = list(PASSIVE) + [SYSFS] + list(DIAGNOSTICS) + list(measured(given["gpu_count"]))
    unknown = sorted(set(given["checks"]) - set(known))
    if unknown:
        module.fail_json(msg="no such evidence: %s. There is: %s" % (", ".join(unknown), ", ".join(known)))
    if not 1 <= given["repeats"] <= 50 or given["time_limit"] <= 0 or given["gpu_count"] < 1:
        module.fail_json(msg="repeats must be 1 to 50, time_limit above 0 and gpu_count at least 1")
    root = given["node_root"].rstrip("/")
    if root and not os.path.isdir(root):
        module.fail_json(msg="node_root %s is not a folder: create the simulated node first" % root)
    runner = Runner(root, given["time_limit"])
    taken = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    rows = gather(runner, set(given["checks"] or known), given["repeats"], given["gpu_count"])
    runner.close()
    boot = text_of(root + "/proc/sys/kernel/random/boot_id") or ""
    module.exit_json(
        changed=False,
        probe={
            "schema": 1,
            "node": given["node"],
            "boot_id": boot,
            "taken_at": taken,
            "simulated": given["simulated"],
            "evidence": rows,
        },
    )


if __name__ == "__main__":
    main()
