"""What would an observer see of each GPU and each network port now, faults included?

Every stand-in tool prints from these views, so that one fault shows the same way in all tools that would show it.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

LINK_CODE = {50: "HDR100", 100: "EDR", 200: "HDR", 400: "NDR", 800: "XDR"}


def params(state: dict[str, Any], fault: str) -> dict[str, Any] | None:
    """The parameters of a fault in force, or None."""
    entry = state["faults"].get(fault)
    return None if entry is None else entry["params"]


def driver_version(state: dict[str, Any]) -> str:
    """The version of the loaded kernel module."""
    old = params(state, "driver-old")
    return str(old["version"]) if old is not None else str(state["driver"]["loaded"])


def library_version(state: dict[str, Any]) -> str:
    """The version of the installed user-space library; it must equal the kernel module's."""
    other = params(state, "driver-mismatch")
    if other is not None:
        return str(other["library"])
    return (
        driver_version(state)
        if params(state, "driver-old") is not None
        else str(state["driver"]["installed"])
    )


def nvml_error(state: dict[str, Any]) -> tuple[str, int] | None:
    """What nvidia-smi says and returns when it can't talk to the driver at all."""
    if "nvidia" not in state["modules"] or not driver_version(state):
        return (
            "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest "
            "NVIDIA driver is installed and running.\n",
            9,
        )
    library = library_version(state)
    if library != driver_version(state):
        branch = ".".join(library.split(".")[:2])
        return (
            f"Failed to initialize NVML: Driver/library version mismatch\nNVML library version: {branch}\n",
            18,
        )
    return None


def cuda_error(state: dict[str, Any]) -> tuple[int, str] | None:
    """The CUDA error every program would meet on this node, or None."""
    if "nvidia" not in state["modules"]:
        return 100, "no CUDA-capable device is detected"
    if library_version(state) != driver_version(state):
        return 803, "system has unsupported display driver / cuda driver combination"
    if params(state, "fabric-in-progress") is not None or _fabric_manager_down(state):
        return 802, "system not yet initialized"
    return None


def _fabric_manager_down(state: dict[str, Any]) -> bool:
    service = state["services"].get("nvidia-fabricmanager")
    return bool(state["sku"].get("nvswitch")) and (service is None or service["active"] != "active")


def all_gpus(state: dict[str, Any]) -> list[dict[str, Any]]:
    """Every board that was ever put in, with `presence` ok, lost (on the bus but dead) or absent."""
    boards = [_healthy(state, board) for board in state["gpus"]]
    for fault, effect in EFFECTS.items():
        given = params(state, fault)
        if given is None:
            continue
        for board in boards:
            if given.get("gpu") is None or given["gpu"] == board["slot"]:
                effect(board, given, state)
    return boards


def gpus(state: dict[str, Any]) -> list[dict[str, Any]]:
    """What the driver enumerated: absent boards are not there, and the rest moved up, as on a real machine."""
    found = [board for board in all_gpus(state) if board["presence"] != "absent"]
    for index, board in enumerate(found):
        board["index"] = index
    return found


def _healthy(state: dict[str, Any], board: dict[str, Any]) -> dict[str, Any]:
    hw, sku = state["hw"], state["sku"]
    temperature = hw["idle_temp"] + board["warmer"]
    limit = float(sku.get("power_limit_w") or hw["power_limit"])
    fabric = ("Completed", "Success") if hw["has_fabric"] else ("N/A", "N/A")
    if hw["has_fabric"] and _fabric_manager_down(state):
        fabric = ("In Progress", "N/A")
    return {
        **board,
        "index": board["slot"],
        "presence": "ok",
        "named": True,  # whether nvidia-smi says a word about a lost board
        "temp": temperature,
        "mem_temp": temperature + 9,
        "sm_clock": hw["idle_sm_clock"],
        "power": hw["idle_power"] + board["warmer"] * 0.7,
        "power_limit": limit,
        "default_power_limit": limit,
        "reasons": {"gpu_idle"},
        "width": sku["pcie"]["width"],
        "gen": sku["pcie"]["gen"],
        "dram_uncorrectable": 0,
        "remap": {"corr": 0, "unc": 0, "pending": False, "failure": False},
        "recovery": "None",
        "links": [True] * sku["nvlink"]["links"],
        "fabric": fabric,
    }


