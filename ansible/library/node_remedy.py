#!/usr/bin/python
"""Is this remedy on the node with exactly these settings, or is the node as it was before it?

A remedy is one of a closed list (nccl-env, sysctl, scratch-mount, clock-lock). What was there before is kept in
/var/lib/quartermaster/remedies, so that taking it off restores it, also after the settings were changed meanwhile. state absent with
an empty name takes off every remedy that the node remembers, which is what a wipe does.
"""

from __future__ import annotations

import contextlib
import json
import os
import re

from ansible.module_utils.basic import AnsibleModule

from ansible.module_utils.node_tools import NODE_ARGS, Node

MEMORY = "/var/lib/quartermaster/remedies"
BEGIN, END = "# BEGIN quartermaster remedy", "# END quartermaster remedy"
NCCL, FSTAB, SYSCTL = "/etc/nccl.conf", "/etc/fstab", "/etc/sysctl.d/95-quartermaster-remedy.conf"
BOOT_ID = "/proc/sys/kernel/random/boot_id"

NUMBERS = r"[0-9]{1,12}( [0-9]{1,12}){0,3}"
SHAPES = {
    "nccl-env": (r"NCCL_[A-Z0-9_]{1,60}", r"[A-Za-z0-9_.,:=^/-]{1,200}", ()),
    "sysctl": (r"(vm|fs|net\.core|net\.ipv4|kernel\.numa_balancing)(\.[a-z0-9_]{1,60}){0,4}", NUMBERS, ()),
    "scratch-mount": (
        r"path|size_gib",
        r"/scratch-[a-z0-9-]{1,40}|[1-9][0-9]{0,3}",
        ("path", "size_gib"),
    ),
    "clock-lock": (r"min_mhz|max_mhz", r"[1-9][0-9]{2,3}", ("min_mhz", "max_mhz")),
}


def complaint(name, settings):
    """Why these settings can't be, or None."""
    names, values, needed = SHAPES[name]
    missing = [key for key in needed if key not in settings]
    if missing or not 1 <= len(settings) <= 20:
        return "needs %s, from 1 to 20 settings" % (", ".join(needed) or "a setting")
    for key, value in settings.items():
        if not re.match(r"(%s)\Z" % names, key) or not re.match(r"(%s)\Z" % values, value):
            return "%s = %r is none of its settings" % (key[:60], value[:60])
    if name == "scratch-mount" and not (settings["path"].startswith("/") and settings["size_gib"].isdigit()):
        return "needs a path like /scratch-fast and a size in GiB"
    if name == "clock-lock" and int(settings["min_mhz"]) > int(settings["max_mhz"]):
        return "min_mhz is above max_mhz"
    return None


class Memory:
    """What a remedy found when it came, and how it is set."""

    def __init__(self, node, name):
        self.node, self.path = node, "%s/%s.json" % (MEMORY, name)
        text = node.read(self.path)
        try:
            kept = json.loads(text) if text else {}
        except ValueError:
            kept = {}
        self.there = text is not None
        self.settings = kept.get("settings", {})
        self.before = kept.get("before", {})
        self.boot = kept.get("boot", "")

    def keep(self, settings, boot=""):
        kept = {"settings": settings, "before": self.before, "boot": boot}
        self.node.write(self.path, json.dumps(kept, indent=1, sort_keys=True) + "\n", mode=0o600)

    def forget(self):
        if self.there:
            self.node.remove(self.path)


def with_block(old, lines):
    """The text of a file with our block at its end; without it when there are no lines."""
    kept, inside = [], False
    for line in old.splitlines():
        if line in (BEGIN, END):
            inside = line == BEGIN
        elif not inside:
            kept.append(line)
    block = [BEGIN] + lines + [END] if lines else []
    return "".join("%s\n" % line for line in kept + block)


def put_block(node, path, lines):
    """Write our block; a file that holds nothing else goes with it."""
    old = node.read(path)
    if old is None and not lines:
        return
    text = with_block(old or "", lines)
    if text:
        node.write(path, text)
    else:
        node.remove(path)


def kernel_has(node, key):
    ran = node.run(["sysctl", "-n", key], limit=15)
    if ran.rc != 0:
        node.fail("this kernel has no %s: %s" % (key, ran.words()))
    return " ".join(ran.out.split())


def set_kernel(node, key, value):
    have = kernel_has(node, key)
    if have == value:
        return
    node.note("set %s" % key, before="%s = %s" % (key, have), after="%s = %s" % (key, value))
    if not node.dry:
        node.need(["sysctl", "-w", "%s=%s" % (key, value)], limit=15)


