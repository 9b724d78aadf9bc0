#!/usr/bin/python
"""Which shared storage is mounted on this node for its cluster, now and after a boot?

mounts: [{path, source, fstype, options}]. The list is exact for what Quartermaster keeps in /etc/fstab (a marked block): a mount
that is no longer in it is unmounted and forgotten; entries of the site outside the block are never touched. `forced` options
(nosuid,nodev) are added to every mount, because the far end is not ours.
"""

from __future__ import annotations

import json
import os
import re

from ansible.module_utils.basic import AnsibleModule

from ansible.module_utils.node_tools import NODE_ARGS, Node

BEGIN, END = "# BEGIN quartermaster mounts", "# END quartermaster mounts"
PATH = re.compile(r"(/[A-Za-z0-9_][A-Za-z0-9._@+-]{0,99}){1,16}\Z")
SOURCE = re.compile(r"[A-Za-z0-9/\[][A-Za-z0-9@._:/=,\[\]+-]{0,511}\Z")
OPTIONS = re.compile(r"[A-Za-z0-9._:=,/@%+-]{1,512}\Z")
TYPES = [
    "nfs",
    "nfs4",
    "lustre",
    "beegfs",
    "gpfs",
    "ceph",
    "wekafs",
    "glusterfs",
    "virtiofs",
    "9p",
    "ext4",
    "xfs",
    "tmpfs",
]
SYSTEM = (
    "/bin",
    "/boot",
    "/dev",
    "/etc",
    "/lib",
    "/lib32",
    "/lib64",
    "/proc",
    "/root",
    "/run",
    "/sbin",
    "/sys",
    "/usr",
    "/var",
)


def complaint(mount):
    path = mount["path"]
    if not PATH.match(path):
        return "path %r must be absolute, of letters, digits and . _ @ + -" % path
    if path.startswith(tuple(folder + "/" for folder in SYSTEM)) or path in SYSTEM or path == "/tmp":
        return (
            "path %s would hide a part of the system: choose one below /mnt, /data, /shared or /home" % path
        )
    if not SOURCE.match(mount["source"]):
        return "source %r of %s must be like server:/export, of printable characters without blanks" % (
            mount["source"],
            path,
        )
    if mount["options"] and not OPTIONS.match(mount["options"]):
        return "options %r of %s must be a comma list without blanks" % (mount["options"], path)
    return None


def check(node, mounts):
    paths = [mount["path"] for mount in mounts]
    for mount in mounts:
        why = complaint(mount)
        if why or paths.count(mount["path"]) > 1:
            node.fail(
                "a storage mount is refused: %s" % (why or "path %s is asked for twice" % mount["path"])
            )


def fstab_line(mount, forced):
    options = [part for part in (mount["options"] or "defaults").split(",") if part]
    options += [part for part in forced if part not in options]
    return "%s %s %s %s 0 0" % (mount["source"], mount["path"], mount["fstype"], ",".join(options))


def split_fstab(node):
    """(lines of the site, lines of our block)."""
    site, block, inside = [], [], False
    for line in (node.read("/etc/fstab") or "").splitlines():
        if line in (BEGIN, END):
            inside = line == BEGIN
        else:
            (block if inside else site).append(line)
    return site, block


def is_mounted(node, path):
    """What is mounted exactly at `path`: (source, fstype), or None."""
    ran = node.run(["findmnt", "-J", path], limit=30)
    if ran.rc != 0 or not ran.out.strip():
        return None
    try:
        top = json.loads(ran.out)["filesystems"][-1]
        return top["source"], top["fstype"]
    except (ValueError, KeyError, IndexError):
        return node.fail("findmnt -J %s printed no JSON: %s" % (path, ran.out[:200]))


def unmount(node, path, limit):
    if is_mounted(node, path) is None:
        return
    node.note("unmount %s" % path, before="%s mounted" % path)
    if not node.dry:
        node.need(
            ["umount", path], limit=limit, hint="Something uses it: see 'fuser -vm %s' on the node." % path
        )


def mount_one(node, mount, limit):
    path, found = mount["path"], is_mounted(node, mount["path"])
    if found is not None and found[0].rstrip("/") == mount["source"].rstrip("/"):
        return
    if found is not None:
        unmount(node, path, limit)
    node.note(
        "mount %s" % path,
        before="%s from %s" % (path, found[0]) if found else None,
        after="%s from %s" % (path, mount["source"]),
    )
    if node.dry:
        return
    os.makedirs(node.path(path), exist_ok=True)
    node.need(
        ["mount", path],
        limit=limit,
        hint="Check that %s is reachable from the node and lets it in." % mount["source"],
    )
    if is_mounted(node, path) is None:
        node.fail("mount %s said yes, but findmnt sees nothing there" % path)


def conflicts(node, site, mounts):
    ours = {mount["path"] for mount in mounts}
    for line in site:
        words = line.split()
        if len(words) > 1 and not words[0].startswith("#") and words[1] in ours:
            node.fail(
                "/etc/fstab of the node already has an entry of the site for %s: take that out, or choose another path"
                % words[1]
            )


def main():
    mount = {
        "path": {"type": "str", "required": True},
        "source": {"type": "str", "required": True},
        "fstype": {"type": "str", "choices": TYPES, "default": "nfs"},
        "options": {"type": "str", "default": "defaults"},
    }
    module = AnsibleModule(
        argument_spec=dict(
            NODE_ARGS,
            mounts={"type": "list", "elements": "dict", "required": True, "options": mount},
            forced={"type": "list", "elements": "str", "default": ["nosuid", "nodev"]},
            state={"type": "str", "choices": ["present", "absent"], "default": "present"},
            time_limit={"type": "int", "default": 60},
        ),
        supports_check_mode=True,
    )
    node = Node(module)
    mounts, limit = module.params["mounts"], module.params["time_limit"]
    check(node, mounts)
    site, block = split_fstab(node)
    if module.params["state"] == "absent":  # what the block holds goes too, known to the caller or not
        mounts = []
    conflicts(node, site, mounts)
    wanted = {mount["path"] for mount in mounts}
    for line in reversed(block):
        words = line.split()
        if len(words) > 1 and words[1] not in wanted:
            unmount(node, words[1], limit)
    lines = [fstab_line(mount, module.params["forced"]) for mount in mounts]
    if lines != block:
        node.write(
            "/etc/fstab", "".join("%s\n" % line for line in site + ([BEGIN] + lines + [END] if lines else []))
        )
    for mount in mounts:
        mount_one(node, mount, limit)
    node.done()


if __name__ == "__main__":
    main()