def _thermal(board: dict[str, Any], given: dict[str, Any], state: dict[str, Any]) -> None:
    hw = state["hw"]
    board["temp"], board["mem_temp"] = hw["slowdown_temp"] + 2, hw["slowdown_temp"] + 6
    board["sm_clock"] = round(hw["sm_clock"] * given["factor"])
    board["reasons"] = {"hw_slowdown", "hw_thermal_slowdown", "sw_thermal_slowdown"}
    board["power"] = board["power_limit"] * 0.61


def _power_cap(board: dict[str, Any], given: dict[str, Any], state: dict[str, Any]) -> None:
    board["power_limit"] = round(board["default_power_limit"] * (1 - (1 - given["factor"]) * 2.5))
    board["sm_clock"] = round(state["hw"]["sm_clock"] * given["factor"])
    board["power"] = board["power_limit"] * 0.995
    board["reasons"] = {"sw_power_cap"}


def _links(board: dict[str, Any], given: dict[str, Any], state: dict[str, Any]) -> None:
    total = len(board["links"])
    for offset in range(min(given["links"], total)):
        board["links"][(5 + offset) % total] = False


def _uncorrectable(board: dict[str, Any], given: dict[str, Any], state: dict[str, Any]) -> None:
    board["dram_uncorrectable"] = given["count"]
    board["remap"].update(unc=1, pending=True)
    board["recovery"] = "Reset"


def _pending(board: dict[str, Any], given: dict[str, Any], state: dict[str, Any]) -> None:
    board["remap"].update(corr=1, pending=True)
    board["recovery"] = "Drain and Reset"


def _failure(board: dict[str, Any], given: dict[str, Any], state: dict[str, Any]) -> None:
    board["remap"].update(unc=8, failure=True)


def _off_the_bus(board: dict[str, Any], given: dict[str, Any], state: dict[str, Any]) -> None:
    board.update(presence="lost", recovery="Reboot")


def _unnamed(board: dict[str, Any], given: dict[str, Any], state: dict[str, Any]) -> None:
    board.update(presence="lost", named=False)


def _absent(board: dict[str, Any], given: dict[str, Any], state: dict[str, Any]) -> None:
    board["presence"] = "absent"


def _narrow(board: dict[str, Any], given: dict[str, Any], state: dict[str, Any]) -> None:
    board["width"] = given["width"]


def _no_fabric(board: dict[str, Any], given: dict[str, Any], state: dict[str, Any]) -> None:
    if state["hw"]["has_fabric"]:
        board["fabric"] = ("In Progress", "N/A")


EFFECTS: dict[str, Callable[[dict[str, Any], dict[str, Any], dict[str, Any]], None]] = {
    "thermal": _thermal,
    "slow-gemm": _power_cap,
    "nvlink-down": _links,
    "ecc-uncorrectable": _uncorrectable,
    "remap-pending": _pending,
    "remap-failure": _failure,
    "xid-79": _off_the_bus,
    "gpu-lost": _unnamed,
    "gpu-missing": _absent,
    "pcie-downgrade": _narrow,
    "fabric-in-progress": _no_fabric,
}


def ports(state: dict[str, Any]) -> list[dict[str, Any]]:
    """Every InfiniBand port with its state, rate and link counters."""
    rate = int(state["sku"]["nics"]["rate_gbps"])
    found = []
    for number, nic in enumerate(state["nics"]):
        port = {
            **nic,
            "state": "Active",
            "state_text": "4: ACTIVE",
            "phys": "LinkUp",
            "phys_text": "5: LinkUp",
            "rate": rate,
            "link_downed": 0,
            "link_recovered": 0,
            "traffic": 230_000_000_000 + int(nic["guid"][-6:], 16) * 1000,
        }
        _port_faults(state, number, port)
        port["rate_text"] = f"{port['rate']} Gb/sec (4X {LINK_CODE.get(port['rate'], 'NDR')})"
        found.append(port)
    return found


def _port_faults(state: dict[str, Any], number: int, port: dict[str, Any]) -> None:
    flap, slow, init = (params(state, name) for name in ("ib-flap", "ib-rate", "ib-init"))
    if flap is not None and flap["nic"] == number:
        port.update(link_downed=flap["count"], link_recovered=flap["count"])
    if slow is not None and slow["nic"] == number:
        port["rate"] //= 2
    if init is not None and init["nic"] == number:
        port.update(state="Initializing", state_text="2: INIT")