def mounted(node, path):
    """Options of what is mounted exactly there, or None."""
    ran = node.run(["findmnt", "-J", path], limit=30)
    if ran.rc != 0 or not ran.out.strip():
        return None
    return json.loads(ran.out)["filesystems"][-1]


def unmount(node, path):
    if mounted(node, path) is None:
        return
    node.note("unmount %s" % path, before="%s mounted" % path)
    if not node.dry:
        node.need(
            ["umount", path], limit=60, hint="Something uses it: see 'fuser -vm %s' on the node." % path
        )
        with contextlib.suppress(OSError):  # it stays where it was there before, or holds something
            os.rmdir(node.path(path))


def nccl_on(node, memory, settings):
    put_block(node, NCCL, ["%s=%s" % item for item in sorted(settings.items())])
    memory.keep(settings)


def nccl_off(node, memory):
    put_block(node, NCCL, [])


def sysctl_on(node, memory, settings):
    for key in sorted(set(memory.settings) - set(settings)):
        set_kernel(node, key, memory.before.pop(key))
    for key in sorted(settings):
        memory.before.setdefault(key, kernel_has(node, key))
    memory.keep(settings)  # first: whatever happens next, what was before is known
    lines = ["# Written by Quartermaster for a workaround; it goes with it.\n"]
    node.write(SYSCTL, "".join(lines + ["%s = %s\n" % item for item in sorted(settings.items())]))
    for key, value in sorted(settings.items()):
        set_kernel(node, key, value)


def sysctl_off(node, memory):
    for key, value in sorted(memory.before.items()):
        set_kernel(node, key, value)
    if node.read(SYSCTL) is not None:
        node.remove(SYSCTL)


def scratch_on(node, memory, settings):
    path, size = settings["path"], "%sG" % settings["size_gib"]
    old = memory.settings.get("path")
    if memory.settings and memory.settings != settings:
        unmount(node, old)
    memory.keep(settings)
    options = "size=%s,mode=1777,nosuid,nodev" % size
    put_block(node, FSTAB, ["tmpfs %s tmpfs %s 0 0" % (path, options)])
    if mounted(node, path) is None:
        node.note("mount %s" % path, after="%s of %s in memory" % (path, size))
        if not node.dry:
            os.makedirs(node.path(path), exist_ok=True)
            node.need(["mount", path], limit=60)


def scratch_off(node, memory):
    if memory.settings.get("path"):
        unmount(node, memory.settings["path"])
    if BEGIN in (node.read(FSTAB) or ""):
        put_block(node, FSTAB, [])


def clocks_on(node, memory, settings):
    boot = (node.read(BOOT_ID) or "").strip()
    if memory.settings == settings and memory.boot == boot:
        return
    bounds = "%s,%s" % (settings["min_mhz"], settings["max_mhz"])
    node.note("lock the GPUs' clocks to %s MHz" % bounds)
    if not node.dry:
        node.need(
            ["nvidia-smi", "-lgc", bounds],
            limit=60,
            hint="Not every GPU allows it: see nvidia-smi -q -d CLOCK.",
        )
    memory.keep(settings, boot)


def clocks_off(node, memory):
    node.note("let the GPUs choose their clocks")
    if not node.dry:
        node.need(["nvidia-smi", "-rgc"], limit=60)


ON = {"nccl-env": nccl_on, "sysctl": sysctl_on, "scratch-mount": scratch_on, "clock-lock": clocks_on}
OFF = {"nccl-env": nccl_off, "sysctl": sysctl_off, "scratch-mount": scratch_off, "clock-lock": clocks_off}


def take_off(node, name):
    memory = Memory(node, name)
    if memory.there:
        OFF[name](node, memory)
        memory.forget()


def main():
    setting = {"name": {"type": "str", "required": True}, "value": {"type": "str", "required": True}}
    module = AnsibleModule(
        argument_spec=dict(
            NODE_ARGS,
            name={"type": "str", "choices": sorted(SHAPES) + [""], "required": True},
            settings={"type": "list", "elements": "dict", "default": [], "options": setting},
            state={"type": "str", "choices": ["present", "absent"], "default": "present"},
        ),
        supports_check_mode=True,
    )
    node = Node(module)
    name = module.params["name"]
    settings = {each["name"]: each["value"] for each in module.params["settings"]}
    if len(settings) != len(module.params["settings"]):
        node.fail("the remedy %s is refused: a setting is there twice" % name)
    if module.params["state"] == "present":
        why = complaint(name, settings) if name else "a remedy has a name"
        if why:
            node.fail("the remedy %s is refused: %s" % (name, why))
        ON[name](node, Memory(node, name), settings)
    else:
        for each in [name] if name else sorted(SHAPES):
            take_off(node, each)
    node.done()


if __name__ == "__main__":
    main()
