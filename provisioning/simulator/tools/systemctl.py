"""What does systemd say of the node's units, and what does a verb change?

A unit exists when the node's state knows it, or when a role has written a unit file below the node's /etc/systemd/system or
/lib/systemd/system. Starting the fabric manager works as little as on a real node when its version is not the driver's.
"""

from __future__ import annotations

from provisioning.simulator import observed
from provisioning.simulator.call import Call, options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Unit = dict[str, Any]

ALIASES = {"sshd": "ssh", "chronyd": "chrony"}
FOLDERS = ("/etc/systemd/system", "/lib/systemd/system", "/usr/lib/systemd/system")
VALUES = ("-p", "--property", "-t", "--type", "-n", "-o")
FAILED_JOB = (
    'Job for {name}.service failed because the control process exited with error code.\nSee "systemctl status {name}.service" '
    'and "journalctl -xeu {name}.service" for details.\n'
)


def run(call: Call) -> int:
    """systemctl VERB UNIT…"""
    given, words = options(call.argv, VALUES)
    verb, names = (words[0], [_name(word) for word in words[1:]]) if words else ("list-units", [])
    if verb in ("daemon-reload", "daemon-reexec", "reset-failed", "preset", "set-default"):
        return 0
    if verb in QUERIES:
        return QUERIES[verb](call, names, given)
    if verb in ("reboot", "poweroff", "halt"):
        from provisioning.simulator.tools import power

        return power.reboot(call) if verb == "reboot" else power.shutdown(call)
    if verb in CHANGES:
        codes = [_change(call, verb, name, now="--now" in given) for name in names]
        return max(codes, default=1)
    return call.fail(1, f"Unknown command verb {verb}.")


def _name(word: str) -> str:
    plain = word.removesuffix(".service")
    return ALIASES.get(plain, plain)


def _file_name(name: str) -> str:
    return name if "." in name.split("@")[-1] else f"{name}.service"


def find(call: Call, name: str) -> Unit | None:
    """The unit's state, or that of a unit file nobody has started yet; None when there is no such unit."""
    unit = call.state["services"].get(name)
    if unit is not None:
        return dict(unit)
    files = [_file_name(name)]
    if "@" in name:
        files.append(name.split("@")[0] + "@.service")
    if any(call.is_file(f"{folder}/{file}") for folder in FOLDERS for file in files):
        return {"active": "inactive", "sub": "dead", "enabled": False, "status": 0}
    return None


def _seen(call: Call, name: str) -> Unit | None:
    """As `find`, but with the faults that show in a unit's state."""
    unit = find(call, name)
    if unit is not None and name == "nvidia-fabricmanager" and call.fault("fabric-in-progress") is not None:
        unit.update(active="failed", sub="failed", status=1)
    return unit


def _is_active(call: Call, names: list[str], given: dict[str, str]) -> int:
    units = [_seen(call, name) for name in names]
    if not {"-q", "--quiet"} & set(given):
        call.out("".join(f"{'inactive' if unit is None else unit['active']}\n" for unit in units))
    return 0 if any(unit is not None and unit["active"] == "active" for unit in units) else 3


def _is_enabled(call: Call, names: list[str], given: dict[str, str]) -> int:
    code = 1
    for name in names:
        unit = find(call, name)
        if unit is None:
            call.err(f"Failed to get unit file state for {_file_name(name)}: No such file or directory\n")
            continue
        word = "masked" if unit.get("masked") else ("enabled" if unit["enabled"] else "disabled")
        code = 0 if unit["enabled"] else code
        if not {"-q", "--quiet"} & set(given):
            call.out(f"{word}\n")
    return code


def _is_failed(call: Call, names: list[str], given: dict[str, str]) -> int:
    units = [_seen(call, name) for name in names]
    call.out("".join(f"{'inactive' if unit is None else unit['active']}\n" for unit in units))
    return 0 if any(unit is not None and unit["active"] == "failed" for unit in units) else 1


def _show(call: Call, names: list[str], given: dict[str, str]) -> int:
    asked = [name for option in ("-p", "--property") for name in given.get(option, "").split(",") if name]
    for name in names or ["-"]:
        facts = _facts(name, _seen(call, name))
        call.out("".join(f"{key}={value}\n" for key, value in facts.items() if not asked or key in asked))
    return 0


