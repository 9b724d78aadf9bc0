#!/usr/bin/python
"""What does Slurm think of this node, and is that what we want: joined, drained, or gone?

joined: the node takes jobs. A drained or down node is resumed; one the controller doesn't know is announced to it, which Slurm
allows for dynamic nodes. drained: no new job starts, and the module waits until the last one ended. left: the node is taken out,
or stays drained where the site's slurm.conf names it; refused while a job runs, unless `force`. A node without Slurm has nothing
to drain and runs no Slurm job.
"""

from __future__ import annotations

import re
import time

from ansible.module_utils.basic import AnsibleModule

from ansible.module_utils.node_tools import MISSING, NODE_ARGS, Node

HOST = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*\Z")
CLOSED = {"DRAIN", "DOWN", "FAIL", "FUTURE", "NOT_RESPONDING"}
BUSY = {"ALLOCATED", "MIXED", "COMPLETING"}


def plain_reason(text):
    """One printable line: Slurm shows it in tables, so no control characters and at most 200 of the rest."""
    return "".join(char if char.isprintable() else " " for char in text).strip()[:200]


def look(node, name, limit):
    """(state flags, allocated CPUs), or None when this node or its controller doesn't know Slurm."""
    ran = node.run(["scontrol", "show", "node", name], limit=limit, missing_ok=True)
    if ran.rc == MISSING or "not found" in (ran.out + ran.err):
        return None
    if ran.rc != 0:
        node.fail(
            "scontrol show node %s failed (rc %d): %s. Is slurmctld reachable from the node?"
            % (name, ran.rc, ran.words())
        )
    state = re.search(r"\bState=(\S+)", ran.out)
    cpus = re.search(r"\bCPUAlloc=(\d+)", ran.out)
    if state is None:
        node.fail("scontrol show node %s shows no state: %s" % (name, ran.out[:300]))
    # A trailing mark tells more of the same state: * not answering, ~ # % $ @ - power and reboot.
    flags = {part.rstrip("~#!%$@^-") for part in state.group(1).upper().split("+")}
    if any(flag.endswith("*") for flag in flags):
        flags = {flag.rstrip("*") for flag in flags} | {"NOT_RESPONDING"}
    spelled = {"DRAINED": "DRAIN", "DRAINING": "DRAIN", "DRNG": "DRAIN"}
    return {spelled.get(flag, flag) for flag in flags}, int(cpus.group(1)) if cpus else 0


def jobs(node, name, limit):
    """Lines of squeue about jobs that still hold the node."""
    ran = node.run(["squeue", "-h", "-w", name], limit=limit, missing_ok=True)
    return [line.split()[0] for line in ran.out.splitlines() if line.split()] if ran.rc == 0 else []


def is_busy(node, name, seen, limit):
    return seen is not None and (bool(seen[0] & BUSY) or seen[1] > 0 or bool(jobs(node, name, limit)))


def update(node, name, *pairs):
    node.need(
        ["scontrol", "update", "NodeName=%s" % name] + list(pairs), limit=node.module.params["command_limit"]
    )


def announce(node, name, params):
    """Tell the controller of a node it doesn't know."""
    node.note("announce %s" % name, after="%s FUTURE" % name)
    if node.dry:
        return
    argv = [
        "scontrol",
        "create",
        "NodeName=%s" % name,
        "NodeAddr=%s" % (params["address"] or name),
        "State=FUTURE",
    ]
    ran = node.run(
        argv + (["Gres=gpu:%d" % params["gpus"]] if params["gpus"] else []),
        limit=params["command_limit"],
        missing_ok=True,
    )
    if ran.rc != 0:
        node.fail(
            "Slurm doesn't know node %s and takes no new one (%s): let slurm.conf of the controller include the cluster's file, "
            "run 'scontrol reconfigure', then run the job again" % (name, ran.words())
        )


def joined(node, name, params):
    limit = params["command_limit"]
    seen = look(node, name, limit)
    if seen is None:
        announce(node, name, params)
        seen = None if node.dry else look(node, name, limit)
    if seen is None or not seen[0] & CLOSED:
        return
    node.note("resume %s" % name, before="%s %s" % (name, "+".join(sorted(seen[0]))), after="%s IDLE" % name)
    if node.dry:
        return
    update(node, name, "State=RESUME")
    if not node.until(
        lambda: not (look(node, name, limit) or (CLOSED, 0))[0] & CLOSED, params["wait"], params["every"]
    ):
        flags = "+".join(sorted((look(node, name, limit) or (["unknown"], 0))[0]))
        node.fail(
            "node %s is still %s after %d s: see 'scontrol show node %s' and slurmd's log"
            % (name, flags, params["wait"], name)
        )


def close(node, name, seen, reason):
    if "DRAIN" in seen[0]:
        return
    node.note("drain %s" % name, before="%s %s" % (name, "+".join(sorted(seen[0]))), after="%s DRAIN" % name)
    if not node.dry:
        update(node, name, "State=DRAIN", "Reason=%s" % (plain_reason(reason) or "Quartermaster"))


def drained(node, name, params):
    limit = params["command_limit"]
    seen = look(node, name, limit)
    if seen is None:
        return
    close(node, name, seen, params["reason"])
    if node.dry:
        return
    if not node.until(
        lambda: not is_busy(node, name, look(node, name, limit), limit), params["wait"], params["every"]
    ):
        held = ", ".join(jobs(node, name, limit)[:5])
        node.fail(
            "node %s takes no new job, but still runs one after %d s%s: run drain_node again later, or end the jobs "
            "('squeue -w %s')" % (name, params["wait"], " (%s)" % held if held else "", name)
        )


def left(node, name, params):
    limit = params["command_limit"]
    seen = look(node, name, limit)
    if seen is None:
        return
    if is_busy(node, name, seen, limit) and not params["force"]:
        node.fail(
            "node %s runs a job (%s, %d CPUs): drain it first, or run again with wipe_force"
            % (name, "+".join(sorted(seen[0])), seen[1])
        )
    close(node, name, seen, params["reason"])
    if not node.dry and node.run(["scontrol", "delete", "NodeName=%s" % name], limit=limit).rc == 0:
        node.note("take %s out of Slurm" % name, before="%s %s" % (name, "+".join(sorted(seen[0]))))


def main():
    module = AnsibleModule(
        argument_spec=dict(
            NODE_ARGS,
            name={"type": "str", "required": True},
            state={"type": "str", "choices": ["joined", "drained", "left"], "required": True},
            address={"type": "str", "default": ""},
            gpus={"type": "int", "default": 0},
            reason={"type": "str", "default": ""},
            force={"type": "bool", "default": False},
            wait={"type": "int", "default": 60},
            every={"type": "float", "default": 2.0},
            command_limit={"type": "int", "default": 30},
        ),
        supports_check_mode=True,
    )
    node, params = Node(module), module.params
    if not HOST.match(params["name"]) or len(params["name"]) > 253:
        node.fail("%r is no host name (RFC 1123, lower case)" % params["name"])
    started = time.monotonic()
    {"joined": joined, "drained": drained, "left": left}[params["state"]](node, params["name"], params)
    seen = look(node, params["name"], params["command_limit"])
    node.done(
        slurm=None if seen is None else "+".join(sorted(seen[0])), waited=round(time.monotonic() - started, 1)
    )


if __name__ == "__main__":
    main()
