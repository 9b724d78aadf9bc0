"""What happens to a node that is told to reboot?

Its next boot has another boot id, the newest installed kernel and driver, an empty kernel log and no mounts but those of its
fstab; until it is back (`boot.down_until`) no connection is possible.
"""

from __future__ import annotations

import time

from provisioning.simulator import noise
from provisioning.simulator.call import Call
from provisioning.simulator.tools import kernel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

BOOT_SECONDS = 2.0
NEVER = 1.0e12


def reboot(call: Call) -> int:
    """reboot"""
    _restart(call, BOOT_SECONDS)
    return 0


def shutdown(call: Call) -> int:
    """shutdown -r|-h|-c; poweroff and halt. A node that was switched off stays away until its faults are cleared."""
    if "-c" in call.argv:
        return 0
    away = BOOT_SECONDS if {"-r", "--reboot"} & set(call.argv) else NEVER
    _restart(call, away)
    return 0


def _restart(call: Call, seconds: float) -> None:
    now = time.time()
    mounts, always = _fstab(call), call.state["base_mounts"]

    def change(state: dict[str, Any]) -> None:
        state["faults"] = {
            name: fault for name, fault in state["faults"].items() if not fault["params"].get("until_reboot")
        }
        count = int(state["boot"]["count"]) + 1
        down = NEVER if "reboot-loop" in state["faults"] else now + seconds
        state["boot"] = {
            "id": noise.uuid(state["seed"], state["name"], "boot", count),
            "at": now,
            "count": count,
            "down_until": down,
        }
        state["kernel"]["running"] = state["kernel"]["installed"]
        state["driver"]["loaded"] = state["driver"]["installed"]
        state["mounts"] = [mount for mount in state["mounts"] if mount["target"] in always] + [
            mount
            for mount in mounts
            if "mount-missing" not in state["faults"] and mount["target"] not in always
        ]
        if "nvidia" not in state["modules"] and state["driver"]["installed"]:
            state["modules"].append("nvidia")
        for service in state["services"].values():
            up = service["enabled"]
            service.update(active="active" if up else "inactive", sub="running" if up else "dead", status=0)

    call.update(change)
    call.write("/proc/sys/kernel/random/boot_id", call.state["boot"]["id"] + "\n")
    call.write("/proc/sys/kernel/osrelease", call.state["kernel"]["running"] + "\n")
    kernel.write_driver_file(call)


def _fstab(call: Call) -> list[dict[str, str]]:
    from provisioning.simulator.tools import mounts

    return [
        entry
        for entry in mounts.fstab(call)
        if "noauto" not in entry["options"].split(",") and call.is_dir(entry["target"])
    ]
