"""How is a simulated node broken and mended, by the name of the fault?"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from provisioning.simulator import blueprint, launchers, node, skeleton
from provisioning.simulator.fault_table import ALL_FIGURES, TABLE, Fault

__all__ = ["ALL_FIGURES", "TABLE", "Fault", "UnknownFault", "active", "clear", "inject", "refresh"]

SYSTEM_MOUNTS = {mount["target"] for mount in blueprint.BASE_MOUNTS}


class UnknownFault(ValueError):
    """No such fault or parameter; the message lists what there is."""


def inject(node_dir: Path, fault: str, **params: Any) -> dict[str, Any]:
    """Break the node; the same fault again replaces its parameters. Returns what is in force."""
    if fault not in TABLE:
        raise UnknownFault(f"no fault {fault!r}: there are {', '.join(sorted(TABLE))}")
    entry = node.update(node_dir, lambda state: _put(state, fault, params))
    refresh(node_dir)
    return entry


def clear(node_dir: Path, fault: str | None = None) -> list[str]:
    """Mend one fault, or all; returns the names that were in force."""

    def drop(state: dict[str, Any]) -> list[str]:
        names = [name for name in state["faults"] if fault in (None, name)]
        for name in names:
            del state["faults"][name]
        state["boot"]["down_until"] = 0.0
        return names

    if fault is not None and fault not in TABLE:
        raise UnknownFault(f"no fault {fault!r}: there are {', '.join(sorted(TABLE))}")
    gone = node.update(node_dir, drop)
    refresh(node_dir)
    return gone


def active(node_dir: Path) -> dict[str, dict[str, Any]]:
    """What is wrong with the node now: name -> parameters."""
    return {name: dict(entry["params"]) for name, entry in node.read_state(node_dir)["faults"].items()}


def refresh(node_dir: Path) -> None:
    """Make the node's files agree with its faults: what tools are there, what sysfs says."""
    state = node.read_state(node_dir)
    missing = state["faults"].get("tool-missing", {}).get("params", {}).get("tool")
    launchers.install(node_dir, without=missing)
    skeleton.write_sysfs(node_dir, state)


def _put(state: dict[str, Any], fault: str, given: dict[str, Any]) -> dict[str, Any]:
    kind = TABLE[fault]
    params = {**kind.params, "until_reboot": False, **_checked(state, fault, given)}
    factor = params.get("factor")
    slows = (
        {}
        if factor is None
        else {metric: round(1.0 - (1.0 - factor) * weight, 6) for metric, weight in kind.weights.items()}
    )
    entry = {"params": params, "slows": slows, "at": time.time(), "log": _log_lines(state, kind, params)}
    state["faults"][fault] = entry
    if fault == "mount-missing":
        _unmount(state, params["path"])
    return entry


def _checked(state: dict[str, Any], fault: str, given: dict[str, Any]) -> dict[str, Any]:
    """Parameters as the table types them; a wrong name or value is refused before anything is broken."""
    known = {**TABLE[fault].params, "until_reboot": False}
    params: dict[str, Any] = {}
    for name, value in given.items():
        if name not in known:
            raise UnknownFault(f"{fault} has no parameter {name!r}: it has {', '.join(sorted(known))}")
        try:
            params[name] = _as_type(value, known[name], name)
        except (TypeError, ValueError) as error:
            raise UnknownFault(f"{fault}: {name}={value!r} is no valid value") from error
    _check_range(state, fault, params)
    return params


def _check_range(state: dict[str, Any], fault: str, params: dict[str, Any]) -> None:
    for name, parts in (("gpu", state["gpus"]), ("nic", state["nics"])):
        number = params.get(name)
        if number is not None and not 0 <= number < len(parts):
            raise UnknownFault(f"{fault}: {name}={number} but the node has {name} 0 to {len(parts) - 1}")
    factor = params.get("factor")
    if factor is not None and not 0.0 < factor <= 1.5:
        raise UnknownFault(f"{fault}: factor={factor} must be above 0 and at most 1.5")


def _as_type(value: Any, like: Any, name: str) -> Any:
    """Text from a command line becomes what the table's default is; `all` and an empty text mean every GPU."""
    if name == "gpu":
        return None if value in (None, "", "all") else int(value)
    if isinstance(like, bool):
        return value if isinstance(value, bool) else str(value).lower() in ("1", "yes", "true", "on")
    return type(like)(value)


def _log_lines(state: dict[str, Any], kind: Fault, params: dict[str, Any]) -> list[str]:
    gpu = state["gpus"][params.get("gpu") or 0]
    nic = state["nics"][params.get("nic") or 0] if state["nics"] else {"bus": "00", "name": "mlx5_0"}
    words = {
        "pci": f"0000:{gpu['bus']}:00",
        "uuid": gpu["uuid"],
        "serial": gpu["serial"],
        "pci_id": state["hw"]["pci_id"],
        "nic_pci": f"{nic['bus']}:00.0",
        "nic_name": nic["name"],
        "library": params.get("library", ""),
        "driver": state["driver"]["loaded"],
    }
    return [part for line in kind.log for part in line.format(**words).split("\n")]


def _unmount(state: dict[str, Any], path: str) -> None:
    state["mounts"] = [
        mount
        for mount in state["mounts"]
        if (mount["target"] != path if path else mount["target"] in SYSTEM_MOUNTS)
    ]
