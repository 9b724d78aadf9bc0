"""What does Slurm say of the fleet's nodes, and what do scontrol's verbs change?

Each node's Slurm record lies in its own state. A node asks about itself or about a neighbour of the same simulated fleet.
"""

from __future__ import annotations

import time

from provisioning.simulator import node
from provisioning.simulator.call import Call, options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Record = dict[str, Any]

INVALID = "slurm_update error: Invalid node name specified\n"
SHORT = {
    "DRAINED": "drain",
    "DRAINING": "drng",
    "IDLE": "idle",
    "ALLOCATED": "alloc",
    "DOWN": "down",
    "MIXED": "mix",
    "FUTURE": "futr",
}


def scontrol(call: Call) -> int:
    """scontrol show node|partition|config | update | create | delete | ping | reconfigure | reboot"""
    words = [word for word in call.argv if not word.startswith("-")]
    verb = words[0].lower() if words else ""
    pairs = {key.lower(): value for key, _, value in (word.partition("=") for word in words[1:]) if value}
    if verb == "ping":
        call.out("Slurmctld(primary) at head-001 is UP\n")
        return 0
    if verb in ("reconfigure", "reconfig"):
        return 0
    if verb == "show":
        return _show(call, words[1:])
    if verb in ("update", "create", "delete"):
        names = _expand(pairs.get("nodename") or pairs.get("node") or "")
        codes = [CHANGES[verb](call, name, pairs) for name in names]
        return max(codes, default=0 if "partitionname" in pairs else call.fail(1, INVALID))
    return call.fail(1, f"invalid keyword: {verb}")


def _expand(names: str) -> list[str]:
    """`gpu-[001-003,007]` and `a,b` as lists of names."""
    if "[" not in names:
        return [name for name in names.split(",") if name]
    head, _, inside = names.partition("[")
    found = []
    for part in inside.rstrip("]").split(","):
        first, _, last = part.partition("-")
        found += [f"{head}{number:0{len(first)}d}" for number in range(int(first), int(last or first) + 1)]
    return found


def _folder(call: Call, name: str) -> str | None:
    return call.node_dir if name == call.state["name"] else call.neighbour(name)


def _record(call: Call, name: str) -> Record | None:
    folder = _folder(call, name)
    record: Record | None = None if folder is None else node.read_state(folder)["slurm"]
    return record


def _show(call: Call, words: list[str]) -> int:
    what = words[0].lower() if words else ""
    if what.startswith("node"):
        asked = what.partition("=")[2] or (words[1] if len(words) > 1 else "")
        names = _expand(asked) or [name for name, _ in _known(call)]
        for name in names:
            record = _record(call, name)
            if record is None:
                call.out(f"Node {name} not found\n")
                return 1
            call.out(_node_text(call, name, record))
        return 0
    if what.startswith("partition"):
        partitions = sorted({record["partition"] for _, record in _known(call)})
        call.out("".join(f"PartitionName={name}\n   State=UP\n\n" for name in partitions))
        return 0
    if what == "config":
        call.out("ClusterName             = simulated\nSlurmctldHost[0]        = head-001\n")
        return 0
    return call.fail(1, f"invalid entity: {what}")


def _known(call: Call) -> list[tuple[str, Record]]:
    records = [(name, node.read_state(folder)["slurm"]) for name, folder in node.neighbours(call.node_dir)]
    return [(name, record) for name, record in records if record is not None]


def state_word(record: Record) -> str:
    """IDLE+DRAIN as scontrol shows it."""
    return f"{record['state']}{'+DRAIN' if record['drain'] else ''}"


def _node_text(call: Call, name: str, record: Record) -> str:
    gpus = len(call.state["gpus"])
    when = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.get("changed") or 0))
    reason = f"   Reason={record['reason']} [root@{when}]\n" if record["reason"] else ""
    return (
        f"NodeName={name} Arch=x86_64 CoresPerSocket=48 \n   CPUAlloc=0 CPUEfctv=192 CPUTot=192 CPULoad=0.04\n"
        f"   AvailableFeatures={call.state['sku']['slug']}\n   ActiveFeatures={call.state['sku']['slug']}\n   Gres=gpu:{gpus}\n"
        f"   NodeAddr={record['address']} NodeHostName={name} Version=23.11.10\n   OS=Linux {call.state['kernel']['running']} #132-Ubuntu SMP\n"
        f"   RealMemory=2063000 AllocMem=0 FreeMem=2012345 Sockets=2 Boards=1\n   State={state_word(record)} ThreadsPerCore=2 TmpDisk=0 "
        f"Weight=1 Owner=N/A MCS_label=N/A\n   Partitions={record['partition']} \n   BootTime={when} SlurmdStartTime={when}\n"
        f"   CfgTRES=cpu=192,mem=2063000M,billing=192,gres/gpu={gpus}\n   AllocTRES=\n{reason}\n"
    )


