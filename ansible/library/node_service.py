#!/usr/bin/python
"""Which systemd units of this node run, and which start with it?

services: [{name, state, enabled}] with state started | stopped | restarted or absent for "leave alone". A unit that is to stop
and doesn't exist is already stopped. A unit that is to start must be active afterwards, or the module ends with its words.
"""

from __future__ import annotations

import re

from ansible.module_utils.basic import AnsibleModule

from ansible.module_utils.node_tools import NODE_ARGS, Node

UNIT = re.compile(r"[A-Za-z0-9][A-Za-z0-9:_.@-]{0,199}\Z")
ENABLED = {"enabled", "enabled-runtime", "static", "alias", "indirect", "generated"}


def systemctl(node, verb, unit, limit):
    hint = "See 'systemctl status %s' and 'journalctl -u %s -b' on the node." % (unit, unit)
    return node.need(["systemctl", verb, unit], limit=limit, hint=hint)


def look(node, units):
    """(active state, whether it starts at boot) of every unit, in their order, by one call."""
    argv = ["systemctl", "show", "-p", "Id,ActiveState,UnitFileState"] + units
    ran = node.need(argv, limit=30, hint="Is systemd running on the node?")
    found = []
    for line in ran.out.splitlines():
        key, _equals, value = line.partition("=")
        if key == "Id":
            found.append({})
        if found:
            found[-1][key] = value
    if len(found) != len(units):
        node.fail(
            "systemctl show told of %d units instead of %d: %s" % (len(found), len(units), ran.out[:300])
        )
    return [(unit.get("ActiveState", ""), unit.get("UnitFileState", "") in ENABLED) for unit in found]


def set_enabled(node, unit, enabled, wanted, limit):
    if wanted is None or enabled is wanted:
        return
    verb = "enable" if wanted else "disable"
    node.note(
        "%s %s" % (verb, unit),
        before="%s %s" % (unit, "disabled" if wanted else "enabled"),
        after="%s %sd" % (unit, verb),
    )
    if not node.dry:
        systemctl(node, verb, unit, limit)


def set_state(node, unit, active, wanted, limit, settle):
    if wanted is None or (wanted != "restarted" and (active == "active") is (wanted == "started")):
        return
    verb = {"restarted": "restart", "started": "start", "stopped": "stop"}[wanted]
    node.note("%s %s" % (verb, unit), before="%s %s" % (unit, active), after="%s %s" % (unit, wanted))
    if node.dry:
        return
    systemctl(node, verb, unit, limit)
    if wanted != "stopped" and not node.until(lambda: look(node, [unit])[0][0] == "active", settle):
        node.fail(
            "%s was told to %s but is %s after %d s. See 'journalctl -u %s -b' on the node."
            % (unit, verb, look(node, [unit])[0][0] or "unknown", settle, unit)
        )


def main():
    service = {
        "name": {"type": "str", "required": True},
        "state": {"type": "str", "choices": ["started", "stopped", "restarted"]},
        "enabled": {"type": "bool"},
    }
    module = AnsibleModule(
        argument_spec=dict(
            NODE_ARGS,
            services={"type": "list", "elements": "dict", "required": True, "options": service},
            daemon_reload={"type": "bool", "default": False},
            time_limit={"type": "int", "default": 90},
            settle={"type": "int", "default": 10},
        ),
        supports_check_mode=True,
    )
    node = Node(module)
    wanted = module.params
    for service in wanted["services"]:
        if not UNIT.match(service["name"]):
            node.fail("%r is no unit name" % service["name"])
    if wanted["daemon_reload"] and not node.dry:
        node.need(["systemctl", "daemon-reload"], limit=60)
    units = [service["name"] for service in wanted["services"]]
    states = look(node, units) if units else []
    for at, service in enumerate(wanted["services"]):
        active, enabled = states[at]
        set_enabled(node, service["name"], enabled, service["enabled"], wanted["time_limit"])
        set_state(node, service["name"], active, service["state"], wanted["time_limit"], wanted["settle"])
    node.done()


if __name__ == "__main__":
    main()