def _facts(name: str, unit: Unit | None) -> dict[str, str]:
    """systemd prints the service's own properties before those every unit has."""
    known: Unit = (
        {"active": "inactive", "sub": "dead", "enabled": False, "status": 0} if unit is None else unit
    )
    running = known["active"] == "active"
    return {
        "Type": "simple",
        "MainPID": str(2000 + sum(name.encode()) % 9000) if running else "0",
        "ExecMainStatus": str(known["status"]),
        "Result": "success" if known["active"] != "failed" else "exit-code",
        "NRestarts": "0",
        "Id": _file_name(name),
        "LoadState": "not-found" if unit is None else ("masked" if unit.get("masked") else "loaded"),
        "ActiveState": known["active"],
        "SubState": known["sub"],
        "UnitFileState": "" if unit is None else ("enabled" if known["enabled"] else "disabled"),
    }


def _status(call: Call, names: list[str], given: dict[str, str]) -> int:
    for name in names:
        unit = _seen(call, name)
        if unit is None:
            return call.fail(4, f"Unit {_file_name(name)} could not be found.")
        call.out(
            f"● {_file_name(name)}\n     Loaded: loaded ({'enabled' if unit['enabled'] else 'disabled'})\n"
            f"     Active: {unit['active']} ({unit['sub']})\n"
        )
    return _is_active(call, names, {"-q": ""})


def _list(call: Call, names: list[str], given: dict[str, str]) -> int:
    call.out(
        "".join(
            f"  {_file_name(name):<40} loaded {unit['active']} {unit['sub']}\n"
            for name, unit in sorted(call.state["services"].items())
        )
    )
    return 0


QUERIES = {
    "is-active": _is_active,
    "is-enabled": _is_enabled,
    "is-failed": _is_failed,
    "show": _show,
    "status": _status,
    "list-units": _list,
    "list-unit-files": _list,
}
CHANGES = (
    "start",
    "stop",
    "restart",
    "reload",
    "reload-or-restart",
    "try-restart",
    "enable",
    "disable",
    "mask",
    "unmask",
)


def _change(call: Call, verb: str, name: str, *, now: bool) -> int:
    unit = find(call, name)
    if unit is None:
        return _unknown(call, verb, name)
    if verb in ("enable", "disable"):
        unit["enabled"] = verb == "enable"
        call.err("" if not now else f"{verb} {name}\n")
    if verb in ("mask", "unmask"):
        unit["masked"] = verb == "mask"
    code = 0
    if verb == "stop" or (verb in ("disable", "mask") and now):
        unit.update(active="inactive", sub="dead", status=0)
    elif verb in ("start", "restart", "reload-or-restart", "try-restart") or (verb == "enable" and now):
        code = _start(call, name, unit)
    call.update(lambda state: state["services"].update({name: unit}))
    return code


def _start(call: Call, name: str, unit: Unit) -> int:
    if unit.get("masked"):
        return call.fail(1, f"Failed to start {_file_name(name)}: Unit {_file_name(name)} is masked.")
    if name == "nvidia-fabricmanager" and not _fabric_manager_may_run(call):
        unit.update(active="failed", sub="failed", status=1)
        return call.fail(1, FAILED_JOB.format(name=name))
    unit.update(active="active", sub="running", status=0)
    return 0


def _fabric_manager_may_run(call: Call) -> bool:
    """It needs NVSwitches, a fabric that comes up, and exactly the version of the loaded driver."""
    packages = [
        package for package_name, package in call.state["packages"].items() if "fabricmanager" in package_name
    ]
    versions = {package["version"].split(":")[-1].split("-")[0] for package in packages}
    same = not versions or observed.driver_version(call.state) in versions
    return bool(call.state["sku"].get("nvswitch")) and call.fault("fabric-in-progress") is None and same


def _unknown(call: Call, verb: str, name: str) -> int:
    file = _file_name(name)
    if verb in ("enable", "disable", "mask"):
        return call.fail(1, f"Failed to {verb} unit: Unit file {file} does not exist.")
    return call.fail(
        5, f"Failed to {verb} {file}: Unit {file} not {'loaded' if verb == 'stop' else 'found'}."
    )
