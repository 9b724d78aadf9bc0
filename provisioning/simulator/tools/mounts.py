"""What is mounted where, and what do mount and umount change?"""

from __future__ import annotations

import json

from provisioning.simulator import node
from provisioning.simulator.call import Call, options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Mount = dict[str, str]

FIELDS = ("target", "source", "fstype", "options")


def fstab(call: Call) -> list[Mount]:
    """The node's /etc/fstab."""
    entries = []
    for line in call.read("/etc/fstab").splitlines():
        words = line.split("#", 1)[0].split()
        if len(words) >= 4:
            entries.append(
                {
                    "source": words[0],
                    "target": words[1].replace("\\040", " "),
                    "fstype": words[2],
                    "options": words[3],
                }
            )
    return entries


def _target(call: Call, path: str) -> str:
    return node.seen_from_inside(call.node_dir, path)


def findmnt(call: Call) -> int:
    """findmnt [-J] [-n] [-l] [-o COLUMNS] [-t TYPES] [-S SOURCE] [TARGET|-M TARGET|-T PATH]; exit 1 when nothing fits."""
    given, rest = options(
        call.argv,
        ("-o", "--output", "-t", "--types", "-S", "--source", "-M", "--mountpoint", "-T", "--target"),
    )
    columns = (given.get("-o") or given.get("--output") or "TARGET,SOURCE,FSTYPE,OPTIONS").lower().split(",")
    found = list(call.state["mounts"])
    exact = given.get("-M") or given.get("--mountpoint") or (rest[0] if rest else None)
    holder = given.get("-T") or given.get("--target")
    if exact is not None:
        found = [mount for mount in found if _target(call, exact) in (mount["target"], mount["source"])]
    if holder is not None:
        place = _target(call, holder)
        over = [
            mount
            for mount in found
            if place == mount["target"] or place.startswith(mount["target"].rstrip("/") + "/")
        ]
        found = sorted(over, key=lambda mount: len(mount["target"]))[-1:]
    types = given.get("-t") or given.get("--types")
    source = given.get("-S") or given.get("--source")
    found = [
        mount
        for mount in found
        if (types is None or mount["fstype"] in types.split(","))
        and (source is None or mount["source"] == source)
    ]
    if not found:
        return 1
    single = exact is not None or holder is not None or types is not None or source is not None
    if "-J" in given or "--json" in given:
        tree = (
            [_cells(mount, columns) for mount in found] if single or "-l" in given else _tree(found, columns)
        )
        call.out(json.dumps({"filesystems": tree}, indent=3, ensure_ascii=False) + "\n")
    else:
        _print_table(call, found, columns, header=not {"-n", "--noheadings"} & set(given))
    return 0


