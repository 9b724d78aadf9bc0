"""What do apt-get's verbs change, and what do they refuse?

An exact `NAME=VERSION` of a well-formed version is always to be had, because a mirror keeps what a fleet pins.
"""

from __future__ import annotations

import re

from provisioning.simulator.call import Call, options
from provisioning.simulator.tools import kernel
from provisioning.simulator.tools.apt_offers import (
    APT_VALUES,
    UNITS,
    VALID_NAME,
    VALID_VERSION,
    offered,
    upstream,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    State = dict[str, Any]


FAILURES = {
    "lock": "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 4211 (unattended-upgr)\n"
    "E: Unable to acquire the dpkg frontend lock (/var/lib/dpkg/lock-frontend), is another process using it?\n",
    "hash": "E: Failed to fetch http://archive.ubuntu.com/ubuntu/pool/main/p/pkg.deb  Hash Sum mismatch\n"
    "E: Unable to fetch some archives, maybe run apt-get update or try with --fix-missing?\n",
    "unmet": "E: Unable to correct problems, you have held broken packages.\n",
    "space": "E: You don't have enough free space in /var/cache/apt/archives/.\n",
}


def run(call: Call) -> int:
    """apt-get update | install NAME[=VERSION]… | remove | purge | autoremove | clean, with -y -q -s and the usual --allow options"""
    given, words = options(call.argv, APT_VALUES)
    what, names = (words[0], words[1:]) if words else ("", [])
    broken = call.fault("apt-fails")
    if what == "update":
        if broken is not None and broken["kind"] == "hash":
            return call.fail(100, FAILURES["hash"])
        call.out("Hit:1 http://archive.ubuntu.com/ubuntu jammy InRelease\nReading package lists...\n")
        return 0
    if what in ("install", "remove", "purge") and broken is not None:
        return call.fail(100, FAILURES.get(broken["kind"], FAILURES["lock"]))
    if what == "install":
        return _install(call, names, set(given))
    if what in ("remove", "purge"):
        return _remove(call, names, dry=bool({"-s", "--dry-run", "--simulate"} & set(given)))
    return (
        0
        if what in ("autoremove", "clean", "autoclean", "check", "upgrade")
        else call.fail(100, f"E: Invalid operation {what}")
    )


def _install(call: Call, words: list[str], given: set[str]) -> int:
    wanted: dict[str, str] = {}
    for word in words:
        name, equals, version = word.partition("=")
        have = call.state["packages"].get(name, {}).get("version")
        if not VALID_NAME.fullmatch(name):
            return call.fail(100, f"E: Unable to locate package {name}")
        if equals and not VALID_VERSION.fullmatch(version):
            return call.fail(100, f"E: Version '{version}' for '{name}' was not found")
        wanted[name] = version or have or offered(name)[0]
    changed = {
        name: version
        for name, version in wanted.items()
        if call.state["packages"].get(name, {}).get("version") != version
    }
    refusal = _refusal(call.state, changed, given)
    if refusal:
        return call.fail(100, refusal)
    fresh = [name for name in changed if name not in call.state["packages"]]
    call.out(
        f"Reading package lists...\nBuilding dependency tree...\nReading state information...\n0 upgraded, {len(fresh)} newly installed, "
        f"{len(changed) - len(fresh)} changed, 0 to remove and 0 not upgraded.\n"
    )
    if changed and not {"-s", "--dry-run", "--simulate"} & given:
        call.update(lambda state: _apply(state, changed))
        call.out("".join(f"Setting up {name} ({version}) ...\n" for name, version in changed.items()))
        kernel.write_driver_file(call)
    return 0


def _refusal(state: State, changed: dict[str, str], given: set[str]) -> str:
    packages = state["packages"]
    if (
        any(name in packages and packages[name]["hold"] for name in changed)
        and "--allow-change-held-packages" not in given
    ):
        return "E: Held packages were changed and -y was used without --allow-change-held-packages."
    lower = [
        name
        for name, version in changed.items()
        if name in packages and _key(version) < _key(packages[name]["version"])
    ]
    if lower and "--allow-downgrades" not in given:
        return "E: Packages were downgraded and -y was used without --allow-downgrades."
    return ""


def _key(version: str) -> list[int]:
    """Numbers decide here; the letters of Debian versions don't matter to a simulation."""
    epoch = version.split(":")[0] if ":" in version else "0"
    return [int(epoch), *(int(number) for number in re.findall(r"\d+", version.split(":")[-1]))]


def _apply(state: State, changed: dict[str, str]) -> None:
    for name, version in changed.items():
        hold = state["packages"].get(name, {}).get("hold", False)
        state["packages"][name] = {"version": version, "hold": hold}
        if name.startswith(("nvidia-driver", "cuda-drivers", "nvidia-open", "nvidia-headless")):
            _new_driver(state, upstream(version))
        if name.startswith("linux-image-") and name != "linux-image-generic":
            state["kernel"]["installed"] = name.removeprefix("linux-image-")
        units = ["nvidia-fabricmanager"] if "fabricmanager" in name else UNITS.get(name, [])
        for unit in units:
            active = "active" if "fabricmanager" not in name else "inactive"
            state["services"].setdefault(
                unit,
                {
                    "active": active,
                    "sub": "running" if active == "active" else "dead",
                    "enabled": active == "active",
                    "status": 0,
                },
            )


def _new_driver(state: State, version: str) -> None:
    """The new version is on disk at once; the loaded module stays the old one until it is reloaded or the node reboots."""
    state["driver"]["installed"] = version
    if not state["driver"]["loaded"]:
        state["driver"]["loaded"] = version
        state["modules"] += [
            name for name in ("nvidia", "nvidia_uvm", "nvidia_modeset") if name not in state["modules"]
        ]


def _remove(call: Call, names: list[str], *, dry: bool) -> int:
    packages = call.state["packages"]
    unknown = [name for name in names if name not in packages and not VALID_NAME.fullmatch(name)]
    if unknown:
        return call.fail(100, f"E: Unable to locate package {unknown[0]}")
    gone = [name for name in names if name in packages]
    if any(packages[name]["hold"] for name in gone):
        return call.fail(
            100, "E: Held packages were changed and -y was used without --allow-change-held-packages."
        )
    call.out(f"0 upgraded, 0 newly installed, {len(gone)} to remove and 0 not upgraded.\n")

    def drop(state: State) -> None:
        for name in gone:
            del state["packages"][name]
            for unit in ["nvidia-fabricmanager"] if "fabricmanager" in name else UNITS.get(name, []):
                state["services"].pop(unit, None)

    if gone and not dry:
        call.update(drop)
    return 0
