#!/usr/bin/python
"""Does the container runtime of this node hand GPUs to containers?

Asks the runtime's own configuration file and lets nvidia-ctk write it when it doesn't, so that a second run changes nothing.
"""

from __future__ import annotations

from ansible.module_utils.basic import AnsibleModule

from ansible.module_utils.node_tools import NODE_ARGS, Node

MARK = "nvidia-container-runtime"
CONFIG = {
    "containerd": ["/etc/containerd/config.toml", "/etc/containerd/conf.d/99-nvidia.toml"],
    "docker": ["/etc/docker/daemon.json"],
}


def is_configured(node, runtime):
    return any(MARK in (node.read(path) or "") for path in CONFIG[runtime])


def main():
    module = AnsibleModule(
        argument_spec=dict(
            NODE_ARGS,
            runtime={"type": "str", "choices": sorted(CONFIG), "default": "containerd"},
            time_limit={"type": "int", "default": 60},
        ),
        supports_check_mode=True,
    )
    node, runtime = Node(module), module.params["runtime"]
    if not is_configured(node, runtime):
        node.note("configure %s for GPUs" % runtime, after="%s: %s" % (CONFIG[runtime][0], MARK))
        if not node.dry:
            config = node.path(CONFIG[runtime][0])
            node.need(
                [
                    "nvidia-ctk",
                    "runtime",
                    "configure",
                    "--runtime=%s" % runtime,
                    "--config=%s" % config,
                    "--set-as-default",
                ],
                limit=module.params["time_limit"],
            )
            if not is_configured(node, runtime):
                node.fail(
                    "nvidia-ctk said yes, but %s doesn't name %s" % (" and ".join(CONFIG[runtime]), MARK)
                )
    node.done()


if __name__ == "__main__":
    main()