def _print_table(call: Call, found: list[Mount], columns: list[str], *, header: bool) -> None:
    rows = [[mount.get(column, "") for column in columns] for mount in found]
    if header:
        rows.insert(0, [column.upper() for column in columns])
    widths = [max(len(row[at]) for row in rows) for at in range(len(columns))]
    for row in rows:
        call.out(" ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() + "\n")


def _cells(mount: Mount, columns: list[str]) -> dict[str, Any]:
    return {column: mount.get(column) for column in columns}


def _tree(found: list[Mount], columns: list[str]) -> list[dict[str, Any]]:
    """Mounts below the mount that holds them, as findmnt nests them."""
    made = {mount["target"]: _cells(mount, columns) for mount in found}
    top = []
    for target, cells in made.items():
        parents = [other for other in made if other != target and target.startswith(other.rstrip("/") + "/")]
        if parents:
            made[max(parents, key=len)].setdefault("children", []).append(cells)
        else:
            top.append(cells)
    return top


def mountpoint(call: Call) -> int:
    """mountpoint [-q] PATH"""
    path = next((word for word in reversed(call.argv) if not word.startswith("-")), "")
    yes = any(mount["target"] == _target(call, path) for mount in call.state["mounts"])
    if "-q" not in call.argv:
        call.out(f"{path} is {'' if yes else 'not '}a mountpoint\n")
    return 0 if yes else 32


def mount(call: Call) -> int:
    """mount | mount TARGET | mount -a | mount [-t TYPE] [-o OPTIONS] SOURCE TARGET"""
    given, rest = options(call.argv, ("-t", "-o", "--types", "--options"))
    if {"-a", "--all"} & set(given):
        codes = [
            _mount(call, entry)
            for entry in fstab(call)
            if "noauto" not in entry["options"]
            and entry["target"].startswith("/")
            and not _mounted(call, entry["target"])
        ]
        return max(codes, default=0)
    if not rest:
        call.out(
            "".join(
                f"{m['source']} on {m['target']} type {m['fstype']} ({m['options']})\n"
                for m in call.state["mounts"]
            )
        )
        return 0
    if len(rest) == 2:
        entry = {
            "source": rest[0],
            "target": _target(call, rest[1]),
            "fstype": given.get("-t") or given.get("--types") or "auto",
            "options": given.get("-o") or given.get("--options") or "rw",
        }
        return _mount(call, entry)
    target = _target(call, rest[0])
    if "remount" in given.get("-o", "").split(","):
        return (
            0
            if _mounted(call, target)
            else call.fail(32, f"mount: {target}: mount point not mounted or bad option.")
        )
    listed = next((entry for entry in fstab(call) if entry["target"] == target), None)
    if listed is None:
        return call.fail(1, f"mount: {target}: can't find in /etc/fstab.")
    return _mount(call, listed)


def _mounted(call: Call, target: str) -> bool:
    return any(mount["target"] == target for mount in call.state["mounts"])


def _mount(call: Call, entry: Mount) -> int:
    target, missing = entry["target"], call.fault("mount-missing")
    if missing is not None and missing["path"] in ("", target):
        return call.fail(
            32, f"mount.{entry['fstype']}: Connection timed out for {entry['source']} on {target}"
        )
    if not call.is_dir(target):
        return call.fail(32, f"mount: {target}: mount point does not exist.")
    if _mounted(call, target):
        return call.fail(32, f"mount: {target}: {entry['source']} already mounted on {target}.")
    shown = {**entry, "options": _shown(entry["options"])}
    call.update(lambda state: state["mounts"].append({field: shown[field] for field in FIELDS}))
    return 0


def _shown(given: str) -> str:
    """Options as the kernel shows them: rw first, without the words that only fstab knows."""
    words = [
        word
        for word in given.split(",")
        if word not in ("defaults", "auto", "noauto", "nofail", "_netdev", "user", "rw", "")
        and not word.startswith("x-")
    ]
    return ",".join(
        words
        if "ro" in words
        else ["rw", *words, *([] if "relatime" in words or "noatime" in words else ["relatime"])]
    )


def umount(call: Call) -> int:
    """umount [-l] [-f] TARGET…"""
    _, rest = options(call.argv, ("-t", "-O"))
    code = 0
    for word in rest:
        target = _target(call, word)
        place = next(
            (m["target"] for m in call.state["mounts"] if target == m["target"] or word == m["source"]), None
        )
        if place is None:
            call.err(
                f"umount: {target}: {'not mounted' if call.is_dir(target) else 'no mount point specified'}.\n"
            )
            code = 32
        elif place == "/" or any(m["target"].startswith(place + "/") for m in call.state["mounts"]):
            call.err(f"umount: {target}: target is busy.\n")
            code = 32
        else:
            _forget(call, place)
    return code


def _forget(call: Call, target: str) -> None:
    def change(state: dict[str, Any]) -> None:
        state["mounts"] = [mount for mount in state["mounts"] if mount["target"] != target]

    call.update(change)


def df(call: Call) -> int:
    """df [PATH]: sizes are the same on every simulated node."""
    call.out("Filesystem      1K-blocks      Used  Available Use% Mounted on\n")
    for entry in call.state["mounts"]:
        if entry["fstype"] not in ("proc", "sysfs"):
            call.out(f"{entry['source']:<15} 1875322368 231467904 1548534784  14% {entry['target']}\n")
    return 0