def _update(call: Call, name: str, pairs: dict[str, str]) -> int:
    record, folder = _record(call, name), _folder(call, name)
    if record is None or folder is None:
        return call.fail(1, INVALID)
    wish = pairs.get("state", "").upper()
    if wish and wish not in STATES:
        return call.fail(1, f"Invalid input: State={wish}\nRequest aborted")
    if wish in ("DRAIN", "DOWN", "FAIL") and not pairs.get("reason"):
        return call.fail(1, "You must specify a reason when DOWNING or DRAINING a node. Request denied")
    record.update(STATES.get(wish, {}))
    record["reason"] = pairs.get("reason", "" if wish in ("RESUME", "IDLE", "UNDRAIN") else record["reason"])
    record["changed"] = time.time()
    record["partition"] = pairs.get("partitions", record["partition"])
    node.update(folder, lambda state: state.update(slurm=record))
    return 0


STATES: dict[str, Record] = {
    "DRAIN": {"drain": True},
    "DOWN": {"state": "DOWN"},
    "FAIL": {"state": "DOWN"},
    "RESUME": {"state": "IDLE", "drain": False},
    "IDLE": {"state": "IDLE", "drain": False},
    "UNDRAIN": {"drain": False},
    "FUTURE": {"state": "FUTURE", "drain": False},
    "POWER_DOWN": {},
    "POWER_UP": {},
}


def _create(call: Call, name: str, pairs: dict[str, str]) -> int:
    folder = _folder(call, name)
    if folder is None:
        return call.fail(1, f"scontrol: error: node {name}: unknown host")
    if _record(call, name) is not None:
        return call.fail(1, f"scontrol_create_node error: Node {name} already exists")
    future = pairs.get("state", "").upper() == "FUTURE"
    record = {
        "state": "FUTURE" if future else "IDLE",
        "drain": False,
        "reason": "",
        "partition": pairs.get("partitions", "gpu"),
        "address": pairs.get("nodeaddr", name),
        "changed": time.time(),
        "jobs": 0,
    }
    node.update(folder, lambda state: state.update(slurm=record))
    return 0


def _delete(call: Call, name: str, pairs: dict[str, str]) -> int:
    record, folder = _record(call, name), _folder(call, name)
    if record is None or folder is None:
        return call.fail(1, f"delete_node error: Node {name} not found")
    if record.get("jobs"):
        return call.fail(1, "delete_node error: Node is in use by a job or reservation")
    node.update(folder, lambda state: state.update(slurm=None))
    return 0


CHANGES = {"update": _update, "create": _create, "delete": _delete}


def sinfo(call: Call) -> int:
    """sinfo [-h] [-N] [-n NAMES] [-o FORMAT] with %n %N %T %t %P %E %D %G %a"""
    given, _ = options(call.argv, ("-n", "--nodes", "-o", "--format", "-p", "--partition", "-t", "--states"))
    layout = given.get("-o") or given.get("--format") or "%P %a %D %t %N"
    wanted = _expand(given.get("-n") or given.get("--nodes") or "")
    if not {"-h", "--noheader"} & set(given):
        heads = {
            "%P": "PARTITION",
            "%a": "AVAIL",
            "%D": "NODES",
            "%t": "STATE",
            "%T": "STATE",
            "%N": "NODELIST",
            "%n": "HOSTNAMES",
            "%E": "REASON",
            "%G": "GRES",
        }
        call.out(_filled(layout, heads))
    for name, record in _known(call):
        if not wanted or name in wanted:
            call.out(_filled(layout, _columns(call, name, record)))
    return 0


def _columns(call: Call, name: str, record: Record) -> dict[str, str]:
    long = record["state"] if not record["drain"] else ("DRAINING" if record.get("jobs") else "DRAINED")
    return {
        "%P": record["partition"],
        "%a": "up",
        "%D": "1",
        "%t": SHORT.get(long, long.lower()),
        "%T": long.lower(),
        "%N": name,
        "%n": name,
        "%E": record["reason"] or "none",
        "%G": f"gpu:{len(call.state['gpus'])}",
    }


def _filled(layout: str, values: dict[str, str]) -> str:
    for key, value in values.items():
        layout = layout.replace(key, value)
    return layout + "\n"


def squeue(call: Call) -> int:
    """squeue [-h] [-w NODE]: jobs on a node, as its record counts them."""
    given, _ = options(call.argv, ("-w", "--nodelist", "-o", "--format", "-t", "--states"))
    if not {"-h", "--noheader"} & set(given):
        call.out("             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)\n")
    for name in _expand(given.get("-w") or given.get("--nodelist") or call.state["name"]):
        record = _record(call, name) or {}
        for number in range(int(record.get("jobs") or 0)):
            call.out(
                f"{4200 + number:>18} {record['partition']:>9}    train research  R    1:02:03      1 {name}\n"
            )
    return 0
