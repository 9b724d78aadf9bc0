#!/usr/bin/python
"""Which kernel settings hold on this node, now and after a boot?"""

from __future__ import annotations

import re

from ansible.module_utils.basic import AnsibleModule

from ansible.module_utils.node_tools import NODE_ARGS, Node

KEY = re.compile(r"[a-z][A-Za-z0-9_./-]{1,127}\Z")
VALUE = re.compile(r"[A-Za-z0-9 .:,/_-]{1,255}\Z")


def plain(value):
    """The kernel separates several numbers by tabs, people by blanks."""
    return " ".join(str(value).split())


def current(node, keys):
    """What the kernel has now, by one call; a key it doesn't know is left out."""
    lines = node.run(["sysctl"] + keys, limit=15).out.splitlines() if keys else []
    pairs = [line.partition(" = ") for line in lines]
    return {key: plain(value) for key, equals, value in pairs if equals}


def main():
    module = AnsibleModule(
        argument_spec=dict(
            NODE_ARGS,
            settings={"type": "dict", "required": True},
            path={"type": "str", "default": "/etc/sysctl.d/90-quartermaster.conf"},
        ),
        supports_check_mode=True,
    )
    node = Node(module)
    settings = {key: plain(value) for key, value in module.params["settings"].items()}
    for key, value in settings.items():
        if not KEY.match(key) or not VALUE.match(value):
            node.fail("%s = %r is no kernel setting" % (key, value))
    lines = ["# Written by Quartermaster; edit the role, not this file.\n"]
    node.write(
        module.params["path"], "".join(lines + ["%s = %s\n" % item for item in sorted(settings.items())])
    )
    have = current(node, sorted(settings))
    for key, value in sorted(settings.items()):
        if have.get(key) == value:
            continue
        node.note("set %s" % key, before="%s = %s" % (key, have.get(key, "")), after="%s = %s" % (key, value))
        if not node.dry:
            node.need(
                ["sysctl", "-w", "%s=%s" % (key, value)],
                limit=15,
                hint="This kernel may lack the setting: take it out of the role's variable.",
            )
    node.done()


if __name__ == "__main__":
    main()
