#!/usr/bin/python
"""Which versions does this node really run? The portal stores them with every measurement.

packages: {key of the report: Debian package}. Driver and kernel are asked from what runs, not from what is installed. A thing
that is not there is null, never an error: a report about a node without a scheduler is still a report.
"""

from __future__ import annotations

from ansible.module_utils.basic import AnsibleModule

from ansible.module_utils.node_tools import NODE_ARGS, Node


def first_line(node, argv):
    ran = node.run(argv, limit=30, missing_ok=True)
    lines = ran.out.strip().splitlines()
    return lines[0].strip() if ran.rc == 0 and lines else None


def package_versions(node, names):
    ran = node.run(
        ["dpkg-query", "-W", "-f", "${Package} ${Status} ${Version}\\n"] + sorted(names),
        limit=60,
        missing_ok=True,
    )
    rows = [line.split() for line in ran.out.splitlines()]
    return {row[0]: row[4] for row in rows if len(row) == 5 and row[3] == "installed"}


def main():
    module = AnsibleModule(
        argument_spec=dict(NODE_ARGS, packages={"type": "dict", "default": {}}),
        supports_check_mode=True,
    )
    node = Node(module)
    wanted = {key: str(name) for key, name in module.params["packages"].items()}
    have = package_versions(node, set(wanted.values())) if wanted else {}
    report = {key: have.get(name) for key, name in wanted.items()}
    report["driver"] = first_line(node, ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"])
    report["kernel"] = first_line(node, ["uname", "-r"])
    node.done(report=report)


if __name__ == "__main__":
    main()
