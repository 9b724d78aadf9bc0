#!/usr/bin/python
"""Which kernel modules are loaded on this node, now and after a boot?

`required` modules must load; `wanted` ones may be missing from this kernel, which is then told in `missing`.
"""

from __future__ import annotations

import os
import re

from ansible.module_utils.basic import AnsibleModule

from ansible.module_utils.node_tools import NODE_ARGS, Node

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}\Z")


def loaded(node):
    """Modules that are in the kernel: loaded ones from lsmod, built-in ones from sysfs."""
    names = {line.split()[0] for line in node.need(["lsmod"], limit=15).out.splitlines()[1:] if line.split()}
    folder = node.path("/sys/module")
    if os.path.isdir(folder):
        names.update(os.listdir(folder))
    return names


def main():
    names = {"type": "list", "elements": "str", "default": []}
    module = AnsibleModule(
        argument_spec=dict(
            NODE_ARGS,
            required=names,
            wanted=names,
            path={"type": "str", "default": "/etc/modules-load.d/quartermaster.conf"},
        ),
        supports_check_mode=True,
    )
    node = Node(module)
    required, wanted = module.params["required"], module.params["wanted"]
    for name in required + wanted:
        if not NAME.match(name):
            node.fail("%r is no kernel module name" % name)
    here, missing = loaded(node), []
    for name in required + wanted:
        if name.replace("-", "_") in here:
            continue
        node.note("load %s" % name, after="%s loaded" % name)
        if node.dry:
            continue
        ran = node.run(["modprobe", name], limit=60)
        if ran.rc != 0 and name in required:
            node.fail(
                "modprobe %s failed (rc %d): %s. Install the package that brings it, or boot the kernel it was built for."
                % (name, ran.rc, ran.words()),
                rc=ran.rc,
                stderr=ran.err[-4000:],
            )
        if ran.rc != 0:
            node.changes.pop()
            node.after.pop()
            node.before.pop()
            missing.append(name)
    lines = ["# Written by Quartermaster; edit the role, not this file.\n"]
    keep = [name for name in required + wanted if name not in missing]
    node.write(module.params["path"], "".join(lines + ["%s\n" % name for name in keep]))
    node.done(missing=missing)


if __name__ == "__main__":
    main()
