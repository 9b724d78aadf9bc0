#!/usr/bin/python
"""Does the loaded NVIDIA driver have the wanted version, and does every GPU answer through it?

The package on disk and the module in the kernel drift apart whenever a driver is changed under running services; jobs then fail
with "Driver/library version mismatch". With `reload` the module is exchanged when nothing holds it (the `holders` services are
stopped before and started after); otherwise the module ends with what to do.
"""

from __future__ import annotations

import re

from ansible.module_utils.basic import AnsibleModule

from ansible.module_utils.node_tools import NODE_ARGS, Node

VERSION = re.compile(r"[0-9]{3,4}(\.[0-9]{1,4}){1,2}\Z")
STACK = ["nvidia_peermem", "nvidia_uvm", "nvidia_drm", "nvidia_modeset", "nvidia"]
QUERY = ["nvidia-smi", "--query-gpu=index,driver_version", "--format=csv,noheader"]


def kernel_version(node):
    """The version of the module in the kernel, or None when it is not loaded."""
    plain = node.read("/sys/module/nvidia/version")
    if plain and plain.strip():
        return plain.strip()
    found = re.search(r"Kernel Module\s+(\S+)", node.read("/proc/driver/nvidia/version") or "")
    return found.group(1) if found else None


def gpus(node, limit):
    """index -> driver version as nvidia-smi sees it. A lost GPU is left to the validation, which has the evidence: only when no
    GPU at all answers is it the driver's fault."""
    ran = node.run(QUERY, limit=limit)
    rows = [[cell.strip() for cell in line.split(",")] for line in ran.out.splitlines()]
    seen = {row[0]: row[1] for row in rows if len(row) == 2 and row[0].isdigit()}
    if ran.rc != 0 and not seen:
        node.fail(
            "nvidia-smi failed (rc %d): %s. If it speaks of a version mismatch or of no devices, reboot the node; see "
            "'dmesg | grep -i nvrm'." % (ran.rc, ran.words()),
            rc=ran.rc,
            stdout=ran.out[-4000:],
        )
    return seen


def stack_in_kernel(node):
    loaded = {line.split()[0] for line in node.need(["lsmod"], limit=15).out.splitlines()[1:] if line.split()}
    return [part for part in STACK if part in loaded]


def reload_stack(node, holders, limit):
    running = [
        unit
        for unit in holders
        if node.run(["systemctl", "is-active", unit], limit=30).out.strip() == "active"
    ]
    for unit in running:
        node.need(["systemctl", "stop", unit], limit=limit)
    stack = stack_in_kernel(node)
    for name in stack:
        ran = node.run(["modprobe", "-r", name], limit=60)
        if ran.rc != 0:
            node.fail(
                "the old driver can't be unloaded (%s): %s. Drain the node and reboot it, then run the job again."
                % (name, ran.words())
            )
    for name in reversed(stack):
        node.need(["modprobe", name], limit=120, hint="See 'dmesg | grep -i nvrm' on the node.")
    for unit in reversed(running):
        node.need(["systemctl", "start", unit], limit=limit)


def bring_up(node, wanted, params):
    """Get the wanted module into the kernel; returns nothing, notes what it changed."""
    kernel = kernel_version(node)
    if kernel is not None and (not wanted or kernel == wanted):
        return
    node.note(
        "load driver %s" % (wanted or "of the node"),
        before="driver %s" % kernel if kernel else None,
        after="driver %s" % (wanted or "loaded"),
    )
    if node.dry:
        return
    if kernel is None:
        node.need(
            ["modprobe", "nvidia"],
            limit=120,
            hint="Is the driver built for this kernel? See 'dkms status' on the node.",
        )
    elif params["reload"]:
        reload_stack(node, params["holders"], params["time_limit"])
    else:
        node.fail(
            "driver mismatch: %s is installed and %s is loaded. Drain the node and reboot it."
            % (wanted, kernel)
        )


def main():
    module = AnsibleModule(
        argument_spec=dict(
            NODE_ARGS,
            version={"type": "str", "default": ""},
            gpu_count={"type": "int", "required": True},
            reload={"type": "bool", "default": True},
            holders={"type": "list", "elements": "str", "default": []},
            time_limit={"type": "int", "default": 120},
        ),
        supports_check_mode=True,
    )
    node, params = Node(module), module.params
    wanted = params["version"]
    if wanted and not VERSION.match(wanted):
        node.fail("%r is no driver version; it looks like 570.124.06" % wanted)
    bring_up(node, wanted, params)
    if node.dry and node.tool("nvidia-smi") is None:  # nothing is installed yet, so nothing can be asked
        node.done(version=None, gpus=0)
    seen = gpus(node, params["time_limit"])
    wrong = sorted({version for version in seen.values() if wanted and version != wanted})
    if wrong and not node.dry:
        node.fail(
            "driver mismatch: %s is wanted and nvidia-smi reports %s. Drain the node and reboot it; if it stays, another driver "
            "package shadows this one (see 'dpkg -l | grep nvidia')." % (wanted, ", ".join(wrong))
        )
    if not seen and not node.dry:
        node.fail(
            "nvidia-smi lists no GPU, %d are expected. See 'lspci -d 10de:' and 'dmesg | grep -i nvrm'."
            % params["gpu_count"]
        )
    node.done(version=sorted(set(seen.values()))[0] if seen else None, gpus=len(seen))


if __name__ == "__main__":
    main()
